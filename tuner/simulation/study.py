"""`hpltune tune --cluster`: a study whose trials are simulated and whose clock is the simulator's."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from results.stats.ranking import Ranked
from search_spaces.dimension import Point

from ..engines.base import Engine
from ..engines.context import EngineContext
from ..engines.fidelity import FULL, Question, Rung
from ..engines.registry import make_engine
from ..events import PhaseStarted
from ..stopping import Interrupted
from ..study.launch_worker import KINDS
from ..study.objective import Objective
from ..study.replay import replay_records
from ..study.session import FINALISTS, NOTHING_LEFT, STOPPED, StudySession, counts, how_it_ended
from ..trial.ladder import outcome_of, rung_of
from ..trial.plan import TrialPlan, label
from ..trial.records import started
from ..trial.varying_label import varying_label
from .cluster import SimulatedCluster
from .known import probes_of
from .simulator import Simulator
from .trials import SimulatedTrials

MOST_FAILURES = 20
"""Simulations that may fail one after the other where only time is limited."""
Waiting = deque[Question]
"""What was asked by the trials under way, oldest first."""


@dataclass(kw_only=True)
class VirtualStudy(StudySession):
    """One sitting of a study on a virtual cluster."""

    site: SimulatedCluster
    simulator: Simulator
    trials: SimulatedTrials = field(init=False)
    _earlier: list[TrialRecord] = field(default_factory=list, init=False)
    _guessed_s: float = field(default=0.0, init=False)
    _full_asked: bool = field(default=False, init=False)
    _failed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.trials = SimulatedTrials(self.simulator, self, self.bench.listener, self.bench.stop, self._named)

    def engine(self, name: str, seed: int, points: int | None = None) -> Engine:
        """A new engine that is told what is known of the cluster, and what a GFLOPS of a configuration is worth."""
        probes = probes_of(self.site.cluster, self.space)
        known = EngineContext(points=points, probes=probes, worth=self._worth_by(self.objective))
        if self.objective.against:
            known = replace(known, against=self._worth_by(self.objective.against))
        return make_engine(name, self.space, seed, known)

    def _worth_by(self, objective: Objective) -> Callable[[Point], float]:
        return lambda point: objective.worth(self.space.complete(point), 1.0)

    def search(self, engine: Engine, repeats: int, to_confirm: int = 0) -> str:
        """Ask, simulate on all slots, tell in the order of asking, until budget, engine or user end it.

        Telling in that order makes a study depend on its seed and its slots only, not on which simulation was faster.

        Args:
            to_confirm: further runs of each finalist that the budget must still have room for.

        Returns:
            The sentence why it ended.
        """
        self.bench.listener(PhaseStarted("search", self.meter.budget.trials))
        self.explain()
        with self.bench.stop.preparing():
            replay_records(engine, self._earlier, self.objective)
        waiting: Waiting = deque()
        reason: str | None = None
        reserved = max(FINALISTS, self.largest_front) * to_confirm if self.site.cluster.noise.between_runs else 0
        while reason is None or waiting:
            if reason is None:
                reason = self._hopeless() or self._fill(engine, repeats, reserved, waiting)
            if waiting:
                question = waiting.popleft()
                record = self.trials.end_oldest()
                engine.tell(question.params, self.objective.outcome(record.params, outcome_of(record)))
        return how_it_ended(reason, engine)

    def _hopeless(self) -> str | None:
        """The sentence why nothing more is tried where only time is limited and none of it passes, or None."""
        if self._failed < MOST_FAILURES or self.meter.budget.trials is not None:
            return None
        return f"the last {self._failed} simulations failed, and failures use up no budget"

    def _fill(self, engine: Engine, repeats: int, reserved: int, waiting: Waiting) -> str | None:
        """Start what the engine asks for until all slots are busy; the sentence why nothing more is asked, or None."""
        while len(waiting) < self.simulator.slots:
            running = len(waiting)
            refused = "you asked for it" if self.stopped else self.meter.out_of_trials(running)
            if refused:
                return refused
            full_s = self.expected_s or self._guessed_s
            if waiting and not full_s and self.meter.budget.timed:
                return None
            over = self.meter.out_of_time(full_s, running + repeats + reserved)
            if over and self._full_asked:
                return self.meter.budget.too_small(full_s, FINALISTS + reserved) or over
            last = self.meter.last(full_s, running + repeats + reserved, running)
            try:
                with self.bench.stop.thinking():
                    question = engine.choose((FULL,) if last else self.ladder)
            except Interrupted:
                return STOPPED
            self.hear(engine)
            if question is None:
                return None if waiting else NOTHING_LEFT
            self._full_asked |= question.rung == FULL
            params = self.space.complete(question.params)
            before = self._times_run(params, KINDS[question.rung.fidelity])
            for repeat in range(before, before + (repeats if question.rung == FULL else 1)):
                ended = self._begin(params, repeat=repeat, rung=question.rung)
                if ended is not None:
                    engine.tell(question.params, self.objective.outcome(ended.params, outcome_of(ended)))
                    break
                waiting.append(question)
        return None

    def _times_run(self, params: Mapping[str, Scalar], kind: Kind) -> int:
        """Earlier runs of a configuration, where the next one comes out differently for them."""
        if not self.site.cluster.noise.between_runs:
            return 0
        key = self.space.key(params)
        return sum(record.key == key for record in self.records((kind,)))

    def confirm(self, repeats: int) -> Sequence[Ranked]:
        """As every sitting does where runs differ; without noise every run is the same and none is repeated."""
        return super().confirm(repeats if self.site.cluster.noise.between_runs else 0)

    def _confirm_once(self, params: Point, before: int) -> None:
        if self._begin(params, kind=Kind.CONFIRMATION, repeat=before) is None:
            self.trials.end_oldest()

    def try_all(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Simulate complete points on all slots, those that were not simulated before."""
        known = {record.key for record in self.records() if record.ranked}
        for point in points:
            if self.stopped or self.space.key(point) in known:
                continue
            if not self.simulator.free:
                self.trials.end_oldest()
            if self._begin(point, kind=kind) is None:
                known.add(self.space.key(point))
        while self.trials.under_way:
            self.trials.end_oldest()

    def _begin(
        self, params: Mapping[str, Scalar], *, kind: Kind | None = None, repeat: int = 0, rung: Rung = FULL
    ) -> TrialRecord | None:
        """Begin a trial; its record where it ended at once."""
        new = started(self.study, params, kind or KINDS[rung.fidelity], self.space.key(params))
        return self.trials.begin(new, rung=rung, repeat=repeat)

    def begin(self, record: TrialRecord) -> int:
        """Commit that a trial runs, and return its number."""
        return self.bench.store.begin(record)

    def _named(self, plan: TrialPlan, record: TrialRecord) -> str:
        return label(plan, varying_label(record.params, self.space.varying))

    def commit(self, record: TrialRecord) -> TrialRecord:
        """As every sitting does; HPL's time passes on the virtual clock."""
        self.meter.clock.sleep(record.cost_s or 0.0)
        return super().commit(record)

    def learn(self, record: TrialRecord) -> None:
        """Take a search trial of an earlier session into account."""
        self.meter.charge(record.cost_s or 0.0, trial=counts(record))
        self._earlier.append(record)
        self._runs_again(record)
        self._learn(record)

    def _learn(self, record: TrialRecord) -> None:
        self._failed = self._failed + 1 if record.state is TrialState.FAILED else 0
        cost_s = record.cost_s or 0.0
        if self._note_best(record):
            self.expected_s = max(self.expected_s or 0.0, cost_s)
        elif record.ranked:
            self._guessed_s = max(self._guessed_s, cost_s / rung_of(record).operations)
