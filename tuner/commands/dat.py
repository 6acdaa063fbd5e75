"""`hpltune dat`: the configuration a careful person would write down, with the reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.sizing import cautions, memory_bytes, n_that_fits, process_grids
from results.report.model import Report, Sentence

from ..machine.inventory import Inventory, cores_told
from ..machine.problem_size import MEMORY_FRACTION, first_choice, full_memory_n, natural_nb, textbook
from ..options import TuneOptions
from ..trial.workbench import look_around
from ..units import gibibytes
from ..user_dirs import UserDirs
from ..user_files import write_text
from ..words import counted


@dataclass(frozen=True)
class DatRequest:
    """What the file is to hold; None where a sensible value is to be found.

    Attributes:
        memory_fraction: part of the free memory that the matrix takes.
    """

    memory_fraction: float = MEMORY_FRACTION
    N: int | None = None
    NB: int | None = None
    ranks: int | None = None
    blas_only: tuple[str, ...] = ()
    blas_files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class DatResult:
    """A configuration, and sentences why each value was taken and what speaks against it here."""

    params: HplParams
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """The file."""
        return render(HplDat.of(self.params))

    def report(self) -> Report:
        """The reasons; the facts hold the file, too."""
        facts = {**self.params.words(), "reasons": list(self.reasons), "HPL.dat": self.text}
        return Report("HPL.dat", tuple(Sentence(reason, unbroken=True) for reason in self.reasons), facts)

    def write(self, file: Path) -> None:
        """Write the file.

        Raises:
            TunerError: it cannot be written.
        """
        write_text(file, self.text)


def dat(request: DatRequest, user_dirs: UserDirs) -> DatResult:
    """Find a sensible configuration for this machine without measuring HPL.

    Raises:
        HplError, TunerError: MPI or a BLAS is missing.
    """
    options = TuneOptions(blas_only=request.blas_only, blas_files=request.blas_files)
    inventory = look_around(options, user_dirs, lambda _: None)
    params, reasons = sensible(request, inventory)
    return DatResult(params, (*reasons, *cautions(params), *beyond_here(params, inventory)))


def beyond_here(params: HplParams, inventory: Inventory) -> list[str]:
    """Why a configuration cannot run on this machine; it is written all the same, since it may be meant for another."""
    found = []
    needed, free, cores = (
        params.ranks * memory_bytes(params),
        inventory.host.memory_available_bytes,
        inventory.host.physical_cores,
    )
    if needed > free:
        largest = n_that_fits(params, free)
        found.append(
            f"Caution: N={params.N} needs {gibibytes(needed)}, but {gibibytes(free)} are free here: "
            + (f"the largest N that fits is {largest}." if largest else "no N fits with this NB and grid.")
        )
    if params.ranks > cores:
        found.append(
            f"Caution: {counted(params.ranks, 'rank')} are more than the {cores_told(inventory)} of this machine: "
            "the file is for a larger one."
        )
    return found


def sensible(request: DatRequest, inventory: Inventory) -> tuple[HplParams, list[str]]:
    """A configuration for this machine without measuring HPL, and a sentence for each choice."""
    choice = first_choice(inventory)
    blas, kernel = str(choice["blas"]), str(choice["kernel"])
    ranks = request.ranks or inventory.host.physical_cores
    P, Q = process_grids(ranks)[0]
    NB = request.NB or natural_nb(inventory, blas)
    N = request.N or full_memory_n(inventory, NB=NB, P=P, Q=Q, fraction=request.memory_fraction)
    free = gibibytes(inventory.host.memory_available_bytes)
    reasons = [
        f"BLAS {blas}, kernel {kernel}: the fastest dgemm found here.",
        f"{counted(ranks, 'rank')} on a {P}x{Q} grid: the squarest with P <= Q.",
        f"NB={NB}: " + ("as asked." if request.NB else f"the blocking natural for {blas}."),
        f"N={N}: " + ("as asked." if request.N else f"{request.memory_fraction:.0%} of the {free} that are free."),
    ]
    words = textbook(N=N, NB=NB, blas=blas, kernel=kernel, ranks=ranks, threads=1)
    return HplParams.from_words(words), reasons
