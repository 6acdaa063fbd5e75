"""Programs that are there already: those of families that hpltune knows, and any xhpl of the user's."""

import mmap
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from ..blas.catalogue import BlasLibrary
from ..build.link import linked_mpi, loads_mpi
from ..build.programs import witness_library
from ..build.toolchain import Mpi, OnStep
from ..search_paths import SearchPaths
from .family import HplProgram, ReadyProgram, UserProgramError

OTHERS = {"mxp": "HPL-MxP", "hpl-ai": "HPL-AI", "hpl_ai": "HPL-AI"}
"""Benchmarks whose programs are told from HPL's by their names, where no family knows them."""
MOST_OF_SCRIPT = 100_000
"""Bytes of a script that are read."""
MARKS = (b"HPL.dat", b"HPLinpack")
"""Words of which a program of HPL has one."""
HPL_WORDS = re.compile("hpl|linpack", re.IGNORECASE)
PATHS = re.compile(r"""[^\s"';|&()<>]*[/$][^\s"';|&()<>]*""")
"""Words of a script that may name a program."""
ARGUMENTS = re.compile(r"\$\{?[@*?#!$0-9]\}?")
"""Words of a shell that name none."""


@dataclass(frozen=True)
class ProgramFile(HplProgram):
    """An executable with a BLAS of its own; the witness is preloaded into it, so that its ranks tell what they run.

    Attributes:
        in_image: the file is not on this machine, but in the image in which ranks run.
    """

    file: Path
    in_image: bool = False

    @property
    def description(self) -> str:
        """Whose it is, and its path."""
        return f"{self.file} of the image" if self.in_image else f"the user's {self.file}"

    @property
    def files(self) -> tuple[Path, ...]:
        """The executable, unless it is in an image."""
        return () if self.in_image else (self.file,)

    def linked_mpi(self) -> str | None:
        """Return the MPI library that it is linked with, where the loader tells it."""
        return None if self.in_image else linked_mpi(self.file)

    def ready(
        self,
        mpi: Mpi,
        library: BlasLibrary | None,  # noqa: ARG002 - it brings its own
        search: SearchPaths,
        on_step: OnStep | None = None,  # noqa: ARG002 - there is nothing to build
    ) -> ReadyProgram:
        """Return the file, with the witness where that can be compiled."""
        witness = witness_library(mpi, search)
        return ReadyProgram(self.file, environment={"LD_PRELOAD": str(witness)} if witness else {})


def holds(file: Path, *marks: bytes) -> bool:
    """Return whether a file holds all of these bytes anywhere; one that cannot be read holds none."""
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return all(content.find(mark) >= 0 for mark in marks)
    except (OSError, ValueError):  # mmap refuses an empty file
        return False


def beginning(file: Path) -> str:
    """Return the beginning of a file as text, as of a script; "" where it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_OF_SCRIPT).decode("utf-8", errors="replace")
    except OSError:
        return ""


@dataclass(frozen=True)
class YourXhpl(ProgramFile):
    """An xhpl of the user's, of which hpltune knows nothing more."""

    name: ClassVar[str] = "xhpl"

    @classmethod
    def recognised(cls, file: Path) -> Self | None:
        """Take any file that may be one: it is asked last.

        Raises:
            UserProgramError: it has the name of another benchmark, or nothing in it speaks of HPL.
        """
        other = next((benchmark for name, benchmark in OTHERS.items() if name in file.name.lower()), None)
        if other is not None:
            sentence = (
                f"this has the name of {other}, another benchmark, and is no program of it that hpltune can start: "
                "name NVIDIA's hpl-mxp.sh, AMD's run_rochplmxp, or a program of HPL"
            )
            raise UserProgramError(sentence, field="xhpl", given=file)
        if file.is_file() and (lack := _lack(file)):
            raise UserProgramError(f"this is no program of HPL: {lack}", field="xhpl", given=file)
        return cls(file)


def _lack(file: Path) -> str | None:
    """Return the sentence why a file cannot be a program of HPL, or None where it may be one."""
    text = beginning(file)
    if text.startswith("\x7fELF"):
        if any(holds(file, mark) for mark in MARKS) or loads_mpi(file):
            return None
        return "it holds neither the word HPL.dat nor HPLinpack, and is linked with no MPI library"
    if HPL_WORDS.search(file.name) or HPL_WORDS.search(text):
        return None
    words = (word for line in text.splitlines()[1:] for word in PATHS.findall(line))
    started = [word for word in words if not ARGUMENTS.fullmatch(word)]
    if any("$" in word or not Path(word).is_file() or _lack(Path(word)) is None for word in started):
        return None
    return "it is a script that names none"
