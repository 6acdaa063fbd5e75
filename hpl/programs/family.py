"""The contract of a family of programs that compute HPL. A new family is one file with a class, and one registry line.

An object of the class is a program of the family that a study runs. Nothing outside asks which family it is: what
differs is a field or a method here. What a program needs of the machine (its MPI, a BLAS, folders) is handed in.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from .. import output, variant
from ..blas.catalogue import BlasLibrary
from ..blas.registry import family
from ..build.link import libraries_of
from ..build.toolchain import Mpi, OnStep
from ..dat import HplDat, render
from ..errors import AskedError, HplError
from ..output import HplOutput
from ..params import HplParams, Scalar
from ..search_paths import SearchPaths
from ..witness import RankReport
from ..workload import HPL, Workload
from .terms import TAKES_ALL, NodeShape, Terms


@dataclass(frozen=True)
class ReadyProgram:
    """A program that can be started now.

    Attributes:
        key: identity of all it was built from; "" where nobody knows that.
        environment: variables that its ranks need besides those of the plan.
    """

    path: Path
    key: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AskedStart:
    """A launch that is planned.

    Attributes:
        runs: what its input asks for.
        threads: of each rank.
        node: the shape of each node.
        own: values of the program's own parameters, by their names in its terms.
    """

    runs: tuple[HplParams, ...]
    ranks: int
    threads: int
    nodes: int
    node: NodeShape
    own: Mapping[str, Scalar]

    @property
    def ranks_on_node(self) -> int:
        """How many ranks start on each node."""
        return max(1, self.ranks // self.nodes)


@dataclass(frozen=True)
class ProgramStart:
    """What a family adds to the command of a launch.

    Attributes:
        arguments: of the program.
        before: what stands before the program in the command of each rank.
        environment: variables of the ranks.
    """

    arguments: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


LOCAL_RANK = "${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}}"
"""A rank's number on its node, in the words of a shell: Open MPI's, MPICH's and Intel MPI's, Slurm's."""
GLOBAL_RANK = "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}"
"""A rank's number among all."""


def with_variable(name: str, value: str) -> tuple[str, ...]:
    """Return what stands before a program to give each rank a value of its own.

    Args:
        value: in the words of a shell, where LOCAL_RANK is the rank's number on its node.
    """
    return ("/bin/sh", "-c", f'export {name}={value}; exec "$0" "$@"')


@dataclass(frozen=True)
class AskedLibrary:
    """The BLAS that a run asked for; no `library` where the program brings its own."""

    blas: str
    kernel: str
    threads: int
    library: BlasLibrary | None


class UserProgramError(HplError, AskedError):
    """A program that the user named cannot be started as it is; the sentence says what to name in its place."""


class HplProgram(ABC):
    """A program that computes HPL, or another workload.

    Attributes:
        name: of its family; it stands where a BLAS would if the program brings its own.
        workload: what it computes; a study has programs of one workload only.
        terms: what it takes of a configuration.
        built: hpltune builds it for each MPI; else it is there.
        takes_blas: it runs with a BLAS of this machine; else it brings its own.
        gpus_of: the vendor of the GPUs that it computes on; "" where it computes on cores.
        prints_at_once: a run of it that prints nothing has not begun.
        runs_lists: one launch of it runs all combinations of the lists of HPL.dat.
        needs: what a user must have to run it, in words; "" where that is nothing.
        places: patterns of paths where it usually lies, with variables such as $MKLROOT; a bare name is on PATH.
        stops_at_column: it can be told to stop at a column of the matrix, so that a part of a run can be measured.
    """

    name: ClassVar[str]
    workload: ClassVar[Workload] = HPL
    terms: ClassVar[Terms] = TAKES_ALL
    built: ClassVar[bool] = False
    takes_blas: ClassVar[bool] = False
    gpus_of: ClassVar[str] = ""
    prints_at_once: ClassVar[bool] = False
    runs_lists: ClassVar[bool] = True
    stops_at_column: ClassVar[bool] = False
    needs: ClassVar[str] = ""
    places: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def recognised(cls, file: Path) -> Self | None:  # noqa: ARG003 - a family that is built recognises no file
        """Return the program of this family that a file is, or None.

        Raises:
            UserProgramError: the file belongs to the family and cannot be started as it is.
        """
        return None

    def stands_for(self, blas: str) -> str:
        """Return the name under which this BLAS runs: a program that brings its own stands in its place."""
        return blas if self.takes_blas else self.name

    @property
    @abstractmethod
    def description(self) -> str:
        """A phrase that says what it is and where it is from."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that every node must have."""
        return ()

    def linked_mpi(self) -> str | None:
        """Return the name of the one MPI library whose launcher starts it; None where any does, or nobody knows."""
        return None

    @abstractmethod
    def ready(
        self, mpi: Mpi, library: BlasLibrary | None, search: SearchPaths, on_step: OnStep | None = None
    ) -> ReadyProgram:
        """Return the program for this MPI and BLAS, built if it is not there yet.

        Raises:
            hpl.errors.HplError: it cannot be built.
        """

    def calibrator(
        self,
        mpi: Mpi,  # noqa: ARG002 - as all arguments, for families that can
        library: BlasLibrary | None,  # noqa: ARG002
        search: SearchPaths,  # noqa: ARG002
    ) -> ReadyProgram | None:
        """Return the program that times its routines; None where they are hidden.

        Raises:
            hpl.errors.HplError: it cannot be built.
        """
        return None

    def libraries(self, ready: ReadyProgram, mpi: Mpi, library: BlasLibrary | None) -> tuple[Path, ...]:
        """List the libraries that are copied with it to nodes without a shared folder; of its own BLAS nobody knows."""
        return () if library is None else libraries_of(ready.path, library, mpi.variables())

    def input_text(self, asked: AskedStart) -> str:
        """Write the file that it reads."""
        return render(HplDat.of(asked.runs[0]))

    def cautions(self, point: Mapping[str, Scalar]) -> Sequence[str]:  # noqa: ARG002 - for families that have some
        """Say what readers must know of the rates of points like this one, without full stops."""
        return ()

    def start(self, asked: AskedStart) -> ProgramStart:  # noqa: ARG002 - for families that need more than their file
        """Return what its command needs besides the file that it reads in the folder where it runs."""
        return ProgramStart()

    def parse(self, stdout: str) -> HplOutput:
        """Read what it prints, complete or not."""
        return output.parse(stdout)

    def unproven(
        self,
        asked: AskedLibrary,
        reports: Sequence[RankReport],
        found: HplOutput,  # noqa: ARG002 - for families whose output shows what ran
    ) -> str | None:
        """Return the sentence why nothing shows that it ran with the BLAS asked for; None where something does.

        Ranks say so through `native/witness.c`: it is linked into what we build and preloaded into other programs.
        """
        if asked.library is None:
            return None
        for report in reports:
            if sentence := _contradiction(asked, asked.library, report):
                return f"rank {report.rank} on {report.host}: {sentence}"
        return None if reports else "no rank reported which BLAS it loaded, so this result says nothing about a BLAS"


def netlibs_code(found: HplOutput) -> str | None:
    """Return the first code of a result as netlib's HPL prints it; None where another program printed all."""
    return next((result.code for result in found.results if variant.CODE.fullmatch(result.code)), None)


def _contradiction(asked: AskedLibrary, library: BlasLibrary, report: RankReport) -> str | None:
    if report.library != library.path:
        return f"asked for {asked.blas} ({library.path}), but the program loaded {report.library or 'no BLAS'}"
    if not family(library.family).asked_matches(asked.kernel, report.kernel):
        return f"asked {asked.blas} for kernel {asked.kernel}, but it runs {report.kernel}"
    if report.threads is not None and report.threads != asked.threads:
        return f"asked for {asked.threads} threads per rank, but {asked.blas} uses {report.threads}"
    return None
