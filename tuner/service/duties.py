"""What a service does besides answering: each duty has a thread, takes turn after turn, and outlives its errors."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from results.errors import ResultsError

LOGGER = logging.getLogger("hpltune.duties")
STUCK_S = 90.0
"""Seconds without the end of a turn after which a duty counts as stuck; a turn may wait a minute for a database."""


@dataclass
class Duty:
    """One thing that is done in turns until it is closed.

    Attributes:
        name: of what does it, in sentences.
        turn: does a little, and tells whether there is more to do now.
        pause_s: seconds between two turns where there is no more.
        closing_s: most seconds that the end of the service waits for a turn that goes on; None for as long as it takes.
    """

    name: str
    turn: Callable[[], bool]
    pause_s: float
    closing_s: float | None = None
    _wake: threading.Event = field(default_factory=threading.Event, init=False)
    _closed: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _turned_s: float = field(default=0.0, init=False)

    def start(self) -> None:
        """Begin."""
        self._turned_s = monotonic()
        self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Do the next turn now."""
        self._wake.set()

    def close(self) -> None:
        """Begin no further turn, and wait for the end of the one that goes on."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self.closing_s)

    @property
    def stuck_s(self) -> float | None:
        """Seconds since its last turn, where these are too many; None where it goes on, or was never begun."""
        since_s = monotonic() - self._turned_s
        return since_s if self._thread is not None and since_s > STUCK_S else None

    def _work(self) -> None:
        failing = ""
        while not self._closed.is_set():
            more = False
            try:
                more = self.turn()
                failing = ""
            except Exception as error:
                if str(error) != failing:
                    failing = str(error)
                    expected = isinstance(error, ResultsError | OSError)
                    LOGGER.warning("%s cannot go on now: %s", self.name, failing, exc_info=None if expected else error)
            self._turned_s = monotonic()
            if not more:
                self._wake.wait(self.pause_s)
            self._wake.clear()


def stuck(duties: Sequence[Duty]) -> list[str]:
    """Say of each duty that does nothing any more."""
    silent = [(duty.name, duty.stuck_s) for duty in duties]
    return [f"{name} has done nothing for {since_s:.0f} s" for name, since_s in silent if since_s is not None]
