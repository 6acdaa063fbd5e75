"""The simulator as the scheduler sees it: several trials at a time, told in the order in which they were asked."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from results.record import TrialRecord

from ..engines.fidelity import FULL, Question, Rung
from ..study.search.workers import Batch, Ended

Begin = Callable[[Question, int], TrialRecord | None]
"""Begins to simulate a question; the number says how often its batch did so. Returns the record if it ended at once."""


class ToldTrials(Protocol):
    """Trials that no machine runs: they begin, and end in the order in which they began."""

    @property
    def jobs(self) -> int:
        """How many may be under way at a time."""
        ...

    @property
    def under_way(self) -> int:
        """How many have begun and not ended."""
        ...

    def begin(self, record: TrialRecord, *, rung: Rung = FULL, repeat: int = 0) -> TrialRecord | None:
        """Begin a trial that ran so often before; its record where it ended at once because it cannot run."""
        ...

    def end_oldest(self) -> TrialRecord:
        """Wait for the trial that began first, and commit what came of it."""
        ...


@dataclass
class SimulatedWorkers:
    """Begins trials in the thread of the scheduler and ends the oldest first.

    So a study depends on its seed and the number of simulations at a time only, not on which of them was faster.
    """

    trials: ToldTrials
    begin: Begin
    share_launches: bool = field(default=False, init=False)
    _asked: deque[Question] = field(default_factory=deque, init=False)

    @property
    def free(self) -> bool:
        """Whether another simulation may start."""
        return len(self._asked) < self.trials.jobs

    @property
    def under_way(self) -> Batch:
        """What is simulated now, oldest first, for each repeat once."""
        return tuple(self._asked)

    def submit(self, batch: Batch, repeats: int) -> Sequence[Ended]:
        """Begin all repeats of a question; what cannot run ends at once and is not repeated."""
        (question,) = batch
        for repeat in range(repeats if question.rung == FULL else 1):
            ended = self.begin(question, repeat)
            if ended is not None:
                return [(batch, [ended])]
            self._asked.append(question)
        return ()

    def wait(self) -> Sequence[Ended]:
        """Wait for the simulation that began first."""
        if not self._asked:
            return ()
        question = self._asked.popleft()
        return [([question], [self.trials.end_oldest()])]

    def __enter__(self) -> Self:
        """Begin to work."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave what still runs to whoever closes the simulator."""
