"""One launch at a time: from points to the records of what came of them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState

from ...engines.fidelity import FULL, Fidelity, Question, Rung
from ...errors import NodesLostError, TunerError
from ...trial.evaluate import Evaluator
from ...trial.judge import Failure
from ...trial.ladder import at_rung, part_at
from ...trial.launch import LaunchMonitor, hpl_order, merge_plans, reached
from ...trial.pipeline import Planned, TrialBook, begin, launched, planned, records_of, set_aside
from ...trial.plan import TrialPlan, label, plan
from ...trial.records import given_up, not_reached, rejected, started
from ...trial.repeat import Launched, Repeater
from ...trial.varying_label import varying_label
from ..kinds import KINDS
from ..session import StudySession
from .launch_breaker import LaunchBreaker
from .launch_limits import LaunchLimits
from .run_time import RunTimeEstimate
from .unavailable import UnavailableParts

Trial = Planned[TrialPlan]


@dataclass(frozen=True)
class LaunchWorker:
    """A place where a study runs one launch after another: this machine, or some nodes of a cluster.

    Attributes:
        book: where its trials are recorded.
        limits: what its launches may take, and must reach.
        evaluator: what runs plans here.
        breaker: ends a search whose launches all fail alike; None for none.
    """

    session: StudySession
    book: TrialBook
    limits: LaunchLimits
    unavailable: UnavailableParts
    evaluator: Evaluator
    breaker: LaunchBreaker | None = None

    def expecting(self, expected_s: float | None) -> "LaunchWorker":
        """The same worker before the search, when a run should take so long; None where that is not known."""
        return replace(self, limits=replace(self.limits, run_time=RunTimeEstimate(expected_s)))

    def measure(self, batch: Sequence[Question], repeats: int) -> list[list[TrialRecord]]:
        """Run what an engine asks, full runs several times; what fails or is given up is not repeated.

        Raises:
            TunerError, results.errors.ResultsError: as `launch`.
        """
        rung = batch[0].rung
        kind = KINDS[rung.fidelity]
        points = [self.session.space.measured(question.params) for question in batch]
        rounds: list[list[TrialRecord]] = []
        for _ in range(repeats if rung == FULL else 1):
            rounds.append(self.launch(points, kind, rung))
            done = all(record.state is TrialState.COMPLETE and record.kind is kind for record in rounds[-1])
            if self.session.stopped or not done:
                break
        return rounds

    def trial(self, params: Mapping[str, Scalar], kind: Kind, rung: Rung = FULL) -> TrialRecord:
        """Run one complete point and commit its record, whatever happens to it.

        Args:
            rung: how much of it to run.

        Raises:
            NodesLostError, TunerError, results.errors.ResultsError: as `launch`.
        """
        return self.launch([params], kind, rung)[0]

    def launch(self, points: Sequence[Mapping[str, Scalar]], kind: Kind, rung: Rung) -> list[TrialRecord]:
        """Run complete points, in one launch if one HPL.dat holds them, and commit a record of each in their order.

        Where a run of a launch fails, those before it keep their results, and each after it gets a launch of its own.
        Where a run died with a node, all are run once more as soon as it answers again; at once where somebody else
        changed the network meanwhile. What another process of this
        study began in the same moment is left to it, and so is the budget's last trial: the record here is cancelled
        and has no number.

        Raises:
            NodesLostError: a node that died with a run does not come back.
            TunerError: no run can be started here; the trials stay RUNNING. Or one launch after another fails alike.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        repeater = Repeater(self.evaluator.site, self.session.say, self.session.context.stop, self.session.meter.clock)
        done = repeater.launch(lambda last: self._launch(points, kind, rung, last=last))
        if done.lost_nodes:
            raise NodesLostError(done.lost_nodes)
        if done.in_vain:
            on = f"`hpltune tune «resume» «study» {shlex.quote(self.session.study)}` goes on"
            raise TunerError(f"{done.in_vain}: {on} once they are there")
        if self.breaker is not None:
            self.breaker.note(done)
        return list(done.records)

    def _launch(self, points: Sequence[Mapping[str, Scalar]], kind: Kind, rung: Rung, *, last: bool) -> Launched:
        plans = [planned(partial(self._plan, point, rung)) for point in points]
        records: dict[int, TrialRecord] = {}
        trials: dict[int, Trial] = {}
        for number in hpl_order(plans):
            params = points[number]
            new = started(self.session.study, params, kind, self.session.space.key(params), self.session.number)
            begun = begin(self.book, replace(new, part=part_at(params, rung)), plans[number])
            if isinstance(begun, Planned):
                trials[number] = begun
            else:
                records[number] = begun
        done = self._run(list(trials.values()), self.limits.should_take_s(rung), last=last) if trials else Launched([])
        records |= zip(trials, done.records, strict=True)
        return replace(done, records=[records[number] for number in range(len(points))])

    def _run(self, trials: Sequence[Trial], expected_s: float | None, *, last: bool) -> Launched:
        """Run what shares a launch, in HPL's order, and commit the records; what HPL did not come to again alone."""
        done = self._measured(trials, expected_s, last=last)
        records = [self.book.commit(record) for record in done.records]
        for one in trials[len(records) :]:
            if self.session.stopped or done.lost_nodes or done.disturbed or self.session.meter.out_of_time(0.0):
                records.append(self.book.commit(not_reached(one.begun)))
            else:
                done = self._run([one], expected_s, last=last)
                records += done.records
        return replace(done, records=records)

    def _labels(self, trials: Sequence[Trial]) -> list[str]:
        """Each configuration of a launch in one line."""
        found = [label(one.plan, varying_label(one.begun.params, self.session.space.varying)) for one in trials]
        if len(found) == 1:
            return found
        return [f"{one} ({turn} of {len(found)} in one launch)" for turn, one in enumerate(found, start=1)]

    def _plan(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan:
        asked = plan(at_rung(params, rung), self.evaluator.site)
        return replace(asked, stop_at=rung.part) if rung.fidelity is Fidelity.PREFIX else asked

    def _measured(self, trials: Sequence[Trial], expected_s: float | None, *, last: bool) -> Launched:
        """A launch, with the records of the runs that HPL came to, or of all where the user ended it; none committed.

        Args:
            last: a disturbance does not repeat it any more.
        """
        shared = merge_plans([one.plan for one in trials])
        if shared is None:
            trials, shared = trials[:1], trials[0].plan
        first = trials[0].begun
        may_end = first.kind is Kind.SEARCH and len(trials) == 1
        monitor = LaunchMonitor(
            labels=dict(zip([one.begun.number for one in trials], self._labels(trials), strict=True)),
            listener=self.session.context.listener,
            stop=self.session.context.stop,
            clock=self.session.meter.clock,
            early_stopping=self.limits.early_stopping,
            expected_s=expected_s,
            best_gflops=self.limits.lower_bound(first.key) if may_end else None,
        )
        directory = self.book.folder(first.number)
        limit_s = self.limits.limit_s(None if expected_s is None else expected_s * len(trials))
        result = launched(lambda: self.evaluator.evaluate(shared, directory, limit_s, monitor.on_panel, monitor))
        if isinstance(result, Failure):
            return Launched([rejected(first, result)])
        self.unavailable.rule_out(result.unavailable)
        came_to = trials[: None if result.verdict.cancelled else reached(result)]
        records = records_of(came_to, shared, result, directory)
        monitor.come_to(len(records) - 1)
        hopeless, best_gflops = monitor.hopeless, monitor.best_gflops
        ended_by_user = result.verdict.cancelled and hopeless is None
        if result.disturbed:
            repeats = not last and not ended_by_user
            return Launched(
                set_aside(records) if repeats else records, result.lost_nodes, result.disturbed if repeats else ""
            )
        if hopeless is not None and best_gflops is not None and records[0].state is TrialState.CANCELLED:
            records = [given_up(records[0], hopeless, best_gflops)]
        in_vain = records[0].reason if result.in_vain else ""
        return Launched(records, result.lost_nodes, in_vain=in_vain, began=bool(result.begun_s))
