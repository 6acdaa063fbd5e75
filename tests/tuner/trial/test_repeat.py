"""A launch is repeated once where not its configurations ended it."""

from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program
from replayed import replaying

from runners.batch.slurm.system import Slurm
from runners.hosts.cluster import Cluster
from tuner.clock import RealClock, ToldClock
from tuner.machine.inventory import Inventory, Nodes
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.trial.repeat import Launched, Repeater
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("mpirun")
CLUSTER = Cluster(name="lab", backend="slurm", batch=Slurm(nodes=2))
DISTURBED = Launched([], disturbed="node h2: eth0: net.tso is on")
LOST = Launched([], lost_nodes=("n2",))
DONE = Launched([])


@pytest.fixture
def site(home: Path) -> Inventory:
    """A site whose nodes Slurm chooses."""
    options = TuneOptions(xhpl=replaying(home))
    found = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False).site
    return replace(found, nodes=Nodes((), 2, 1, 2**30, CLUSTER))


class Launches:
    """Comes out as it is told, and counts how often it was started and whether for the last time."""

    def __init__(self, *outcomes: Launched) -> None:
        self.outcomes, self.last = list(outcomes), list[bool]()

    def __call__(self, last: bool) -> Launched:  # noqa: FBT001
        self.last.append(last)
        return self.outcomes.pop(0)


def repeated(site: Inventory, launches: Launches, stop: StopRequest | None = None) -> tuple[Launched, list[str]]:
    said = list[str]()
    return Repeater(site, said.append, stop or StopRequest(), RealClock()).launch(launches), said


def test_what_comes_to_its_end_is_launched_once(site: Inventory) -> None:
    launches = Launches(DONE)
    assert repeated(site, launches) == (DONE, [])
    assert launches.last == [False]


def test_a_disturbed_launch_is_repeated_once_and_then_counts_as_it_is(site: Inventory) -> None:
    launches = Launches(DISTURBED, DONE)
    done, said = repeated(site, launches)
    assert done == DONE
    assert said == ["node h2: eth0: net.tso is on: the run is repeated."]
    assert launches.last == [False, True]


def test_a_launch_that_died_with_a_node_is_repeated_once(site: Inventory) -> None:
    launches = Launches(LOST, LOST)
    done, said = repeated(site, launches)
    assert done.lost_nodes == ("n2",)
    assert said == ["Node n2 failed: the run is repeated on what Slurm gives."]
    assert launches.last == [False, False]


def test_a_lost_node_is_asked_again_with_a_pause(site: Inventory, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    refused = program(tmp_path / "ssh", f"#!/bin/sh\necho >>{asked}\necho 'Connection refused' >&2\nexit 255\n")
    cluster = Cluster(name="lab", backend="ssh", hosts=("n1",), ssh=(str(refused),), return_s=20.0)
    alone = replace(site, nodes=Nodes(("n1",), 1, 1, 2**30, cluster))
    done = Repeater(alone, list[str]().append, StopRequest(), ToldClock()).launch(
        Launches(replace(LOST, lost_nodes=("n1",)))
    )
    assert done.lost_nodes == ("n1",)
    assert len(asked.read_text().splitlines()) <= 12


@pytest.mark.parametrize("first", [LOST, DISTURBED])
def test_nothing_is_repeated_after_a_request_to_stop(site: Inventory, first: Launched) -> None:
    stop = StopRequest()
    stop.ask()
    assert repeated(site, Launches(first), stop) == (first, [])
