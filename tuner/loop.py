"""Ask, plan, evaluate, store, tell: a study from its first trial to its confirmed winner."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hpl.errors import HplError
from hpl.witness import parse_panels
from results.record import Invalidity, Kind, TrialRecord, TrialState
from results.statistics import Ranked, rank, relative_sd
from results.store import Store
from runners.errors import RunnerError
from search_spaces.dimension import Point
from search_spaces.space import SearchSpace

from .anchors import Anchors
from .budget import Meter
from .engines.base import Engine
from .engines.fidelity import FULL, Fidelity, Ladder, Question, Rung
from .evaluate import Evaluator
from .events import Listener, Notice, PhaseStarted, TrialEnded
from .judge import Fault
from .ladder import outcome_of, outcomes_of, small_n
from .launch import Watched, hpl_order, labels, reached, together
from .objective import Objective
from .plan import PlanError, Scalar, TrialPlan, plan
from .prospects import Prospects
from .stopping import StopRequest
from .trials import finished, given_up, not_reached, rejected, started

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""
STANDARD_ERRORS = 2.0
KINDS = {Fidelity.SMALL: Kind.SMALL, Fidelity.PREFIX: Kind.PREFIX, Fidelity.FULL: Kind.SEARCH}
SEARCHED = frozenset(KINDS.values())
"""Kinds of trials that an engine asked for."""


@dataclass(frozen=True)
class Planned:
    """A trial that is begun in the store, and the plan of it alone."""

    begun: TrialRecord
    plan: TrialPlan


@dataclass
class Loop:
    """One session of a study.

    Attributes:
        walltime_s: seconds after which a launch is ended.
        ladder: how much of a full run the engine may ask for.
        session: number of this sitting of the study.
        expected_s: seconds the next run will probably take, None while unknown; learnt from finished runs.
    """

    store: Store
    study: str
    space: SearchSpace
    evaluator: Evaluator
    meter: Meter
    listener: Listener
    stop: StopRequest
    runs: Path
    walltime_s: float
    objective: Objective
    ladder: Ladder = (FULL,)
    session: int = 0
    expected_s: float | None = None
    best_gflops: float | None = None
    prospects: Prospects = field(default_factory=Prospects)
    anchors: Anchors = field(default_factory=Anchors)

    def search(self, engine: Engine, *, repeats: int, reserved_runs: float, first: Sequence[Point] = ()) -> str:
        """Ask the engine for configurations and measure each until the budget, the engine or the user ends it.

        Args:
            repeats: how often each configuration is run in full in this phase.
            reserved_runs: runs that must still fit into the budget afterwards.
            first: points to try before the engine is asked, as far as it does not know them.

        Returns:
            The sentence why it ended.
        """
        self.listener(PhaseStarted("search", self.meter.budget.trials))
        while not self.stop.requested:
            reason = self.meter.used_up((self.expected_s or 0.0) * (repeats + reserved_runs))
            if reason:
                return reason
            start = engine.first_unseen(first)
            batch = [Question(start)] if start else self._asked(engine, repeats + reserved_runs)
            self._pass_on(engine)
            if not batch:
                return "nothing is left that could be faster, as far as the engine can tell"
            rung = batch[0].rung
            for _ in range(repeats if rung == FULL else 1):
                points = [self.space.complete(question.params) for question in batch]
                records = self.launch(points, KINDS[rung.fidelity], rung)
                for question, record, outcome in zip(batch, records, outcomes_of(records), strict=True):
                    engine.tell(question.params, self.objective.outcome(record.params, outcome))
                    self._watch_drift(question, record)
                if self.stop.requested or any(record.state is not TrialState.COMPLETE for record in records):
                    break
        return "stopped on request"

    def _asked(self, engine: Engine, runs_to_follow: float) -> list[Question]:
        """What to run next: the anchor or what the engine chooses, with what may share the launch; or nothing.

        Args:
            runs_to_follow: full runs that the budget must still have room for.
        """
        full_s = self.expected_s or 0.0
        last = self.meter.last(full_s, runs_to_follow)
        anchor = None if last or tuple(self.ladder) == (FULL,) else self.anchors.due()
        if anchor:
            return [anchor]
        question = engine.choose((FULL,) if last else self.ladder)
        if question is None:
            return []
        most = self.meter.room(full_s, runs_to_follow) if full_s and question.rung != FULL else 0
        return [question, *(Question(params, question.rung) for params in engine.companions(question, most))]

    def confirm(self, repeats: int) -> Sequence[Ranked]:
        """Measure the best configurations again, interleaved so that drift hits all alike, and rank by the median.

        Args:
            repeats: further runs of each finalist.
        """
        finalists = self.ranking()[:FINALISTS]
        runs = [finalist.params for _ in range(repeats) for finalist in finalists]
        if runs:
            self.listener(PhaseStarted("confirmation", len(runs)))
        for params in runs:
            if self.stop.requested or self.meter.out_of_time(self.expected_s or 0.0):
                break
            self.trial(params, Kind.CONFIRMATION)
        return self.ranking()

    def ranking(self) -> Sequence[Ranked]:
        """The study's configurations, best median first; those confirmed before those seen once."""
        return self.objective.ranked(rank(self.store.records(self.study, kinds=(Kind.SEARCH, Kind.CONFIRMATION))))

    def trial(self, params: Mapping[str, Scalar], kind: Kind, rung: Rung = FULL) -> TrialRecord:
        """Run one complete point and commit its record, whatever happens to it.

        Args:
            rung: how much of it to run.

        Raises:
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        return self.launch([params], kind, rung)[0]

    def launch(self, points: Sequence[Mapping[str, Scalar]], kind: Kind, rung: Rung) -> list[TrialRecord]:
        """Run complete points, in one launch if one HPL.dat holds them, and commit a record of each in their order.

        Where a run of a launch fails, those before it keep their results, and each after it gets a launch of its own.

        Raises:
            results.errors.ResultsError: as `trial`.
        """
        plans = [self._plan_or_fault(params, rung) for params in points]
        records: dict[int, TrialRecord] = {}
        planned: dict[int, Planned] = {}
        for number in hpl_order(plans):
            params, one = points[number], plans[number]
            begun = started(self.study, params, kind, self.space.key(params), self.session)
            begun = replace(begun, number=self.store.begin(begun))
            if isinstance(one, Fault):
                records[number] = self._commit(rejected(begun, one))
            else:
                planned[number] = Planned(replace(begun, part=_part(one, params, rung)), one)
        if planned:
            expected_s = None if self.expected_s is None else self.expected_s * rung.operations
            records |= zip(planned, self._launched(list(planned.values()), expected_s), strict=True)
        return [records[number] for number in range(len(points))]

    def _launched(self, planned: Sequence[Planned], expected_s: float | None) -> list[TrialRecord]:
        """Run what shares a launch, in HPL's order, and commit the records; what HPL did not come to again alone."""
        records = [self._commit(record) for record in self._measured(planned, expected_s)]
        for one in planned[len(records) :]:
            over = self.stop.requested or self.meter.out_of_time(0.0)
            records += [self._commit(not_reached(one.begun))] if over else self._launched([one], expected_s)
        return records

    def _plan_or_fault(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan | Fault:
        try:
            return self._planned(params, rung)
        except (PlanError, HplError) as error:
            return Fault(Invalidity.CONSTRAINTS, str(error))

    def _planned(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan:
        if rung.fidelity is Fidelity.SMALL:
            return plan({**params, "N": small_n(int(params["N"]), rung.part)}, self.evaluator.site)
        whole = plan(params, self.evaluator.site)
        return whole if rung == FULL else replace(whole, stop_at=rung.part)

    def _measured(self, planned: Sequence[Planned], expected_s: float | None) -> list[TrialRecord]:
        """The records of a launch, of the runs that HPL came to; all of them where the user ended it."""
        shared = together([one.plan for one in planned])
        if shared is None:
            planned, shared = planned[:1], planned[0].plan
        first = planned[0].begun
        may_end = first.kind is Kind.SEARCH and len(planned) == 1
        run = Watched(
            kind=first.kind,
            numbers=[one.begun.number for one in planned],
            labels=labels([one.plan for one in planned]),
            listener=self.listener,
            stop=self.stop,
            clock=self.meter.clock,
            prospects=self.prospects,
            expected_s=expected_s,
            best_gflops=self._to_beat() if may_end else None,
        )
        directory = self.runs / self.study / f"{first.number:05d}"
        try:
            measured = self.evaluator.evaluate(shared, directory, self.walltime_s, run.on_panel, run)
        except (RunnerError, OSError) as error:
            return [rejected(first, Fault(Invalidity.RUNTIME, str(error)))]
        records = [
            replace(finished(one.begun, shared, measured, directory, index), hpl_dat=one.plan.hpl_dat)
            for index, one in enumerate(planned[: None if measured.verdict.cancelled else reached(measured)])
        ]
        run.come_to(len(records) - 1)
        if run.hopeless is not None and records[0].state is TrialState.CANCELLED and run.best_gflops is not None:
            return [given_up(records[0], run.hopeless, run.best_gflops)]
        for record in records:
            if record.kind is Kind.SEARCH and record.ranked and record.gflops:
                self.prospects.learn(parse_panels(record.errors_text), record.gflops)
        return records

    def _to_beat(self) -> float | None:
        """The rate the best configuration surely has: its median less two standard errors, so that luck is no bar."""
        ranking = self.ranking()
        if not ranking:
            return None
        first = max(ranking, key=lambda entry: entry.median_gflops)
        sd = relative_sd(ranking) or 0.0
        return first.median_gflops * (1 - STANDARD_ERRORS * sd / math.sqrt(first.runs))

    def _commit(self, record: TrialRecord) -> TrialRecord:
        self.store.finish(record)
        self.meter.charge(record.cost_s or 0.0, trial=counts(record))
        if record.ranked and record.kind in {Kind.SEARCH, Kind.CONFIRMATION}:
            self.best_gflops = max(self.best_gflops or 0.0, record.gflops or 0.0)
            cost_s = record.cost_s or 0.0
            self.expected_s = cost_s if self.expected_s is None else 0.5 * (self.expected_s + cost_s)
        self.listener(TrialEnded(record, self.best_gflops, self.meter.wall_s, self.meter.remaining_s()))
        return record

    def _watch_drift(self, question: Question, record: TrialRecord) -> None:
        sentence = self.anchors.note(question, outcome_of(record).gflops)
        if sentence:
            self.listener(Notice(sentence))

    def _pass_on(self, engine: Engine) -> None:
        for remark in engine.remarks:
            self.listener(Notice(remark))
        engine.remarks.clear()


def _part(trial_plan: TrialPlan, params: Mapping[str, Scalar], rung: Rung) -> float:
    if rung.fidelity is Fidelity.SMALL:
        return trial_plan.runs[0].N / int(params["N"])
    return rung.part


def counts(record: TrialRecord) -> bool:
    """Whether a trial is one of those that a budget of trials allows."""
    return record.kind in SEARCHED and record.state is not TrialState.CANCELLED


def retell(engine: Engine, records: Sequence[TrialRecord], objective: Objective) -> None:
    """Rebuild an engine from the store: the records are the only state a study has.

    Nothing is known of a trial that the user ended, or whose end was not seen because hpltune was killed.
    """
    for record, outcome in zip(records, outcomes_of(records), strict=True):
        if record.state is not TrialState.CANCELLED and record.ended_at is not None:
            engine.tell(record.params, objective.outcome(record.params, outcome))
