"""Ask, plan, evaluate, store, tell: a study from its first trial to its confirmed winner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hpl.errors import HplError
from hpl.witness import Panel
from results.record import Invalidity, Kind, TrialRecord, TrialState
from results.statistics import Ranked, rank
from results.store import Store
from runners.errors import RunnerError
from search_spaces.dimension import Point
from search_spaces.space import SearchSpace

from .budget import Meter
from .engines.base import Engine, Outcome
from .evaluate import Evaluator, Measured
from .events import Listener, PhaseStarted, TrialEnded, TrialProgress, TrialStarted
from .judge import Fault
from .plan import PlanError, Scalar, TrialPlan, label, plan
from .stopping import StopRequest
from .trials import finished, rejected, started

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""


@dataclass
class Loop:
    """One session of a study.

    Attributes:
        walltime_s: seconds after which a run is ended.
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
    expected_s: float | None = None
    best_gflops: float | None = None

    def search(self, engine: Engine, *, repeats: int, reserved_runs: float, first: Sequence[Point] = ()) -> str:
        """Ask the engine for configurations and measure each until the budget, the engine or the user ends it.

        Args:
            repeats: how often each configuration is run in this phase.
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
            params = engine.first_unseen(first) or engine.ask()
            if params is None:
                return "every configuration of the space has been measured"
            for _ in range(repeats):
                record = self.trial(self.space.complete(params), Kind.SEARCH)
                engine.tell(params, outcome_of(record))
                if record.state is not TrialState.COMPLETE or self.stop.requested:
                    break
        return "stopped on request"

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
        return rank(self.store.records(self.study, kinds=(Kind.SEARCH, Kind.CONFIRMATION)))

    def trial(self, params: Mapping[str, Scalar], kind: Kind) -> TrialRecord:
        """Run one complete point and commit its record, whatever happens to it.

        Raises:
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        begun = started(self.study, params, kind, self.space.key(params))
        number = self.store.begin(begun)
        begun = replace(begun, number=number)
        try:
            trial_plan = plan(params, self.evaluator.site)
        except (PlanError, HplError) as error:
            return self._commit(rejected(begun, Fault(Invalidity.CONSTRAINTS, str(error))))
        self.listener(TrialStarted(number, str(kind), label(trial_plan), self.expected_s))
        directory = self.runs / self.study / f"{number:05d}"
        try:
            measured = self._measure(trial_plan, directory, number)
        except (RunnerError, OSError) as error:
            return self._commit(rejected(begun, Fault(Invalidity.RUNTIME, str(error))))
        return self._commit(finished(begun, trial_plan, measured, directory))

    def _measure(self, trial_plan: TrialPlan, directory: Path, number: int) -> Measured:
        started_s = self.meter.clock.now_s()

        def on_panel(panel: Panel) -> None:
            self.listener(TrialProgress(number, panel.fraction, self.meter.clock.now_s() - started_s))

        return self.evaluator.evaluate(trial_plan, directory, self.walltime_s, on_panel, self.stop)

    def _commit(self, record: TrialRecord) -> TrialRecord:
        self.store.finish(record)
        self.meter.charge(record.cost_s or 0.0, trial=record.kind is Kind.SEARCH)
        if record.ranked and record.kind in {Kind.SEARCH, Kind.CONFIRMATION}:
            self.best_gflops = max(self.best_gflops or 0.0, record.gflops or 0.0)
            cost_s = record.cost_s or 0.0
            self.expected_s = cost_s if self.expected_s is None else 0.5 * (self.expected_s + cost_s)
        self.listener(TrialEnded(record, self.best_gflops, self.meter.wall_s, self.meter.remaining_s()))
        return record


def outcome_of(record: TrialRecord) -> Outcome:
    """What an engine learns of a record."""
    return Outcome(gflops=record.gflops if record.ranked else None, time_s=record.time_s, state=str(record.state))


def retell(engine: Engine, records: Sequence[TrialRecord]) -> None:
    """Rebuild an engine from the store: the records are the only state a study has."""
    for record in records:
        if record.state is not TrialState.CANCELLED:
            engine.tell(record.params, outcome_of(record))
