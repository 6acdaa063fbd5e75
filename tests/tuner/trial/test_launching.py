"""The one way of a trial: with a program of ours in place of HPL, and with launches that come out as a test wants."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import program
from replayed import replaying
from site_contract import Does, Foreign, told

from hpl.params import Scalar
from results.record import Invalidity, Kind, TrialRecord, TrialState
from runners.batch.slurm.system import Slurm
from runners.errors import Mishap, RefusedError
from runners.hosts.cluster import Cluster
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from tuner.events import Event, Notice, TrialStarted
from tuner.machine.inventory import Inventory, Nodes
from tuner.machine.problem_size import textbook
from tuner.options import TuneOptions
from tuner.stopping import Interrupted, StopRequest
from tuner.trial.evaluate import Evaluator
from tuner.trial.judge import Failure, Verdict
from tuner.trial.launch import LaunchLimits, LaunchOutcome
from tuner.trial.launching import NO_STUDY, Launching, MemoryBook, PlannedTrial
from tuner.trial.plan import plan
from tuner.trial.records import started
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("mpirun")
LIMITS = LaunchLimits(limit_s=60.0)
CLUSTER = Cluster(name="lab", backend="slurm", batch=Slurm(nodes=2))
DISTURBED = {"disturbed": "node h2: eth0: net.tso is on", "event": Mishap.DISTURBED}
LOST = {"lost_nodes": ("n2",), "event": Mishap.NODE_LOST}
DONE: dict[str, Any] = {}


@pytest.fixture
def workbench(home: Path) -> Workbench:
    """Of a program that fails."""
    options = TuneOptions(xhpl=program(home / "xhpl", "#!/bin/sh\nexit 3\n"))
    return Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)


def new(**changes: Scalar) -> TrialRecord:
    point = {**textbook(N=600, NB=32, blas="xhpl", kernel="auto", ranks=2, threads=1), **changes}
    return started(NO_STUDY, point, Kind.RUN, "")


def launched(evaluator: Evaluator, book: MemoryBook) -> TrialRecord:
    """The record of a run alone."""
    launching = Launching(sites=[evaluator], book=book, listener=lambda _: None, stop=StopRequest())
    done = launching.measure({0: PlannedTrial(new(), plan(new().params, evaluator.machine))}, LIMITS)
    return done.records[0]


def test_a_run_that_fails_is_a_record_with_its_reason_and_its_folder(workbench: Workbench, home: Path) -> None:
    book = MemoryBook(home / "runs")
    record = launched(workbench.evaluator, book)
    assert (record.number, record.state) == (1, TrialState.FAILED)
    assert "ended with code 3" in record.reason
    assert record.directory == str(book.folder(1))
    assert book.records == {1: record}


def test_a_launcher_that_does_not_start_is_a_reason(workbench: Workbench, home: Path) -> None:
    runner = LocalRunner(OpenMpi.installed(home / "no-mpirun", "4.1.4"))
    record = launched(replace(workbench.evaluator, runner=runner), MemoryBook(home / "runs"))
    assert (record.state, record.invalidity) == (TrialState.FAILED, Invalidity.RUNTIME)


def test_nodes_are_waited_for_within_the_budget_and_until_a_request_to_stop(workbench: Workbench, home: Path) -> None:
    waits, stop = list[float](), StopRequest()

    class Control:
        def apply(self, _wanted: object, _nodes: object, may_wait_s: Callable[[], float]) -> None:
            waits.append(may_wait_s())
            raise RefusedError("not now")

    at_work = replace(workbench.evaluator, settings=Control(), left_s=lambda: 7.0)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(RefusedError):
            at_work.run(plan(new().params, at_work.machine), home, 1.0, stop)
        stop.ask()
    assert waits == [7.0, 0.0]


class Taken(MemoryBook):
    """A book where somebody else runs everything."""

    def begin(self, record: TrialRecord) -> None:  # type: ignore[override]
        del record


def test_what_somebody_else_runs_is_left_to_them(workbench: Workbench, home: Path) -> None:
    book = Taken(home / "runs")
    record = launched(workbench.evaluator, book)
    assert (record.number, record.state) == (0, TrialState.CANCELLED)
    assert not book.records
    assert not (home / "runs").exists()


@pytest.fixture
def slurm(home: Path) -> Inventory:
    """A machine whose nodes Slurm chooses."""
    options = TuneOptions(xhpl=replaying(home))
    found = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False).site
    return replace(found, nodes=Nodes((), 2, 1, 2**30, CLUSTER))


def way_of(outcome: dict[str, Any]) -> Does:
    """A launch to which that happens; one to which nothing does ends well."""
    fault = Failure(Invalidity.CONSTRAINTS, outcome.get("disturbed", "a node stopped answering"))
    failed = {"verdict": Verdict((), (fault,), None, cancelled=False)} if outcome else {}
    return lambda plan: replace(told(plan), **{**failed, **outcome})


def launches(machine: Inventory, *ways: Any, left_s: Callable[[], float | None] = lambda: None) -> Foreign:
    return Foreign(Evaluator(machine, None, None, LocalRunner({}), left_s=left_s), list(ways))  # type: ignore[arg-type]


def repeated(
    machine: Inventory,
    *outcomes: dict[str, Any] | Does,
    stop: StopRequest | None = None,
    left_s: Callable[[], float | None] = lambda: None,
) -> tuple[LaunchOutcome, list[TrialRecord], list[str]]:
    """What came of a trial, all records of it, and what was said."""
    events, book = list[Event](), MemoryBook(Path("runs"))
    site = launches(machine, *(way_of(one) if isinstance(one, dict) else one for one in outcomes), left_s=left_s)
    launching = Launching(sites=[site], book=book, listener=events.append, stop=stop or StopRequest())
    done = launching.measure({0: PlannedTrial(new(), plan(new().params, machine))}, LIMITS)
    assert len(site.plans) == len(outcomes)
    assert sum(isinstance(event, TrialStarted) for event in events) == len(outcomes)
    said = [event.text for event in events if isinstance(event, Notice)]
    return done, list(book.records.values()), said


def test_what_comes_to_its_end_is_launched_once(slurm: Inventory) -> None:
    done, records, said = repeated(slurm, DONE)
    assert [done.records[0]] == records
    assert (done.event, done.lost_nodes, said) == (None, (), [])


def test_a_disturbed_launch_is_repeated_once_and_then_does_not_count(slurm: Inventory) -> None:
    done, records, said = repeated(slurm, DISTURBED, DISTURBED)
    assert [record.state for record in records] == [TrialState.CANCELLED, TrialState.FAILED]
    assert done.records[0] == records[1]
    assert (done.event, said) == (None, ["node h2: eth0: net.tso is on: the run is repeated."])


def test_what_took_its_whole_limit_beside_others_is_repeated_once_where_the_budget_has_room_for_that(
    slurm: Inventory,
) -> None:
    busy = {"event": Mishap.BUSY}
    assert len(repeated(slurm, busy, busy)[1]) == 2
    done, records, _ = repeated(slurm, busy, left_s=lambda: LIMITS.limit_s / 2)
    assert (done.event, [record.state for record in records]) == (None, [TrialState.FAILED])


def test_a_launch_whose_results_all_count_is_not_repeated_for_what_came_after_them(slurm: Inventory) -> None:
    done, records, said = repeated(slurm, lambda plan: replace(told(plan), event=Mishap.DAEMON_LOST))
    assert [record.state for record in records] == [TrialState.COMPLETE]
    assert (done.event, said) == (None, [])


def test_a_launch_that_died_with_a_node_is_repeated_once(slurm: Inventory) -> None:
    done, records, said = repeated(slurm, LOST, LOST)
    assert (len(records), done.lost_nodes) == (2, ("n2",))
    assert said == ["Node n2 failed: the run is repeated on what Slurm gives."]


def test_a_launch_that_died_with_a_node_may_be_disturbed_as_well(slurm: Inventory) -> None:
    done, records, said = repeated(slurm, DISTURBED, LOST, DONE)
    assert len(records) == 3
    assert done.records[0] == records[2]
    assert (done.lost_nodes, len(said)) == ((), 2)


def test_a_lost_node_is_asked_again_with_a_pause_until_the_budget_is_spent(slurm: Inventory, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    refused = program(tmp_path / "ssh", f"#!/bin/sh\necho >>{asked}\necho 'Connection refused' >&2\nexit 255\n")
    cluster = Cluster(name="lab", backend="ssh", hosts=("n1",), ssh=(str(refused),), return_s=600.0)
    alone = replace(slurm, nodes=Nodes(("n1",), 1, 1, 2**30, cluster))
    ends_s = time.monotonic() + 3.0
    lost: dict[str, Any] = {"lost_nodes": ("n1",), "event": Mishap.NODE_LOST}
    done, _, said = repeated(alone, lost, left_s=lambda: ends_s - time.monotonic())
    assert (done.lost_nodes, said) == (("n1",), ["Node n1 does not answer: waiting 3 s for it."])
    assert 2 <= len(asked.read_text().splitlines()) <= 3


@pytest.mark.parametrize("first", [LOST, DISTURBED])
def test_nothing_is_repeated_after_a_request_to_stop(slurm: Inventory, first: dict[str, Any]) -> None:
    stop = StopRequest()
    stop.ask()
    done, records, said = repeated(slurm, first, stop=stop)
    assert (len(records), said) == (1, [])
    assert (done.lost_nodes, done.event) == (first.get("lost_nodes", ()), first["event"])


def test_nothing_is_repeated_once_the_budget_is_spent(slurm: Inventory) -> None:
    taken: dict[str, Any] = {"event": Mishap.PREEMPTED}
    left_s = iter([9.0, 9.0, 0.0])
    done, records, said = repeated(slurm, taken, taken, left_s=lambda: next(left_s))
    assert (len(records), len(said), done.event) == (2, 1, Mishap.PREEMPTED)


@pytest.fixture
def two_at_a_time(slurm: Inventory) -> Callable[..., Launching[Any]]:
    book = MemoryBook(Path("runs"))
    return lambda way, **more: Launching(
        sites=[launches(slurm, way)] * 2, book=book, listener=lambda _: None, stop=StopRequest(), **more
    )


def test_what_nodes_refuse_is_learnt_though_the_study_ends_meanwhile(
    slurm: Inventory, two_at_a_time: Callable[..., Launching[Any]]
) -> None:
    refused, heard = {"net.mtu": 9000}, list[object]()
    launching = two_at_a_time(way_of({"unavailable": refused}), rule_out=heard.append)
    launching.start({0: PlannedTrial(new(), plan(new().params, slurm))}, lambda _: LIMITS)
    launching.close()
    assert heard == [refused]


def test_who_leaves_the_wait_for_a_run_that_hangs_need_not_wait_for_it(
    slurm: Inventory, two_at_a_time: Callable[..., Launching[Any]]
) -> None:
    ends, before = threading.Event(), threading.active_count()
    launching = two_at_a_time(lambda _: ends.wait(60.0))
    launching.start({0: PlannedTrial(new(), plan(new().params, slurm))}, lambda _: LIMITS)

    def leave(*_: object) -> None:
        raise Interrupted

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        with pytest.raises(Interrupted), closing(launching):
            launching.next()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    assert [record.state for record in launching.book.records.values()] == [TrialState.CANCELLED]  # type: ignore[attr-defined]
    assert [thread.daemon for thread in threading.enumerate()[before:]] == [True]
    ends.set()
