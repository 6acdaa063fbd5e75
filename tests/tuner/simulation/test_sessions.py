"""Searches on virtual clusters: what the user is told, and in which order simulations end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from record_builders import begun

from hpl.params import Scalar
from results.record import TrialState
from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.budget import Budget
from tuner.engines.base import EngineRemark
from tuner.engines.baselines.random_search import RandomSearch
from tuner.events import Event, Notice, TrialEnded
from tuner.options import TuneOptions
from tuner.simulation.cluster import SimulatedCluster, cluster_dict
from tuner.simulation.session import say_n, virtual_session
from tuner.stopping import StopRequest
from tuner.study.session import StudyContext
from tuner.user_dirs import UserDirs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("simgrid")]
ASKED_N = 'name = "asked"\n[parameters]\nlayout = "8x1"\nN = 4000\nNB = [64, 128]\n'


@pytest.fixture
def large(home: Path) -> SimulatedCluster:
    """A cluster whose whole memory takes long to simulate."""
    assert home
    return SimulatedCluster.open(load_cluster("infiniband64"), UserDirs.of_user(), None, None)


def said(
    site: SimulatedCluster, home: Path, space: str, overrides: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    events: list[Event] = []
    options = TuneOptions(
        space=space, engine="random", budget=Budget(trials=1), overrides=overrides, cluster=cluster_dict(site.cluster)
    )
    with Store.open(home / "own.db") as store:
        context = StudyContext(store, events.append, StopRequest(), home / "runs")
        with virtual_session("small", options, site, context) as study:
            events.clear()
            say_n(study, site, options)
    return [event.text if isinstance(event, Notice) else "" for event in events]


def test_an_n_that_we_chose_for_its_cost_is_explained(large: SimulatedCluster, home: Path) -> None:
    heard = said(large, home, "quick")
    assert len(heard) == 1
    assert "so that a simulation takes about half a minute" in heard[0]
    assert "`⟦full⟧` simulates there" in heard[0]


@pytest.mark.parametrize("size", [{"N": ["4000"]}, {"N": ["4000", "5000"]}, {"memory_fraction": ["0.05"]}])
def test_an_n_that_the_user_set_has_no_reason_of_ours(
    large: SimulatedCluster, home: Path, size: dict[str, list[str]]
) -> None:
    assert said(large, home, "quick", size) == []


@pytest.mark.parametrize("size", ["N = 4000", "memory_fraction = 0.05", "memory_fraction = [0.05, 0.1]"])
def test_an_n_that_the_space_asks_for_has_no_reason_of_ours(large: SimulatedCluster, home: Path, size: str) -> None:
    (home / "asked.toml").write_text(ASKED_N.replace("N = 4000", size))
    assert said(large, home, "asked.toml") == []


def test_a_simulation_that_was_killed_with_hpltune_uses_up_no_trial(large: SimulatedCluster, home: Path) -> None:
    options = TuneOptions(space="quick", engine="random", budget=Budget(trials=3), cluster=cluster_dict(large.cluster))
    with Store.open(home / "own.db") as store:
        context = StudyContext(store, lambda _: None, StopRequest(), home / "runs")
        with virtual_session("lost", options, large, context):
            pass
        store.begin(begun("lost"))
        with virtual_session("lost", options, large, context, resume=True) as study:
            assert study.session.meter.trials == 0
        [lost] = store.records("lost")
        assert lost.reason == "hpltune was killed while this simulation ran"


class Talkative(RandomSearch):
    """An engine that has something to say of each point that it chooses."""

    def ask(self) -> dict[str, Scalar] | None:
        """Say something, warn of the machine, and choose."""
        self._remarks += [EngineRemark("this one by chance"), EngineRemark("this machine is slow.", caution=True)]
        return super().ask()


def test_a_user_hears_what_the_engine_has_to_say_of_a_simulated_search(home: Path) -> None:
    events: list[Event] = []
    site = SimulatedCluster.open(load_cluster("kronos"), UserDirs.of_user(), None, None)
    few = {"N": ["600"], "NB": ["64", "128"]}
    options = TuneOptions(
        space="kronos", engine="random", budget=Budget(trials=2), overrides=few, cluster=cluster_dict(site.cluster)
    )
    with Store.open(home / "own.db") as store:
        context = StudyContext(store, events.append, StopRequest(), home / "runs")
        with virtual_session("talked", options, site, context) as study:
            replace(study, engine=Talkative(study.session.space, 0)).search()
    assert events.count(Notice("this one by chance")) == 2


@pytest.fixture
def kronos(home: Path) -> SimulatedCluster:
    assert home
    return SimulatedCluster.open(load_cluster("kronos"), UserDirs.of_user(), None, None)


def searched(home: Path, store: Store, site: SimulatedCluster, repeats: int = 1) -> tuple[str, list[int]]:
    """Why a search of four trials ended, and the numbers of its trials in the order in which they ended."""
    options = TuneOptions(
        space="quick",
        engine="random",
        seed=3,
        budget=Budget(trials=4),
        overrides={"N": ["600"]},
        cluster=cluster_dict(site.cluster),
        jobs=3,
    )
    ended = list[int]()

    def hear(event: Event) -> None:
        if isinstance(event, TrialEnded):
            ended.append(event.record.number)

    context = StudyContext(store, hear, StopRequest(), home / "runs")
    with virtual_session("study", options, site, context) as study:
        return study.search(repeats), ended


def test_simulations_end_in_the_order_in_which_they_began(home: Path, kronos: SimulatedCluster) -> None:
    with Store.open(home / "own.db") as store:
        reason, ended = searched(home, store, kronos, repeats=2)
        assert reason == "all 4 trials are done"
        assert ended == sorted(ended)
        keys = [record.key for record in store.records("study")]
        assert keys[0::2] == keys[1::2], "repeats follow each other"


def test_what_does_not_start_is_recorded_and_uses_up_the_budget(home: Path, kronos: SimulatedCluster) -> None:
    gone = replace(kronos, simgrid=replace(kronos.simgrid, smpimain=Path("/nowhere/smpimain")))
    with Store.open(home / "own.db") as store:
        reason, ended = searched(home, store, gone, repeats=2)
        assert reason == "all 4 trials are done"
        assert ended == [1, 2, 3, 4], "what failed is not repeated"
        records = store.records("study")
        assert {record.state for record in records} == {TrialState.FAILED}
        assert all(record.simulated and record.reason for record in records)
