"""The folder for messages between hpltune and the worker on the first node; `worker.sh` is the other side."""

import os
import shlex
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

WORKER = "worker.sh"
RUN, STOP, LEAVE, WAIT = "run", "stop", "leave", "wait"
_CENTI = 100


@dataclass(frozen=True)
class WorkerReport:
    """The worker's report of a trial.

    Attributes:
        why: the way it ended: "exited", "cancelled", "timeout" or "lease"; None while it runs.
        exit_code: exit code of the launcher.
    """

    started: bool
    why: str | None = None
    exit_code: int | None = None

    @property
    def failed(self) -> bool:
        """Whether the launcher ended by itself and with an error."""
        return self.why == "exited" and self.exit_code != 0


class Spool:
    """The folder of an allocation.

    A file is made before the worker needs it, and rewritten in place: over NFS a new name appears late, but opening a
    known file always shows its current content.
    """

    def __init__(self, folder: Path, end_steps: str, lease_s: float, *, once: bool) -> None:
        """Make the folder and put the worker into it.

        Args:
            end_steps: `BatchSystem.end_steps`, which stands before the worker's own text.
            once: whether the worker leaves after one trial.

        Raises:
            OSError: the folder cannot be made.
        """
        folder.mkdir(mode=0o700, parents=True)
        self.folder = folder
        self._beat = 0
        self._orders = ("0", WAIT, "none", 0)
        self._lock = threading.Lock()
        worker = files(__package__).joinpath(WORKER).read_text(encoding="utf-8")
        (folder / WORKER).write_text(f"#!/bin/sh\n{end_steps}\n{worker}", encoding="utf-8")
        self.script = (str(folder / WORKER), str(folder), str(round(lease_s * _CENTI)), "1" if once else "0")
        self.beat()

    @property
    def log(self) -> Path:
        """The file for the output of the worker and the batch system outside of trials."""
        return self.folder / "worker.log"

    def beat(self) -> None:
        """Tell the worker that hpltune is alive.

        Raises:
            OSError: the file cannot be written.
        """
        with self._lock:
            self._beat += 1
            number, verb, mark, limit = self._orders
            line = f"{self._beat:012d} {number:>6} {verb:<5} {mark:<32} {limit:<12d} .\n"
            orders = os.open(self.folder / "orders", os.O_WRONLY | os.O_CREAT, 0o600)
            with os.fdopen(orders, "wb", buffering=0) as file:  # which leaves the file as long as it is
                file.write(line.encode("ascii"))

    def hand_over(self, number: int, mark: str, walltime_s: float, folder: Path, argv: Sequence[str]) -> None:
        """Give the worker a trial to run.

        Args:
            mark: the mark that all its processes carry in their environment.
            argv: the command as tokens; the worker's shell reads them, quoted by `shlex.join`.
        """
        (self.folder / f"{number}.status").touch()
        (self.folder / f"{number}.trial").write_bytes(os.fsencode(shlex.join(["set", "--", str(folder), *argv]) + "\n"))
        self._order(number, RUN, mark, walltime_s)

    def stop(self, number: int, mark: str) -> None:
        """Order the worker to end a trial or never to begin it; the report tells when that is done."""
        self._order(number, STOP, mark, 0)

    def leave(self) -> None:
        """Order the worker to end its trial and to leave."""
        number, _, mark, _ = self._orders
        self._order(int(number), LEAVE, mark, 0)

    def report(self, number: int, *, over: bool = False) -> WorkerReport:
        """Read the worker's report of a trial so far.

        Args:
            over: whether the job is: then nothing is left of a trial for which the worker ended the job.
        """
        try:
            *lines, _ = (self.folder / f"{number}.status").read_text(encoding="ascii").split("\n")
        except OSError:
            return WorkerReport(started=False)
        words = lines[-1].split() if lines else []
        if len(words) == 3 and words[0] in (("ended", "left") if over else ("ended",)):
            return WorkerReport(started=True, why=words[1], exit_code=int(words[2]))
        return WorkerReport(started=bool(words))

    def said(self) -> str:
        """Read the output of the worker and the batch system."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def remove(self) -> None:
        """Remove the folder after the job has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _order(self, number: int, verb: str, mark: str, limit_s: float) -> None:
        self._orders = (str(number), verb, mark, round(limit_s * _CENTI))
        self.beat()
