"""Tells the workers regularly that hpltune is alive."""

import contextlib
import threading

from .spool import Spool

_BEATS_PER_LEASE = 5


class Keeper:
    """A thread that writes beats into spools until they are dropped; it dies with this process, and the leases end."""

    def __init__(self, lease_s: float) -> None:
        self._pause_s = lease_s / _BEATS_PER_LEASE
        self._spools: set[Spool] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, spool: Spool) -> None:
        """Start to write beats into a spool."""
        with self._lock:
            self._spools.add(spool)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hpltune-lease", daemon=True)
            self._thread.start()

    def drop(self, spool: Spool) -> None:
        """Stop to write beats into a spool."""
        with self._lock:
            self._spools.discard(spool)

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=self._pause_s)

    def _run(self) -> None:
        while not self._stop.wait(self._pause_s):
            with self._lock:
                spools = tuple(self._spools)
            for spool in spools:
                with contextlib.suppress(OSError):  # the next beat may succeed; if none does, the lease ends
                    spool.beat()
