"""What a document may name, and what the names stand for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from results.record import Study
from search_spaces.errors import SpaceError
from search_spaces.load import entries, space_text
from search_spaces.parameters.dimension import dimension

from ...asks.blas import BlasAsk
from ...asks.tune import TuneAsk
from ...commands.campaigns.reading import NamedThings
from ...options import TuneOptions
from ...settings.dimensions import setting_dimensions
from ...units import duration
from .offered import Offers
from .wrong import WrongDocumentError, read_as_document

AnyAsk = TypeVar("AnyAsk", TuneAsk, BlasAsk)
OF_HPL = frozenset(
    (
        *("N", "memory_fraction", "NB", "grid", "BCAST", "DEPTH", "SWAP", "swap_threshold", "PFACT", "RFACT", "NBMIN"),
        *("NDIV", "PMAP", "L1", "U", "EQUIL", "alignment", "threshold"),
        *("layout", "nodes_dropped", "rank_order", "binding", "mpi", "blas", "kernel", "program"),
    )
)
"""Parameters that every document may set: lines of HPL.dat, ranks and threads and where they run, and names of the MPI,
BLAS libraries and programs that were found. All others reach programs, variables or settings of the machine: one of a
kind that is not here is refused until the operator offers its name."""


class OfferedThings:
    """What names in a document stand for: what the service offers.

    Every method raises WrongDocumentError where it offers no such thing.
    """

    def __init__(self, offered: Offers) -> None:
        self.offered = offered
        self.space, self.cluster, self.program = offered.space, offered.cluster, offered.program

    def libraries(self, names: Sequence[str]) -> tuple[tuple[str, ...], Mapping[str, Path]]:
        """The names of BLAS libraries, and the files of those that are not in the catalogue."""
        files = {name: self.offered.library(name) for name in names}
        return tuple(files), {name: file for name, file in files.items() if file is not None}

    def source(self, name: str) -> str:
        """The name of a study."""
        return name


def offered_options(ask: AnyAsk, offered: Offers, read: Callable[[AnyAsk, NamedThings], TuneOptions]) -> TuneOptions:
    """Read what is asked of a search as its command does, where all that it names is offered.

    A shipped space that runs on machines is held to the same rule as a document; what a file of the operator's names
    is offered by that.

    Raises:
        WrongDocumentError: something in it is wrong or not offered; it says where.
    """
    check_names(ask.set, offered)
    options = read_as_document(lambda: read(ask, OfferedThings(offered)))
    if options.cluster is None and ask.space not in offered.spaces:
        text = read_as_document(lambda: space_text(options.space))
        check_names(entries(ask.space, None, text), offered, "space", f"space {ask.space}")
    asked_s = max(options.budget.wall_s or 0.0, options.budget.run_s or 0.0)
    if asked_s > offered.most_budget_s and options.cluster is None:
        most = duration(offered.most_budget_s)
        raise WrongDocumentError("budget", f"a campaign may ask for {most} here: ask for less, or ask who runs it")
    return options


def check_files(now: TuneOptions, study: Study) -> None:
    """Check that a study which has begun goes on with the files that are offered now.

    Raises:
        WrongDocumentError: a name stands for another file since.
    """
    before = TuneOptions.from_json(study.options)
    same = (now.xhpl, now.programs) == (before.xhpl, before.programs)
    if not same or (now.blas_files or {}) != before.blas_files:
        path, what = ("blas", "BLAS libraries") if same else ("program", "the program")
        raise WrongDocumentError(path, f"other files are offered as {what} now than it began with: hand it in anew")


def check_names(names: Iterable[str], offered: Offers, path: str = "", whose: str = "") -> None:
    """Check that parameters are ones that a document may set.

    Args:
        path: the key of the document that names a thing which sets them; "" for `set`.
        whose: that thing, in words.

    Raises:
        WrongDocumentError: there is no such parameter, or it is not offered.
    """
    for name in names:
        if name in OF_HPL or name in offered.parameters:
            continue
        try:
            dimension(name, setting_dimensions())
        except SpaceError as error:
            raise WrongDocumentError(f"set.{name}", str(error)) from error
        raise WrongDocumentError(
            path or f"set.{name}",
            f"{whose and f'{whose} sets {name}, and '}the service lets no document set this parameter: "
            f"who runs it may name it in `parameters` of [offers], as {name}",
        )
