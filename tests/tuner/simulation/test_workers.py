"""The scheduler's view of a simulator: what cannot run ends at once, and everything else in the order of asking."""

from dataclasses import replace
from pathlib import Path

import pytest

from results.record import TrialState
from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.budget import Budget
from tuner.events import Event, TrialEnded
from tuner.options import TuneOptions
from tuner.simulation.cluster import SimulatedCluster, cluster_dict
from tuner.simulation.session import virtual_session
from tuner.stopping import StopRequest
from tuner.study.session import StudyContext
from tuner.user_dirs import UserDirs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("simgrid")]


@pytest.fixture
def kronos(home: Path) -> SimulatedCluster:
    assert home
    return SimulatedCluster.open(load_cluster("kronos"), UserDirs.of_user(), None, None)


def searched(home: Path, store: Store, site: SimulatedCluster, repeats: int = 1) -> tuple[str, list[int]]:
    """Why a search of four trials ended, and the numbers of its trials in the order in which they ended."""
    options = TuneOptions(
        space="quick",
        engine="random",
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
        return study.search(study.engine("random", 3), repeats), ended


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
