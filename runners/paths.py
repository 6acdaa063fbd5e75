"""The files of a run, in one folder."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class Tail:
    """A reader that returns each complete line of a file once; an incomplete line waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def lines(self) -> list[str]:
        """Return the lines completed since the last call; none while the file is missing."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError:
            return []
        self._at += len(new)
        *complete, self._rest = (self._rest + new).split(b"\n")
        return [line.decode("utf-8", errors="replace") for line in complete]


AGENT = "agent"
"""The file that starts the launcher's daemons on nodes."""
ORDER = "order"
"""The file with the node of each rank, for Open MPI 5."""
LAST = 4096
"""Characters at the end of the standard output that may say why a run failed."""


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


@dataclass(frozen=True)
class RunPaths:
    """The paths inside a run's folder."""

    directory: Path

    @property
    def hpl_dat(self) -> Path:
        """The input file, where HPL looks for it."""
        return self.directory / "HPL.dat"

    @property
    def command(self) -> Path:
        """The command line, for a shell in this folder."""
        return self.directory / "command"

    @property
    def stdout(self) -> Path:
        """Standard output of all ranks."""
        return self.directory / "stdout"

    @property
    def stderr(self) -> Path:
        """Standard error of all ranks and of the launcher."""
        return self.directory / "stderr"

    def write_command(self, argv: Sequence[str], order: Sequence[str]) -> None:
        """Write the command line, quoted for a shell, and the node of each rank where that is asked for."""
        self.command.write_text(shlex.join(argv) + "\n", encoding="utf-8")
        if order:
            (self.directory / ORDER).write_text("\n".join(order) + "\n", encoding="utf-8")

    def read_command(self) -> str:
        """Read the command line; "" before the launch."""
        return _read(self.command).rstrip("\n")

    def read_stdout(self) -> str:
        """Read the standard output so far."""
        return _read(self.stdout)

    def last_words(self) -> str:
        """Read the end of the standard output, where Hydra prints its errors, and all of the standard error."""
        return f"{self.read_stdout()[-LAST:]}\n{self.read_stderr()}"

    def read_stderr(self) -> str:
        """Read the standard error so far."""
        return _read(self.stderr)
