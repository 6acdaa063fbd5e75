"""Trials on a virtual cluster, several at a time: each is begun, simulated and recorded as a real one is."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from results.record import SIMULATOR, TrialRecord
from runners.virtual.cluster import VirtualCluster

from ..engines.fidelity import FULL, Rung
from ..events import Listener, TrialProgress, TrialStarted
from ..stopping import StopRequest
from ..trial.judge import Failure
from ..trial.ladder import at_rung, part_at
from ..trial.pipeline import Planned, TrialBook, begin, launched, planned, records_of
from ..trial.plan import TrialPlan, label
from ..trial.records import rejected
from .plan import VirtualPlan, virtual_plan
from .simulator import Simulator


@dataclass(frozen=True)
class SimulatedTrials:
    """Begins trials on one simulator and ends them in the order in which they began.

    Attributes:
        named: tells a plan from others in one line.
    """

    simulator: Simulator
    book: TrialBook
    listener: Listener
    stop: StopRequest
    named: Callable[[TrialPlan, TrialRecord], str] = lambda plan, _: label(plan)
    _under_way: deque[Planned[VirtualPlan]] = field(default_factory=deque)

    @property
    def jobs(self) -> int:
        """How many may be under way at a time."""
        return self.simulator.jobs

    @property
    def under_way(self) -> int:
        """How many have begun and not ended."""
        return len(self._under_way)

    def begin(
        self,
        record: TrialRecord,
        *,
        rung: Rung = FULL,
        repeat: int = 0,
        cluster: VirtualCluster | None = None,
        order: tuple[int, ...] = (),
    ) -> TrialRecord | None:
        """Commit that a trial runs, and start its simulation.

        Args:
            record: a new one, with a complete point.
            rung: how much of a full run it is.
            repeat: how often the same ran before: the noise of the run follows from it.
            cluster: a variant of the simulator's cluster; None for that itself.
            order: as `virtual_plan` takes it.

        Returns:
            The record where it ended at once because it cannot run, else None.
        """
        site = self.simulator.site
        wish = at_rung(record.params, rung)
        plan = planned(lambda: virtual_plan(wish, cluster or site.cluster, record.key, repeat, order))
        new = replace(record, part=part_at(record.params, rung), versions={SIMULATOR: site.simulator})
        trial = begin(self.book, new, plan)
        if isinstance(trial, TrialRecord):
            return trial
        self.listener(TrialStarted(trial.begun.number, self.named(trial.plan, trial.begun), None))
        started = launched(lambda: self._start(trial))
        if isinstance(started, Failure):
            return self.book.commit(rejected(trial.begun, started))
        self._under_way.append(trial)
        return None

    def _start(self, trial: Planned[VirtualPlan]) -> None:
        number = trial.begun.number

        def on_fraction(fraction: float, elapsed_s: float) -> None:
            self.listener(TrialProgress(number, fraction, elapsed_s))

        self.simulator.start(trial.plan, self.book.folder(number), on_fraction)

    def end_oldest(self) -> TrialRecord:
        """Wait for the trial that began first, and commit what came of it."""
        trial = self._under_way.popleft()
        result = self.simulator.next_result(self.stop)
        (record,) = records_of([trial], trial.plan, result, self.book.folder(trial.begun.number))
        return self.book.commit(record)

    def run(self, record: TrialRecord, *, repeat: int = 0) -> TrialRecord:
        """Run one trial to its end; nothing else may be under way."""
        return self.begin(record, repeat=repeat) or self.end_oldest()
