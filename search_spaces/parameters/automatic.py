"""Chooses the values of "auto" on a machine."""

from collections.abc import Sequence

from hpl.sizing import process_grids

from ..errors import SpaceError
from ..machine import Machine
from .dimension import ranks_and_threads
from .parameter import Parameter

AUTO = "auto"


def automatic(name: str, machine: Machine, layouts: Sequence[str], *, as_it_comes: bool = False) -> Parameter:
    """Make the parameter with all sensible values on this machine, best guess first.

    Args:
        as_it_comes: whether the kernels of each library include "auto", the library's own choice.

    Raises:
        SpaceError: "auto" has no meaning for this parameter.
    """
    if name == "blas":
        return Parameter(name, tuple(machine.blas))
    if name == "mpi":
        return Parameter(name, machine.mpis)
    if name == "kernel":
        own = (AUTO,) if as_it_comes else ()
        return Parameter.depending(
            name, "blas", {blas: (*dict.fromkeys((*facts.kernels, *own)),) for blas, facts in machine.blas.items()}
        )
    if name == "layout":
        return Parameter(name, tuple(layouts))
    if name == "grid":
        grids = [f"{P}x{Q}" for layout in layouts for P, Q in process_grids(ranks_and_threads(layout)[0])]
        return Parameter(name, tuple(dict.fromkeys(grids)))
    raise SpaceError('"auto" is known for blas, kernel, mpi, layout and grid only')


def full_layouts(machine: Machine) -> tuple[str, ...]:
    """List the layouts (ranks x threads) that fill the cores of every node, single-threaded ones first."""
    threaded = any(facts.threaded for facts in machine.blas.values()) or not machine.blas
    each = machine.cores // machine.nodes
    counts = [threads for threads in range(1, each + 1) if each % threads == 0]
    return tuple(f"{machine.cores // threads}x{threads}" for threads in counts if threads == 1 or threaded)
