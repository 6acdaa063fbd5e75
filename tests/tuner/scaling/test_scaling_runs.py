"""The runs of a scaling analysis: what is left out, what is known already, and lost nodes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from record_builders import DISTURBED, QUIET, finished
from report_reading import printed

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from tuner.clock import ToldClock
from tuner.events import Event, Notice, TrialEnded
from tuner.machine.problem_size import textbook
from tuner.scaling.findings import ScalingContext, ScalingFindings, findings_of
from tuner.scaling.report import scaling_report
from tuner.scaling.runs import Pace, PlannedRun, ScalingPlan, ScalingRuns, words_of
from tuner.scaling.statistics import NodeOrder, Scaling
from tuner.stopping import StopRequest
from tuner.study.file_run import key_of
from tuner.trial.launch import LaunchOutcome

PLAN = ScalingPlan((1, 2, 4), (Scaling.STRONG,), (NodeOrder.SORTED, NodeOrder.SHUFFLED), 2, 0, 1000, 50, 4)


@dataclass
class MadeUpSite:
    """Four nodes; a run takes ten seconds of a told clock. One that `lost` names dies in the run of that number.

    The run of the number `taken` comes to nothing.
    """

    clock: ToldClock
    lost: dict[int, str] = field(default_factory=dict)
    taken: int = 0
    names: tuple[str, ...] = ("a", "b", "c", "d")
    done: list[PlannedRun] = field(default_factory=list)
    on: list[str] = field(default_factory=list)
    ended: list[LaunchOutcome] = field(default_factory=list)

    @property
    def launching(self) -> "MadeUpSite":
        return self

    @property
    def free(self) -> bool:
        return not self.ended

    @property
    def under_way(self) -> int:
        return len(self.ended)

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        return {"N": run.N, **words_of(run, self.names)}

    def why_not(self, run: PlannedRun) -> str | None:
        return None if run.count <= len(self.names) else "too few nodes"

    def begin(self, run: PlannedRun, expected_s: float | None) -> int:
        assert expected_s
        self.clock.sleep(10.0)
        self.done.append(run)
        self.on.append(str(self.params(run)["scale.nodes"]))
        lost = self.lost.get(len(self.done))
        params, now = self.params(run), datetime.now(UTC)
        record = TrialRecord("s", len(self.done), Kind.RUN, TrialState.COMPLETE, params, key_of(params), now)
        good = replace(record, gflops=1.0, residual=1e-3, passed=True)
        bad = replace(record, state=TrialState.CANCELLED)
        self.ended.append(LaunchOutcome({0: bad}, lost_nodes=(lost,)) if lost else LaunchOutcome({0: good}))
        if len(self.done) == self.taken:
            self.ended[-1] = LaunchOutcome({0: bad}, why="Slurm took the nodes")
        self.ended[-1] = replace(self.ended[-1], ticket=len(self.done))
        return len(self.done)

    def next(self) -> LaunchOutcome:
        return self.ended.pop(0)

    def close(self) -> None:
        pass

    def without(self, lost: tuple[str, ...]) -> None:
        self.names = tuple(name for name in self.names if name not in lost)


def runs_of(site: MadeUpSite, events: list[Event], **more: object) -> ScalingRuns:
    stop = StopRequest()
    pace = Pace(lambda _: 10.0)
    made = ScalingRuns(PLAN, site, pace, events.append, stop, site.clock)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_all_runs_are_made_and_what_is_left_is_told_after_each() -> None:
    events: list[Event] = []
    site = MadeUpSite(ToldClock())
    end = runs_of(site, events).run()
    ended = [event for event in events if isinstance(event, TrialEnded)]
    assert len(end.records) == len(ended) == 12
    assert [event.left for event in ended[-3:]] == ["20 s", "10 s", None]
    assert end.skipped == 0


def test_what_would_end_too_late_is_left_out_and_told() -> None:
    events: list[Event] = []
    end = runs_of(MadeUpSite(ToldClock()), events, limit_s=55.0).run()
    assert (len(end.records), end.skipped) == (5, 7)
    assert events[-1] == Notice("7 runs left out: ⟦time⟧ 55 s is over.")


@pytest.mark.parametrize(("taken", "skipped"), [(3, 10), (12, 1)])
def test_what_an_event_ended_is_not_complete(taken: int, skipped: int) -> None:
    events: list[Event] = []
    end = runs_of(MadeUpSite(ToldClock(), taken=taken), events).run()
    assert end.skipped == skipped
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "Slurm took the nodes: nothing more is run."
    ]


def test_runs_of_an_earlier_call_are_not_run_again() -> None:
    first, again = MadeUpSite(ToldClock()), MadeUpSite(ToldClock())
    known = {record.key: record for record in runs_of(first, []).run().records}
    end = runs_of(again, [], earlier=known).run()
    assert again.done == []
    assert {record.key for record in end.records} == set(known)


def test_the_rest_goes_on_without_a_node_that_is_lost() -> None:
    events: list[Event] = []
    site = MadeUpSite(ToldClock(), lost={4: "b"})
    end = runs_of(site, events).run()
    assert end.lost_nodes == ("b",)
    assert end.skipped > 0
    assert all("b" not in nodes for nodes in site.on[4:])
    assert all(run.count <= 3 for run in site.done[4:])
    died, again = site.done[3:5]
    assert (again.count, again.order, again.repeat, again.N) == (died.count, died.order, died.repeat, died.N)
    assert Notice("Node b is lost; the rest goes on with 3 nodes, without runs on more.") in events
    assert sum(record.ranked for record in end.records) == len(site.done) - 1


def test_a_stop_leaves_what_was_measured() -> None:
    stop, site = StopRequest(), MadeUpSite(ToldClock())

    def listen(event: Event) -> None:
        if isinstance(event, TrialEnded) and event.record.number == 3:
            stop.ask()

    end = ScalingRuns(PLAN, site, Pace(lambda _: 1.0), listen, stop, site.clock, limit_s=math.inf).run()
    assert len(end.records) == 3


TWO = ScalingPlan((1, 2), (Scaling.STRONG,), (NodeOrder.SORTED,), 1, 0, 1000, 50, 4)


class SiteOfTextbooks(MadeUpSite):
    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        known = textbook(N=run.N, NB=64, blas="openblas", kernel="auto", ranks=run.count, threads=1)
        return {**known, **super().params(run)}


def ended(number: int, count: int, gflops: float, measurements: Mapping[str, float] = QUIET) -> TrialRecord:
    params = SiteOfTextbooks(ToldClock()).params(PlannedRun(count, NodeOrder.SORTED, 0, 1000))
    return finished(number, gflops, params=params, key=str(count), measurements=measurements)


def findings(*records: TrialRecord) -> ScalingFindings:
    return findings_of(records, ScalingContext(TWO, SiteOfTextbooks(ToldClock()), {}))


def test_where_all_runs_of_a_number_were_disturbed_nothing_follows_from_their_rates() -> None:
    told = findings(ended(1, 1, 10.0), ended(2, 2, 19.0, DISTURBED))
    assert [(one.count, one.interval) for one in told.results] == [(1, None), (2, None)]
    assert (told.limits, told.growth, told.doublings) == ((), (), ())
    said = " ".join(printed(scaling_report("lab", "mine", told), width=200).split())
    assert "Runs on two numbers of nodes must count before anything is told." in said
    assert "All runs on 2 nodes were disturbed: they may be faster, and nothing follows from their rates." in said


def test_a_quiet_run_of_the_same_number_stands_for_a_disturbed_one() -> None:
    told = findings(ended(1, 1, 10.0), ended(2, 2, 12.0, DISTURBED), ended(3, 2, 19.0))
    assert [one.gflops for one in told.results] == [(10.0,), (19.0,)]
    assert (len(told.limits), told.unknown) == (1, "")
