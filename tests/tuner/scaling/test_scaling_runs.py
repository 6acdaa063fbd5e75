"""The runs of a scaling analysis: what is left out, what is known already, and lost nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from record_builders import DISTURBED, QUIET, finished
from report_reading import printed

from results.record import TrialRecord, TrialState
from tuner.clock import ToldClock
from tuner.events import Event, Listener, Notice, TrialEnded
from tuner.scaling.findings import ScalingContext, ScalingFindings, findings_of
from tuner.scaling.report import scaling_report
from tuner.scaling.runs import COUNT, NODES, Pace, PlannedRun, ScalingPlan, ScalingRuns, ScalingSite
from tuner.scaling.statistics import NodeOrder, Scaling
from tuner.stopping import StopRequest
from tuner.trial.launch import LaunchOutcome, LimitsOf
from tuner.trial.launching import Asked, Launching

PLAN = ScalingPlan((1, 2, 4), (Scaling.STRONG,), (NodeOrder.SORTED, NodeOrder.SHUFFLED), 2, 0, 1000, 50, 4)


@dataclass
class MadeUpLaunches:
    """A run takes ten seconds of a told clock. One that `lost` names dies in the run of that number.

    The run of the number `taken` comes to nothing.
    """

    clock: ToldClock = field(default_factory=ToldClock)
    lost: dict[int, str] = field(default_factory=dict)
    taken: int = 0
    done: list[TrialRecord] = field(default_factory=list)
    ended: list[LaunchOutcome] = field(default_factory=list)
    stop: StopRequest = field(default_factory=StopRequest)
    listener: Listener = lambda _: None

    @property
    def free(self) -> bool:
        return not self.ended

    @property
    def under_way(self) -> int:
        return len(self.ended)

    def start(self, asked: Asked[Any], limits: LimitsOf, _site: object) -> int:
        assert limits([]).expected_s
        self.clock.sleep(10.0)
        number = len(self.done) + 1
        record = replace(asked[0].record, number=number, state=TrialState.COMPLETE)
        good = replace(record, gflops=1.0, residual=1e-3, passed=True)
        bad = replace(record, state=TrialState.CANCELLED)
        self.done.append(record)
        nodes = (self.lost[number],) if number in self.lost else ()
        why = "Slurm took the nodes" if number == self.taken else ""
        self.ended.append(LaunchOutcome({0: bad if nodes or why else good}, number, why=why, lost_nodes=nodes))
        return number

    def next(self) -> LaunchOutcome:
        return self.ended.pop(0)

    def close(self) -> None:
        pass


def site_of(launches: object) -> ScalingSite:
    """Four nodes."""
    there: Any = SimpleNamespace(machine=None, plan=lambda *_: "a plan")
    site = ScalingSite(
        there, {"NB": 50, "blas": "openblas", "kernel": "auto"}, on=lambda _: there, names=("a", "b", "c", "d")
    )
    site.study, site.launching = "s", cast("Launching[Any]", launches)
    return site


def runs_of(launches: MadeUpLaunches, listen: Listener, **more: Any) -> ScalingRuns:
    pace = Pace(lambda _: 10.0)
    launches.listener = listen
    runs = ScalingRuns(PLAN, site_of(launches), pace, **more)
    runs.run()
    return runs


def test_all_runs_are_made_and_what_is_left_is_told_after_each() -> None:
    events: list[Event] = []
    end = runs_of(MadeUpLaunches(), events.append)
    ended = [event for event in events if isinstance(event, TrialEnded)]
    assert len(end.records) == len(ended) == 12
    assert [event.left for event in ended[-3:]] == ["20 s", "10 s", None]
    assert end.skipped == 0


def test_what_would_end_too_late_is_left_out_and_told() -> None:
    events: list[Event] = []
    end = runs_of(MadeUpLaunches(), events.append, limit_s=55.0)
    assert (len(end.records), end.skipped) == (5, 7)
    assert events[-1] == Notice("7 runs left out: ⟦time⟧ 55 s is over.")


@pytest.mark.parametrize(("taken", "skipped"), [(3, 10), (12, 1)])
def test_what_an_event_ended_is_not_complete(taken: int, skipped: int) -> None:
    events: list[Event] = []
    end = runs_of(MadeUpLaunches(taken=taken), events.append)
    assert end.missed == skipped
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "Slurm took the nodes: nothing more is run."
    ]


def test_runs_of_an_earlier_call_are_not_run_again() -> None:
    first, again = MadeUpLaunches(), MadeUpLaunches()
    known = {record.key: record for record in runs_of(first, lambda _: None).records}
    end = runs_of(again, lambda _: None, earlier=known)
    assert again.done == []
    assert {record.key for record in end.records} == set(known)


def test_the_rest_goes_on_without_a_node_that_is_lost() -> None:
    events: list[Event] = []
    launches = MadeUpLaunches(lost={4: "b"})
    end = runs_of(launches, events.append)
    assert end.lost == ["b"]
    assert end.skipped > 0
    left = [record.params for record in launches.done[4:]]
    assert all("b" not in str(params[NODES]) and int(params[COUNT]) <= 3 for params in left)
    died = launches.done[3].params
    assert {**died, NODES: left[0][NODES]} == left[0]
    assert Notice("Node b is lost; the rest goes on with 3 nodes, without runs on more.") in events
    assert sum(record.ranked for record in end.records) == len(launches.done) - 1


def test_a_stop_leaves_what_was_measured() -> None:
    launches = MadeUpLaunches()

    def listen(event: Event) -> None:
        if isinstance(event, TrialEnded) and event.record.number == 3:
            launches.stop.ask()

    assert len(runs_of(launches, listen).records) == 3


TWO = ScalingPlan((1, 2), (Scaling.STRONG,), (NodeOrder.SORTED,), 1, 0, 1000, 50, 4)


def ended(number: int, count: int, gflops: float, measurements: Mapping[str, float] = QUIET) -> TrialRecord:
    params = site_of(None).params(PlannedRun(count, NodeOrder.SORTED, 0, 1000))
    return finished(number, gflops, params=params, key=str(count), measurements=measurements)


def findings(*records: TrialRecord) -> ScalingFindings:
    return findings_of(records, ScalingContext(TWO, site_of(None), {}))


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
