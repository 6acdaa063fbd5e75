"""Ask, plan, evaluate, store, tell: a study from its first trial to its confirmed winner."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hpl.errors import HplError
from hpl.witness import Panel, parse_panels
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
from .events import Listener, Notice, PhaseStarted, TrialEnded, TrialProgress, TrialStarted
from .judge import Fault
from .ladder import outcome_of, small_n
from .nodes import NodesLostError, silent_nodes
from .objective import Objective
from .plan import PlanError, Scalar, TrialPlan, label, plan
from .prospects import Hopeless, Prospects
from .stopping import StopRequest
from .trials import finished, given_up, rejected, started

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""
STANDARD_ERRORS = 2.0
RETURN_S = 20.0
"""Seconds a node gets to come back after a run died with it: a link that was pulled, a daemon that was restarted."""
KINDS = {Fidelity.SMALL: Kind.SMALL, Fidelity.PREFIX: Kind.PREFIX, Fidelity.FULL: Kind.SEARCH}
SEARCHED = frozenset(KINDS.values())
"""Kinds of trials that an engine asked for."""


@dataclass
class Loop:
    """One session of a study.

    Attributes:
        walltime_s: seconds after which a run is ended.
        ladder: how much of a full run the engine may ask for.
        session: number of this sitting of the study.
        lost_nodes: nodes that did not answer after the last run.
        shrunk: nodes were lost, so that some configurations that were measured cannot be run any more.
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
    lost_nodes: tuple[str, ...] = ()
    shrunk: bool = False

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
            ladder = (FULL,) if self.meter.last(self.expected_s or 0.0, repeats + reserved_runs) else self.ladder
            anchor = self.anchors.due() if ladder != (FULL,) else None
            question = Question(start) if start else anchor or engine.choose(ladder)
            self._pass_on(engine)
            if question is None:
                return "nothing is left that could be faster, as far as the engine can tell"
            for _ in range(repeats if question.rung == FULL else 1):
                record = self.trial(self.space.complete(question.params), KINDS[question.rung.fidelity], question.rung)
                engine.tell(question.params, self.objective.outcome(record.params, outcome_of(record)))
                self._watch_drift(question, record)
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
        """The study's configurations that can be run now, best median first; those confirmed before those seen once."""
        ranked = self.objective.ranked(rank(self.store.records(self.study, kinds=(Kind.SEARCH, Kind.CONFIRMATION))))
        if not self.shrunk:
            return ranked
        return [entry for entry in ranked if self.space.why_not(entry.params) is None]

    def trial(self, params: Mapping[str, Scalar], kind: Kind, rung: Rung = FULL) -> TrialRecord:
        """Run one complete point and commit its record, whatever happens to it.

        A run that died with a node is repeated once where the node comes back.

        Args:
            rung: how much of it to run.

        Raises:
            NodesLostError: it does not come back.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        record = self._trial(params, kind, rung)
        if self.lost_nodes and not self.stop.requested:
            self._wait_for_nodes()
            record = self._trial(params, kind, rung)
        if self.lost_nodes:
            raise NodesLostError(self.lost_nodes)
        return record

    def _wait_for_nodes(self) -> None:
        """Give lost nodes a moment to answer again.

        Raises:
            NodesLostError: one does not.
        """
        self.listener(Notice(f"Node {', '.join(self.lost_nodes)} does not answer: waiting {RETURN_S:.0f} s for it."))
        give_up_s = self.meter.clock.now_s() + RETURN_S
        while lost := silent_nodes(self.evaluator.site):
            if self.stop.requested or self.meter.clock.now_s() > give_up_s:
                raise NodesLostError(lost)
        self.listener(Notice("It answers again: the run is repeated."))

    def _trial(self, params: Mapping[str, Scalar], kind: Kind, rung: Rung) -> TrialRecord:
        self.lost_nodes = ()
        begun = started(self.study, params, kind, self.space.key(params), self.session)
        number = self.store.begin(begun)
        begun = replace(begun, number=number)
        try:
            trial_plan = self._planned(params, rung)
        except (PlanError, HplError) as error:
            return self._commit(rejected(begun, Fault(Invalidity.CONSTRAINTS, str(error))))
        expected_s = None if self.expected_s is None else self.expected_s * rung.operations
        self.listener(TrialStarted(number, str(kind), label(trial_plan), expected_s))
        directory = self.runs / self.study / f"{number:05d}"
        begun = replace(begun, part=_part(trial_plan, params, rung))
        try:
            return self._commit(self._measured(begun, trial_plan, directory))
        except (RunnerError, OSError) as error:
            return self._commit(rejected(begun, Fault(Invalidity.RUNTIME, str(error))))

    def _planned(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan:
        if rung.fidelity is Fidelity.SMALL:
            return plan({**params, "N": small_n(int(params["N"]), rung.part)}, self.evaluator.site)
        whole = plan(params, self.evaluator.site)
        return whole if rung == FULL else replace(whole, stop_at=rung.part)

    def _measured(self, begun: TrialRecord, trial_plan: TrialPlan, directory: Path) -> TrialRecord:
        best = self._to_beat() if begun.kind is Kind.SEARCH else None
        run = Watched(self, begun.number, best)
        measured = self.evaluator.evaluate(trial_plan, directory, self.walltime_s, run.on_panel, run)
        self.lost_nodes = measured.lost_nodes
        record = finished(begun, trial_plan, measured, directory)
        if run.hopeless is not None and record.state is TrialState.CANCELLED and best is not None:
            return given_up(record, run.hopeless, best)
        if record.kind is Kind.SEARCH and record.ranked and record.gflops:
            self.prospects.learn(parse_panels(measured.errors_text), record.gflops)
        return record

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
        self.meter.charge(record.cost_s or 0.0, trial=record.kind in SEARCHED)
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


@dataclass
class Watched:
    """A run under way: tells the display how far it is, and ends it when the user wants or when it cannot win."""

    loop: Loop
    number: int
    best_gflops: float | None
    hopeless: Hopeless | None = None

    def __post_init__(self) -> None:
        self._started_s = self.loop.meter.clock.now_s()

    @property
    def at_once(self) -> bool:
        """Whether the run must be ended now."""
        return self.loop.stop.at_once or self.hopeless is not None

    def on_panel(self, panel: Panel) -> None:
        """Hear of a panel that has begun."""
        elapsed_s = self.loop.meter.clock.now_s() - self._started_s
        self.loop.listener(TrialProgress(self.number, panel.fraction, elapsed_s))
        if self.best_gflops is not None and self.hopeless is None:
            self.hopeless = self.loop.prospects.hopeless(panel, self.best_gflops)


def _part(trial_plan: TrialPlan, params: Mapping[str, Scalar], rung: Rung) -> float:
    if rung.fidelity is Fidelity.SMALL:
        return trial_plan.runs[0].N / int(params["N"])
    return rung.part


def retell(engine: Engine, records: Sequence[TrialRecord], objective: Objective) -> None:
    """Rebuild an engine from the store: the records are the only state a study has."""
    for record in records:
        if record.state is not TrialState.CANCELLED:
            engine.tell(record.params, objective.outcome(record.params, outcome_of(record)))
