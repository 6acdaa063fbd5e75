"""`hpltune dat`: the configuration a careful person would write down, with the reasons."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.sizing import cautions, memory_bytes, n_that_fits, process_grids

from ..machine.inventory import Inventory
from ..machine.textbook import first_choice, full_memory_n, natural_nb, textbook
from ..options import TuneOptions
from ..trial.workbench import look_around
from ..units import gibibytes
from ..user_dirs import UserDirs
from ..user_files import write_text
from ..words import counted


@dataclass(frozen=True)
class DatRequest:
    """The options of `hpltune dat`."""

    out: Path | None
    memory_fraction: float
    N: int | None
    NB: int | None
    ranks: int | None
    blas_only: tuple[str, ...]
    blas_files: Mapping[str, Path]


def write_dat(request: DatRequest) -> None:
    """Write the file to its place or to standard output, and say why each value was taken on standard error."""
    options = TuneOptions(blas_only=request.blas_only, blas_files=request.blas_files)
    site = look_around(options, UserDirs.of_user(), lambda _: None)
    params, reasons = sensible(request, site)
    for sentence in (*reasons, *cautions(params), *beyond_here(params, site)):
        print(sentence, file=sys.stderr)
    text = render(HplDat.of(params))
    if request.out is None:
        print(text, end="")
        return
    write_text(request.out, text)
    print(f"Wrote {request.out}; measure it with: hpltune run {request.out}", file=sys.stderr)


def beyond_here(params: HplParams, site: Inventory) -> list[str]:
    """Why a configuration cannot run on this machine; it is written all the same, since it may be meant for another."""
    found = []
    needed, free, cores = (
        params.ranks * memory_bytes(params),
        site.host.memory_available_bytes,
        site.host.physical_cores,
    )
    if needed > free:
        largest = n_that_fits(params, free)
        found.append(
            f"Caution: N={params.N} needs {gibibytes(needed)}, but {gibibytes(free)} are free here: "
            + (f"the largest N that fits is {largest}." if largest else "no N fits with this NB and grid.")
        )
    if params.ranks > cores:
        found.append(
            f"Caution: {counted(params.ranks, 'rank')} are more than the {counted(cores, 'core')} of this machine: "
            "the file is for a larger one."
        )
    return found


def sensible(request: DatRequest, site: Inventory) -> tuple[HplParams, list[str]]:
    """A configuration for this machine without measuring HPL, and a sentence for each choice."""
    choice = first_choice(site)
    blas, kernel = str(choice["blas"]), str(choice["kernel"])
    ranks = request.ranks or site.host.physical_cores
    P, Q = process_grids(ranks)[0]
    NB = request.NB or natural_nb(site, blas)
    N = request.N or full_memory_n(site, NB=NB, P=P, Q=Q, fraction=request.memory_fraction)
    free = gibibytes(site.host.memory_available_bytes)
    reasons = [
        f"BLAS {blas}, kernel {kernel}: the fastest dgemm found here.",
        f"{counted(ranks, 'rank')} on a {P}x{Q} grid: the squarest with P <= Q.",
        f"NB={NB}: " + ("as asked." if request.NB else f"the blocking natural for {blas}."),
        f"N={N}: " + ("as asked." if request.N else f"{request.memory_fraction:.0%} of the {free} that are free."),
    ]
    words = textbook(N=N, NB=NB, blas=blas, kernel=kernel, ranks=ranks, threads=1)
    return HplParams.from_words(words), reasons
