"""Reads each source of power as often as it tells something new, in a thread of its own: one that hangs harms none."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from .contract import PowerSource, PowerSourceError
from .trace import EVERY_S, Trace

LAST_READING_S = 2.0
"""Seconds for which the end of a launch waits for a last reading."""


class Sampler:
    """Reads one source until it is stopped.

    Args:
        nodes: whose energy is asked for; none for this machine.

    Attributes:
        failure: why it was given up meanwhile; "" where it was not.
    """

    def __init__(
        self, source: PowerSource, nodes: Sequence[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.source, self.failure, self._nodes = source, "", tuple(nodes)
        self._trace, self._clock, self._stop = Trace(source.parts, source.period_s), clock, threading.Event()
        self._began_s: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"hpltune-{source.name}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read once more, and end."""
        self._stop.set()

    def join(self) -> None:
        """Wait for the end; a reading that does not come is not waited for."""
        self._thread.join(LAST_READING_S)

    @property
    def hangs(self) -> bool:
        """Whether a reading has not come; the source must not be read by another thread then."""
        return self._thread.is_alive()

    def energy_j(self, begin_s: float, end_s: float) -> float | None:
        """The energy of a solve; None where it is too short.

        Raises:
            PowerSourceError: the source did not tell it, or not the truth.
        """
        try:
            found = self._read_so_far().energy_j(begin_s, end_s, self._nodes)
        except PowerSourceError as error:
            raise PowerSourceError(self._why() or str(error)) from error
        if found is not None and self.failure:  # it failed within the launch: what it told before may be the same lie
            raise PowerSourceError(self.failure)
        return found

    def power_w(self, begin_s: float, end_s: float) -> tuple[Sequence[float], Sequence[float]]:
        """The power over the time of a solve whose energy could be told: seconds since its begin, and watts.

        Raises:
            PowerSourceError: as `energy_j`.
        """
        return self._read_so_far().power_w(begin_s, end_s, self._nodes)

    def _read_so_far(self) -> Trace:
        """The readings until now; the thread may go on to add some."""
        times, rows = list(self._trace.times_s), list(self._trace.rows)
        read = min(len(times), len(rows))
        return replace(self._trace, times_s=times[:read], rows=rows[:read])

    def _why(self) -> str:
        began_s = self._began_s
        if self.failure or not self.hangs or began_s is None:
            return self.failure
        return f"hangs: it has not answered for {self._clock() - began_s:.0f} s"

    def _run(self) -> None:
        with suppress(OSError):  # only as good as a thread may be: HPL comes first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        due_s, stopped = self._clock(), False
        while not stopped:
            stopped = self._stop.wait(max(0.0, due_s - self._clock()))
            self._began_s = began_s = self._clock()
            try:
                with self.source.lock:
                    row = self.source.read()
            except PowerSourceError as error:
                self.failure = str(error)
                return
            except Exception as error:  # noqa: BLE001 - a library or a program of others never ends a run of HPL
                self.failure = f"does not tell: {type(error).__name__}"
                return
            self._trace.add((began_s + self._clock()) / 2, row)
            due_s = max(due_s + max(EVERY_S, self.source.period_s), self._clock())
