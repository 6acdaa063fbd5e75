"""Programs that hpltune builds from a source of HPL, one for each MPI and BLAS."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..blas.catalogue import BlasLibrary
from ..build.programs import Recipe, build, build_calibrator
from ..build.source import HplSource, SourceError
from ..build.toolchain import BuildError, Mpi, OnStep
from ..search_paths import SearchPaths
from .family import HplProgram, ReadyProgram


@dataclass(frozen=True)
class SourceProgram(HplProgram):
    """A program that is built.

    Attributes:
        origin: a phrase that says from where its source comes.
        source: None until it was obtained.
    """

    built: ClassVar[bool] = True
    takes_blas: ClassVar[bool] = True
    prints_at_once: ClassVar[bool] = True
    stops_at_column: ClassVar[bool] = True
    origin: ClassVar[str]

    source: HplSource | None = None

    @classmethod
    @abstractmethod
    def fetched(cls, folder: Path) -> Path:
        """Download the archive of its source into a folder.

        Raises:
            OSError, hpl.errors.HplError: it cannot be had.
        """

    @classmethod
    @abstractmethod
    def source_in(cls, top: Path, origin: str) -> HplSource | None:
        """Recognise its source in this folder; None where the folder holds none."""

    @property
    def description(self) -> str:
        """Version and origin of its source."""
        source = self._obtained()
        return f"{source.version} ({source.origin})"

    def ready(
        self, mpi: Mpi, library: BlasLibrary | None, search: SearchPaths, on_step: OnStep | None = None
    ) -> ReadyProgram:
        """Build it, or take it from the cache."""
        program = build(self._recipe(mpi, library), search, on_step)
        return ReadyProgram(program.path, program.key)

    def calibrator(self, mpi: Mpi, library: BlasLibrary | None, search: SearchPaths) -> ReadyProgram | None:
        """Build the program that times HPL's routines with this BLAS, or take it from the cache."""
        program = build_calibrator(self._recipe(mpi, library), search)
        return ReadyProgram(program.path, program.key)

    def _recipe(self, mpi: Mpi, library: BlasLibrary | None) -> Recipe:
        if library is None:
            raise BuildError(f"{self.name} is built with a BLAS, and none was named")
        return Recipe(self._obtained(), mpi, library)

    def _obtained(self) -> HplSource:
        if self.source is None:
            raise SourceError(f"the source of {self.name} was not obtained")
        return self.source
