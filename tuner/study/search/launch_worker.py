"""Where a study runs one launch after another: from points to the records of what came of them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState

from ...engines.fidelity import FULL, Fidelity, Question, Rung
from ...errors import NodesLostError, TunerError
from ...trial.evaluate import Evaluator
from ...trial.judge import Failure
from ...trial.ladder import at_rung, part_at
from ...trial.launching import Launching, LaunchLimits, LaunchOutcome, PlannedTrial, TrialBook, planned, reject
from ...trial.plan import TrialPlan, label, plan
from ...trial.records import not_reached, started
from ...trial.varying_label import varying_label
from ..kinds import KINDS
from ..session import StudySession
from .launch_breaker import LaunchBreaker
from .search_limits import RunTimeEstimate, SearchLimits
from .unavailable import UnavailableParts


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
    limits: SearchLimits
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
        Where a run died with a node, its launch is run once more as soon as it answers again; at once where somebody
        else changed the network meanwhile. What another process of this study began in the same moment is left to it,
        and so is the budget's last trial: the record here is cancelled and has no number.

        Raises:
            NodesLostError: a node that died with a run does not come back.
            TunerError: no run can be started here; the trials stay RUNNING. Or one launch after another fails alike.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        asked: dict[int, PlannedTrial[TrialPlan]] = {}
        records: dict[int, TrialRecord] = {}
        for place, params in enumerate(points):
            new = started(self.session.study, params, kind, self.session.space.key(params), self.session.number)
            new, found = replace(new, part=part_at(params, rung)), self._plan(params, rung)
            if isinstance(found, Failure):
                records[place] = reject(self.book, new, found)
            else:
                asked[place] = PlannedTrial(new, found, label(found, varying_label(params, self.session.space.varying)))
        done = self._run(asked, rung) if asked else LaunchOutcome({})
        done = replace(done, records={**records, **done.records})
        self._require_that_it_goes_on(done)
        return done.in_order

    def _run(self, asked: Mapping[int, PlannedTrial[TrialPlan]], rung: Rung) -> LaunchOutcome:
        """Run what shares a launch, and what HPL did not come to again alone; the last launch, and all records."""
        session = self.session
        launching = Launching(
            evaluator=self.evaluator,
            book=self.book,
            listener=session.context.listener,
            stop=session.context.stop,
            clock=session.meter.clock,
        )
        done = launching.measure(asked, self._limits(list(asked.values()), rung))
        self.unavailable.rule_out(done.unavailable)
        records = dict(done.records)
        for place, trial in done.left.items():
            if session.stopped or done.lost_nodes or done.disturbed or session.meter.out_of_time(0.0):
                records[place] = self.book.commit(not_reached(trial.record))
                continue
            done = launching.launch({place: trial}, trial.plan, self._limits([trial], rung))
            self.unavailable.rule_out(done.unavailable)
            records |= done.records
        return replace(done, records=records)

    def _limits(self, trials: Sequence[PlannedTrial[TrialPlan]], rung: Rung) -> LaunchLimits:
        first = trials[0].record
        may_end = first.kind is Kind.SEARCH and len(trials) == 1
        return self.limits.of_launch(rung, len(trials), first.key if may_end else None)

    def _require_that_it_goes_on(self, done: LaunchOutcome) -> None:
        """Make sure that the study can go on after a launch.

        Raises:
            NodesLostError, TunerError: as `launch`.
        """
        if done.lost_nodes:
            raise NodesLostError(done.lost_nodes)
        if done.in_vain:
            on = f"`hpltune tune «resume» «study» {shlex.quote(self.session.study)}` goes on"
            raise TunerError(f"{done.in_vain}: {on} once they are there")
        if self.breaker is not None:
            self.breaker.note(done)

    def _plan(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan | Failure:
        asked = planned(plan, at_rung(params, rung), self.evaluator.site)
        if isinstance(asked, Failure) or rung.fidelity is not Fidelity.PREFIX:
            return asked
        return replace(asked, stop_at=rung.part)
