"""`hpltune tune --cluster`: a study whose trials are simulated and whose clock is the simulator's."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from results.record import SIMULATOR, Invalidity, Kind, TrialRecord, TrialState
from results.statistics import Ranked, rank
from results.store import Store
from runners.errors import RunnerError
from search_spaces.dimension import Point
from search_spaces.space import SearchSpace

from ..budget import Meter
from ..engines.base import Engine
from ..engines.fidelity import FULL, Fidelity, Ladder, Question, Rung
from ..events import Listener, PhaseStarted, TrialEnded, TrialProgress, TrialStarted
from ..judge import Fault
from ..ladder import outcome_of, rung_of, small_n
from ..loop import FINALISTS, counts, how_it_ended, pass_on, retell
from ..objective import Objective
from ..plan import PlanError, Scalar, label
from ..slot import KINDS
from ..stopping import StopRequest
from ..trials import finished, rejected, started
from .plan import VirtualPlan, virtual_plan
from .simulator import Simulator
from .site import VirtualSite

MOST_FAILURES = 20
"""Simulations that may fail one after the other where only time is limited."""
Waiting = deque[tuple[TrialRecord, Question]]
"""Trials under way, with what was asked, oldest first."""


@dataclass
class VirtualStudy:
    """One session of a study on a virtual cluster.

    Attributes:
        runs: folder below which each trial gets its own.
    """

    store: Store
    name: str
    space: SearchSpace
    site: VirtualSite
    simulator: Simulator
    meter: Meter
    listener: Listener
    stop: StopRequest
    runs: Path
    objective: Objective
    ladder: Ladder = (FULL,)
    best_gflops: float | None = None
    expected_s: float = 0.0
    _earlier: list[TrialRecord] = field(default_factory=list)
    _guessed_s: float = 0.0
    _full_asked: bool = False
    _failed: int = 0

    def worth(self, point: Point) -> float:
        """What a GFLOPS of a configuration is worth by the study's objective."""
        return self.objective.worth(self.space.complete(point), 1.0)

    def search(self, engine: Engine, repeats: int, to_confirm: int = 0) -> str:
        """Ask, simulate on all slots, tell in the order of asking, until budget, engine or user end it.

        Telling in that order makes a study depend on its seed and its slots only, not on which simulation was faster.

        Args:
            to_confirm: further runs of each finalist that the budget must still have room for.

        Returns:
            The sentence why it ended.
        """
        self.listener(PhaseStarted("search", self.meter.budget.trials))
        retell(engine, self._earlier, self.objective)
        waiting: Waiting = deque()
        reason: str | None = None
        reserved = FINALISTS * to_confirm if self.site.cluster.noise.between_runs else 0
        while reason is None or waiting:
            if reason is None:
                reason = self._hopeless() or self._fill(engine, repeats, reserved, waiting)
            if waiting:
                begun, question = waiting.popleft()
                record = self._end(begun)
                engine.tell(question.params, self.objective.outcome(record.params, outcome_of(record)))
        return how_it_ended(reason, engine)

    def _hopeless(self) -> str | None:
        """The sentence why nothing more is tried where only time is limited and none of it passes, or None."""
        if self._failed < MOST_FAILURES or self.meter.budget.trials is not None:
            return None
        return f"the last {self._failed} simulations failed, and that takes no time of the budget"

    def _fill(self, engine: Engine, repeats: int, reserved: int, waiting: Waiting) -> str | None:
        """Start what the engine asks for until all slots are busy; the sentence why nothing more is asked, or None."""
        while len(waiting) < self.simulator.slots:
            running = len(waiting)
            refused = "stopped on request" if self.stop.requested else self.meter.out_of_trials(running)
            if refused:
                return refused
            full_s = self.expected_s or self._guessed_s
            over = self.meter.out_of_time(full_s, running + repeats + reserved)
            if over and self._full_asked:
                return over
            last = self.meter.last(full_s, running + repeats + reserved, running)
            question = engine.choose((FULL,) if last else self.ladder)
            pass_on(engine, self.listener)
            if question is None:
                return None if waiting else "nothing is left that could be faster, as far as the engine can tell"
            self._full_asked |= question.rung == FULL
            params = self.space.complete(question.params)
            before = self._times_run(params, KINDS[question.rung.fidelity])
            for repeat in range(before, before + (repeats if question.rung == FULL else 1)):
                begun = self._begin(params, repeat=repeat, rung=question.rung)
                if begun.state is not TrialState.RUNNING:
                    engine.tell(question.params, self.objective.outcome(begun.params, outcome_of(begun)))
                    break
                waiting.append((begun, question))
        return None

    def _times_run(self, params: Mapping[str, Scalar], kind: Kind) -> int:
        """Earlier runs of a configuration, where the next one comes out differently for them."""
        if not self.site.cluster.noise.between_runs:
            return 0
        key = self.space.key(params)
        return sum(record.key == key for record in self.store.records(self.name, kinds=(kind,)))

    def confirm(self, repeats: int) -> Sequence[Ranked]:
        """Simulate the best again where runs differ; without noise every run is the same and none is repeated."""
        differ = self.site.cluster.noise.between_runs
        finalists = self.objective.finalists(self.ranking(), FINALISTS) if differ else []
        if finalists and repeats:
            self.listener(PhaseStarted("confirmation", len(finalists) * repeats))
        for turn in range(repeats):
            for finalist in finalists:
                if self.stop.requested or self.meter.out_of_time(self.expected_s):
                    break
                begun = self._begin(finalist.params, kind=Kind.CONFIRMATION, repeat=finalist.runs + turn)
                if begun.state is TrialState.RUNNING:
                    self._end(begun)
        return self.ranking()

    def try_all(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Simulate complete points on all slots, those that were not simulated before."""
        known = {record.key for record in self.store.records(self.name) if record.ranked}
        waiting: deque[TrialRecord] = deque()
        for point in points:
            if self.stop.requested or self.space.key(point) in known:
                continue
            if not self.simulator.free:
                self._end(waiting.popleft())
            begun = self._begin(point, kind=kind)
            if begun.state is TrialState.RUNNING:
                known.add(begun.key)
                waiting.append(begun)
        while waiting:
            self._end(waiting.popleft())

    def ranking(self) -> Sequence[Ranked]:
        """The study's configurations, best median first."""
        return self.objective.ranked(rank(self.store.records(self.name, kinds=(Kind.SEARCH, Kind.CONFIRMATION))))

    def _begin(
        self, params: Mapping[str, Scalar], *, kind: Kind | None = None, repeat: int = 0, rung: Rung = FULL
    ) -> TrialRecord:
        key, N = self.space.key(params), int(params["N"])
        wish = {**params, "N": small_n(N, rung.part)} if rung.fidelity is Fidelity.SMALL else params
        begun = started(self.name, params, kind or KINDS[rung.fidelity], key)
        begun = replace(begun, number=self.store.begin(begun), part=int(wish["N"]) / N)
        try:
            plan = virtual_plan(wish, self.site.cluster, key, repeat)
            self.listener(TrialStarted(begun.number, _label(plan), None))
            number = begun.number

            def on_fraction(fraction: float, elapsed_s: float) -> None:
                self.listener(TrialProgress(number, fraction, elapsed_s))

            self.simulator.start(plan, self._folder(begun), on_fraction)
        except PlanError as error:
            return self._commit(rejected(begun, Fault(Invalidity.CONSTRAINTS, str(error))))
        except RunnerError as error:
            return self._commit(rejected(begun, Fault(Invalidity.RUNTIME, str(error))))
        return begun

    def _end(self, begun: TrialRecord) -> TrialRecord:
        plan, measured = self.simulator.next_result(self.stop)
        record = finished(begun, plan.trial, measured, self._folder(begun))
        return self._commit(replace(record, versions={SIMULATOR: self.site.simulator}))

    def _folder(self, begun: TrialRecord) -> Path:
        return self.runs / self.name / f"{begun.number:05d}"

    def _commit(self, record: TrialRecord) -> TrialRecord:
        self.store.finish(record)
        cost_s = record.cost_s or 0.0
        self.meter.charge(cost_s, trial=counts(record))
        self.meter.clock.sleep(cost_s)
        self._note(record)
        self.listener(TrialEnded(record, self.best_gflops, self.meter.wall_s, self.meter.remaining_s()))
        return record

    def learn(self, record: TrialRecord) -> None:
        """Take a search trial of an earlier session into account."""
        self.meter.charge(record.cost_s or 0.0, trial=counts(record))
        self._earlier.append(record)
        self._note(record)

    def _note(self, record: TrialRecord) -> None:
        self._failed = self._failed + 1 if record.state is TrialState.FAILED else 0
        if record.ranked and record.kind is not Kind.SMALL:
            self.best_gflops = max(self.best_gflops or 0.0, record.gflops or 0.0)
            self.expected_s = max(self.expected_s, record.cost_s or 0.0)
        elif record.ranked:
            self._guessed_s = max(self._guessed_s, (record.cost_s or 0.0) / rung_of(record).operations)


def _label(plan: VirtualPlan) -> str:
    """A configuration in one line, with the network's settings where they were chosen."""
    settings = plan.setup.settings
    chosen = {"mtu": settings.mtu, "rx_usecs": settings.throttle_us, "nics": settings.nics}
    net = "".join(f" {name}={value:g}" for name, value in chosen.items() if value is not None)
    return f"{label(plan.trial)}{net}"
