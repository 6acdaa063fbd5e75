"""Decides when to ask Slurm about a job: often at first and while it ends, seldom in between."""

import time
from dataclasses import dataclass, field

FIRST_PAUSE_S, LAST_PAUSE_S, ENDING_PAUSE_S = 0.1, 10.0, 1.0
"""Pauses between two questions to Slurm: short at first and while a job ends, otherwise long enough for any site."""


@dataclass
class Polling:
    """The questions to Slurm about one job; times are of this process's monotonic clock.

    Attributes:
        submitted_s: when the job was submitted.
        asked_s: when Slurm was last asked.
        answered_s: when Slurm answered last.
        pause_s: seconds until it is asked again.
    """

    submitted_s: float = field(default_factory=time.monotonic)
    asked_s: float = field(init=False)
    answered_s: float = field(init=False)
    pause_s: float = FIRST_PAUSE_S

    def __post_init__(self) -> None:
        self.asked_s = self.answered_s = self.submitted_s

    @property
    def due(self) -> bool:
        """Whether Slurm should be asked now."""
        return time.monotonic() >= self.asked_s + self.pause_s

    @property
    def silent(self) -> bool:
        """Whether Slurm did not answer the last question."""
        return self.answered_s < self.asked_s

    def soon(self) -> None:
        """Ask at the next opportunity."""
        self.pause_s = 0.0

    def answered(self) -> None:
        """Note that Slurm answered: the next pause is longer."""
        self.asked_s = self.answered_s = time.monotonic()
        self.pause_s = min(LAST_PAUSE_S, max(FIRST_PAUSE_S, 1.5 * self.pause_s))

    def unanswered(self) -> None:
        """Note that Slurm did not answer."""
        self.asked_s = time.monotonic()
        self.pause_s = LAST_PAUSE_S

    def watch_the_end(self) -> None:
        """Ask more often, because the job is neither waiting nor running any more."""
        self.pause_s = min(self.pause_s, ENDING_PAUSE_S)
