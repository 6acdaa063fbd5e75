"""The space of a study on the machine it runs on."""

from collections.abc import Sequence

from results.record import TrialRecord
from search_spaces.load import load, wants_all_blas
from search_spaces.space import SearchSpace

from ..machine.inventory import Inventory
from ..options import TuneOptions
from ..study.kinds import SEARCHED
from ..trial.plan import parse_layout


def load_space(options: TuneOptions, site: Inventory, N: int, text: str) -> SearchSpace:
    """The space of a study on this machine, with N where the space leaves it to the budget.

    Args:
        text: the TOML as it was when the study began: a file may have changed since.
    """
    machine = site.machine(all_blas=_compares(options, text), N=N, slow_kernels=bool(options.blas_only))
    return load(options.space, machine, options.overrides, text)


def _compares(options: TuneOptions, text: str) -> bool:
    """Whether slow libraries belong into the search."""
    return wants_all_blas(options.space, text) or bool(options.blas_only)


def programs_for(space: SearchSpace) -> tuple[Sequence[str], Sequence[int], Sequence[str]]:
    """The BLAS libraries, numbers of threads and MPI libraries that a search may need programs for."""
    fixed = space.first
    names, layouts, mpis = (
        [str(value) for value in (space.parameters[name].values if name in space.parameters else [fixed.get(name, "")])]
        for name in ("blas", "layout", "mpi")
    )
    threads = sorted({parse_layout(layout)[1] for layout in layouts} | {1})
    return names, threads, mpis


def searched_n(earlier: Sequence[TrialRecord]) -> int | None:
    """The N at which a study was already searched, or None."""
    sizes = [int(record.params["N"]) for record in earlier if record.kind in SEARCHED and "N" in record.params]
    return max(sizes, default=None)
