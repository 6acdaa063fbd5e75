"""`hpltune dat`: the configuration a careful person would write down, with the reasons."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.sizing import cautions, memory_bytes, n_that_fits, process_grids
from results.report.model import Copied, Heading, Part, Report, Sentence

from ..asks.dat import DatAsk
from ..machine.inventory import Inventory, cores_told
from ..machine.problem_size import first_choice, full_memory_n, natural_nb, textbook
from ..options import TuneOptions, parse_blas
from ..trial.workbench import look_around
from ..units import gibibytes
from ..user_dirs import UserDirs
from ..user_files import write_text
from ..words import counted


@dataclass(frozen=True)
class DatResult:
    """A configuration, and sentences why each value was taken and what speaks against it.

    Attributes:
        commands: how it is started on the machine that was described; none for this one.
        facts: what else a script may want to know.
        note: what must be known to use the commands; "" for nothing.
    """

    params: HplParams
    reasons: tuple[str, ...]
    commands: tuple[str, ...] = ()
    facts: tuple[tuple[str, float | int | None], ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        """The file."""
        return render(HplDat.of(self.params))

    def report(self) -> Report:
        """The reasons; the facts hold the file, too."""
        facts = {**self.params.words(), **dict(self.facts), "reasons": list(self.reasons), "HPL.dat": self.text}
        if self.commands:
            facts["commands"] = list(self.commands)
        return Report("HPL.dat", tuple(self._parts()), facts)

    def _parts(self) -> Iterator[Part]:
        yield from (Sentence(reason) for reason in self.reasons)
        if self.commands:
            yield Heading("Start it with one of")
            yield from (Copied(command) for command in self.commands)
        if self.note:
            yield Sentence(self.note)

    def write(self, file: Path) -> None:
        """Write the file.

        Raises:
            TunerError: it cannot be written.
        """
        write_text(file, self.text)


def dat(ask: DatAsk, user_dirs: UserDirs) -> DatResult:
    """Find a sensible configuration for this machine without measuring HPL.

    Raises:
        HplError, TunerError: MPI or a BLAS is missing.
    """
    names, files = parse_blas(ask.blas)
    inventory = look_around(TuneOptions(blas_only=names, blas_files=files), user_dirs, lambda _: None)
    params, reasons = sensible(ask, inventory)
    return DatResult(params, (*reasons, *unusual(params), *beyond_here(params, inventory)))


def unusual(params: HplParams) -> Iterator[str]:
    """Cautions about what is probably a mistake on any machine."""
    return (f"Caution: {sentence}." for sentence in cautions(params))


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


def sensible(ask: DatAsk, inventory: Inventory) -> tuple[HplParams, list[str]]:
    """A configuration for this machine without measuring HPL, and a sentence for each choice."""
    choice = first_choice(inventory)
    blas, kernel = str(choice["blas"]), str(choice["kernel"])
    ranks = ask.ranks or inventory.host.physical_cores
    P, Q = process_grids(ranks)[0]
    NB = ask.NB or natural_nb(inventory, blas)
    N = ask.N or full_memory_n(inventory, NB=NB, P=P, Q=Q, fraction=ask.memory_fraction)
    free = gibibytes(inventory.host.memory_available_bytes)
    params = HplParams.from_words(textbook(N=N, NB=NB, blas=blas, kernel=kernel, ranks=ranks, threads=1))
    return params, [
        f"BLAS {blas}, kernel {kernel}: the fastest dgemm found here.",
        f"N={N}: " + ("as asked." if ask.N else f"{ask.memory_fraction:.0%} of the {free} that are free."),
        f"NB={NB}: " + ("as asked." if ask.NB else f"the blocking natural for {blas}."),
        f"P={P}, Q={Q}: {counted(ranks, 'rank')} on the squarest grid with P <= Q.",
        *usual_reasons(params),
    ]


def usual_reasons(params: HplParams) -> Iterator[str]:
    """Why the values were taken that depend on neither memory nor CPU, from HPL's own guide (TUNING in its source)."""
    yield (
        "PMAP=row: ranks that share a node stand beside each other in a row of the grid, where panels travel."
        if params.ranks > 1
        else "PMAP=row: one rank has no order."
    )
    yield "PFACT=right, RFACT=crout, NBMIN=4, NDIV=2: good ones to begin with; they change little."
    yield f"BCAST={params.BCAST.word}: " + (
        "the one that HPL's guide would begin with." if params.Q > 1 else "with one process column no panel travels."
    )
    yield (
        f"DEPTH={params.DEPTH}: HPL's guide found 1 best for large N."
        if params.Q > 1
        else f"DEPTH={params.DEPTH}: with one process column there is nobody to send a panel to early."
    )
    if params.P > 1:
        yield (
            f"SWAP=mix, threshold {params.swap_threshold}: few columns are swapped by binary exchange, many by the "
            "long way."
        )
    else:
        yield "SWAP=mix: with one process row no rows are exchanged between ranks."
    yield "L1, U, EQUIL, alignment, residual threshold: as HPL ships them."
