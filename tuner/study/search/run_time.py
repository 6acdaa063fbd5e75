"""How long the next full run will probably take, learnt from those that ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from results.record import TrialRecord

from ...engines.fidelity import Rung
from ...trial.ladder import takes_s
from ...trial.time_limit import RAISED, TELLING
from ..kinds import is_compared


class RunTime(Protocol):
    """What a search knows of the time that its full runs take."""

    @property
    def full_s(self) -> float:
        """Seconds of a full run; 0 while nothing has told."""


@dataclass
class RunTimeEstimate:
    """The time of runs on a real machine.

    Attributes:
        expected_s: seconds the next full run will probably take; None while unknown.
        starting_s: what a launch takes beside HPL's own time.
    """

    expected_s: float | None = None
    starting_s: float = 0.0
    _outlasted: list[float] = field(default_factory=list, init=False)

    @property
    def full_s(self) -> float:
        """Seconds of a full run; 0 while nothing has told."""
        return self.expected_s or 0.0

    def should_take_s(self, rung: Rung) -> float | None:
        """Seconds that a launch of one run should take; None while no run has told."""
        if self.expected_s is None:
            return None
        starting_s = min(self.starting_s, self.expected_s)
        return takes_s(rung, self.expected_s - starting_s, starting_s)

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        if is_compared(record):
            cost_s = record.cost_s or 0.0
            known_s = None if self._outlasted else self.expected_s
            self.expected_s = cost_s if known_s is None else 0.5 * (known_s + cost_s)
            self._outlasted.clear()

    def raise_to(self, cost_s: float, fits: Callable[[float], bool]) -> bool | None:
        """Expect the next run to take at least as long as one that was ended, while none in full came to its end.

        The estimate may be wrong, or the configuration: after RAISED such runs, and where the budget has no room for
        longer ones, it is taken to be the latter.

        Args:
            cost_s: after which it was ended; what was begun before the estimate was last raised tells nothing.
            fits: whether the budget has room for a run of so many seconds.

        Returns:
            Whether it expects longer runs now; None where the run tells nothing.
        """
        if self.expected_s is None or cost_s < TELLING * self.expected_s or len(self._outlasted) > RAISED:
            return None
        self._outlasted.append(self.expected_s)
        raised = len(self._outlasted) <= RAISED and fits(cost_s)
        self.expected_s = cost_s if raised else self._outlasted[0]
        return raised
