"""The folder through which hpltune and the worker on the first node speak; `worker.sh` is the other side of it."""

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
    """What the worker says of a trial.

    Attributes:
        why: how it ended: "exited", "cancelled", "timeout" or "lease"; None while it runs.
        exit_code: of the launcher.
    """

    started: bool
    why: str | None = None
    exit_code: int | None = None

    @property
    def failed(self) -> bool:
        """Whether the launcher ended by itself with an error."""
        return self.why == "exited" and self.exit_code != 0


class Spool:
    """One allocation's folder.

    Files are made before the worker hears of them and rewritten in place: over NFS a new name is seen late, but what is
    in a known file is fresh at each opening.
    """

    def __init__(self, folder: Path, lease_s: float, *, once: bool) -> None:
        """Make the folder with the worker in it.

        Raises:
            OSError: it cannot be made.
        """
        folder.mkdir(mode=0o700, parents=True)
        self.folder = folder
        self._beat = 0
        self._orders = ("0", WAIT, "none", 0)
        self._lock = threading.Lock()
        (folder / WORKER).write_bytes(files(__package__).joinpath(WORKER).read_bytes())
        self.script = (str(folder / WORKER), str(folder), str(round(lease_s * _CENTI)), "1" if once else "0")
        self.beat()

    @property
    def log(self) -> Path:
        """What the worker and Slurm print outside of trials."""
        return self.folder / "worker.log"

    def beat(self) -> None:
        """Tell the worker that hpltune is there.

        Raises:
            OSError: the file system does not take it.
        """
        with self._lock:
            self._beat += 1
            number, verb, mark, limit = self._orders
            line = f"{self._beat:012d} {number:>6} {verb:<5} {mark:<32} {limit:<12d} .\n"
            descriptor = os.open(self.folder / "orders", os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line.encode("ascii"))
            finally:
                os.close(descriptor)

    def hand_over(self, number: int, mark: str, walltime_s: float, folder: Path, argv: Sequence[str]) -> None:
        """Have a trial run.

        Args:
            mark: what all its processes carry in their environment.
            argv: tokens; the worker's shell reads them through `shlex.join`, nothing else is in its file.
        """
        (self.folder / f"{number}.status").touch()
        text = shlex.join(["set", "--", str(folder), *argv]) + "\n"
        (self.folder / f"{number}.trial").write_bytes(os.fsencode(text))
        self._order(number, RUN, mark, walltime_s)

    def stop(self, number: int, mark: str) -> None:
        """Have a trial ended, or never begun; the report says when that is done."""
        self._order(number, STOP, mark, 0)

    def leave(self) -> None:
        """Have the worker end what it runs and leave."""
        number, _, mark, _ = self._orders
        self._order(int(number), LEAVE, mark, 0)

    def report(self, number: int) -> WorkerReport:
        """What the worker has said of a trial so far."""
        try:
            *lines, _ = (self.folder / f"{number}.status").read_text(encoding="ascii").split("\n")
        except OSError:
            return WorkerReport(started=False)
        words = lines[-1].split() if lines else []
        if len(words) == 3 and words[0] == "ended":
            return WorkerReport(started=True, why=words[1], exit_code=int(words[2]))
        return WorkerReport(started=bool(words))

    def said(self) -> str:
        """What the worker and Slurm have printed."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def remove(self) -> None:
        """Take the folder away; nothing of the job runs any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _order(self, number: int, verb: str, mark: str, limit_s: float) -> None:
        self._orders = (str(number), verb, mark, round(limit_s * _CENTI))
        self.beat()
