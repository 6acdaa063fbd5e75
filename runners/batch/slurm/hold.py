"""Holds nodes: `salloc` keeps them for as long as a program runs here that ends with our end of a pipe.

So nothing stays allocated when this process dies, however it dies.
"""

import queue
import time
from collections.abc import Callable
from contextlib import suppress

from ...errors import RunnerError, SubmitError
from ...hosts.hearing import LineProcess
from ..base import JobPhase, in_words
from ..registry import outside
from .client import KEPT
from .options import SlurmTable
from .submit import refusal, salloc_command

JOB = "hpltune-job"
_KEEP = f'printf "{JOB} %s\\n" "$SLURM_JOB_ID"; exec cat >/dev/null'
_WATCHED = """
exec 3<&0
(
    cat <&3
    sleep 3
    [ "$(cat /proc/$$/comm)" = salloc ] && kill "$$"
) >/dev/null 2>&1 &
exec "$@" 3<&-
"""
"""Ends a salloc that still waits for nodes after our end of the pipe has gone; one that has nodes ends by itself.

The pipe is descriptor 3, because a shell gives programs in the background no input.
"""
LOOK_S, HEAR_S, END_S = 5.0, 0.2, 15.0
"""Seconds between two questions why a job waits, between two looks at salloc, and that salloc has to end."""


class Salloc:
    """A running salloc, which waits for nodes or holds them.

    Raises:
        SubmitError: it cannot be started.
    """

    def __init__(self, table: SlurmTable, cores: int, time_s: float) -> None:
        self._table = table
        self._cores = cores
        self._time_s = time_s
        self._said: list[str] = []
        self._job: str | None = None
        self._why = ""
        argv = ("sh", "-c", _WATCHED, "sh", *salloc_command(table, cores, time_s, ("sh", "-c", _KEEP)))
        try:
            self._program = LineProcess(argv, outside(KEPT))
        except OSError as error:
            raise SubmitError(f"cannot start salloc: {error.strerror}", transient=False) from error

    def wait(self, waiting: Callable[[str], None], stopped: Callable[[], bool]) -> str | None:
        """Wait until the nodes are there, and return the number of the job; None if somebody stopped the wait for it.

        Args:
            waiting: is told why the nodes are not there yet, each reason once.
            stopped: whether nobody wants them any more.

        Raises:
            InvalidJobError, SubmitError: Slurm does not give them.
        """
        began_s = looked_s = time.monotonic()
        while not stopped():
            now_s = time.monotonic()
            if self._granted():
                return self._job
            if self._job is not None and now_s - looked_s > LOOK_S:
                looked_s = now_s
                self._look(self._job, waiting)
            if now_s - began_s > self._table.queue_limit_s:
                limit = in_words(self._table.queue_limit_s)
                raise SubmitError(
                    f"{self._why or 'Slurm gave no nodes'}; it was given up after {limit} in the queue", transient=True
                )
        return None

    def close(self) -> None:
        """Give the nodes back; what still runs on them is ended."""
        self._program.end_input()
        if self._job is not None:
            with suppress(RunnerError):
                self._table.cancel([self._job])
        elif self._program.process.poll() is None:
            self._program.process.terminate()
        self._program.wait(END_S)

    def _granted(self) -> bool:
        """Read what salloc says: a number when the job waits, our own line when the nodes are there, or a refusal."""
        try:
            line = self._program.next_line(HEAR_S)
        except queue.Empty:
            return False
        if line is None:
            raise refusal(self._table, self._cores, self._time_s, "\n".join(self._said), "salloc")
        self._said.append(line)
        words = line.split()
        if words[:4] == ["salloc:", "Pending", "job", "allocation"]:
            self._job = words[-1]
        elif words[:1] == [JOB]:
            self._job = words[-1]
            return True
        return False

    def _look(self, job: str, waiting: Callable[[str], None]) -> None:
        """Tell why the job waits, if that is new.

        Raises:
            SubmitError: it would wait for ever.
        """
        try:
            seen = self._table.status([job]).get(job)
        except SubmitError:
            return
        if seen is None or seen.phase is not JobPhase.WAITING:
            return
        if seen.never:
            raise SubmitError(f"Slurm job {job} will never start: {seen.never}", transient=False)
        if seen.sentence != self._why:
            self._why = seen.sentence
            waiting(self._why)
