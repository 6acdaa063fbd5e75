"""The files of one run: a folder that can be understood with ls."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LAST = 4096
"""Characters at the end of an output that may say why a run failed."""


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


@dataclass(frozen=True)
class RunPaths:
    """Names inside a run's folder."""

    directory: Path

    @property
    def hpl_dat(self) -> Path:
        """The input file, where HPL looks for it."""
        return self.directory / "HPL.dat"

    @property
    def command(self) -> Path:
        """The command line, to be pasted into a shell in this folder."""
        return self.directory / "command"

    @property
    def stdout(self) -> Path:
        """Standard output of all ranks."""
        return self.directory / "stdout"

    @property
    def stderr(self) -> Path:
        """Standard error of all ranks and of the launcher."""
        return self.directory / "stderr"

    def write_command(self, argv: Sequence[str]) -> None:
        """Keep the command line, quoted for a shell."""
        self.command.write_text(shlex.join(argv) + "\n", encoding="utf-8")

    def read_command(self) -> str:
        """The command line; "" before the launch."""
        return _read(self.command).rstrip("\n")

    def read_stdout(self) -> str:
        """Standard output so far."""
        return _read(self.stdout)

    def last_words(self) -> str:
        """The end of the standard output, where Hydra complains, and all of the standard error."""
        return f"{self.read_stdout()[-LAST:]}\n{self.read_stderr()}"

    def read_stderr(self) -> str:
        """Standard error so far."""
        return _read(self.stderr)
