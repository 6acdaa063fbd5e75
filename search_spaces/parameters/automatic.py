"""Chooses the values of "auto" on a machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hpl.params import Scalar
from hpl.sizing import process_grids

from ..errors import SpaceError
from ..machine import Machine
from ..node_order import orders_here, worth_dropping
from .dimension import CORES, ranks_and_threads
from .parameter import Parameter

AUTO = "auto"


def automatic(name: str, machine: Machine, layouts: Sequence[str], *, as_it_comes: bool = False) -> Parameter | None:
    """Make the parameter with all sensible values on this machine, best guess first; None if nodes leave no choice.

    Args:
        as_it_comes: whether the kernels of each library include "auto", the library's own choice.

    Raises:
        SpaceError: "auto" has no meaning for this parameter.
    """
    listed: Mapping[str, Sequence[Scalar]] = {
        "blas": tuple(machine.blas),
        "mpi": machine.mpis,
        "layout": layouts,
        **{each.point_name: each.values for each in machine.terms.own},
    }
    if name in listed:
        return Parameter(name, tuple(listed[name]))
    if name == "kernel":
        own = (AUTO,) if as_it_comes else ()
        return Parameter.depending(
            name, "blas", {blas: (*dict.fromkeys((*facts.kernels, *own)),) for blas, facts in machine.blas.items()}
        )
    if name == "grid":
        grids = [f"{P}x{Q}" for layout in layouts for P, Q in process_grids(ranks_and_threads(layout)[0])]
        return Parameter(name, tuple(dict.fromkeys(grids)))
    if name in _OF_NODES:
        values = _OF_NODES[name](machine)
        return Parameter(name, values) if len(values) > 1 else None
    if "." in name and not name.startswith("mpi."):
        offered = machine.offer.worth_trying(name) if machine.offer else ()
        return Parameter(name, offered) if len(offered) > 1 else None
    raise SpaceError('"auto" is known for blas, kernel, mpi, layout, grid, nodes_dropped, rank_order and settings only')


_OF_NODES: Mapping[str, Callable[[Machine], tuple[Scalar, ...]]] = {
    "nodes_dropped": worth_dropping,
    "rank_order": orders_here,
}


def full_layouts(machine: Machine) -> tuple[str, ...]:
    """List the layouts (ranks x threads) that fill the cores of every node, single-threaded ones first."""
    threaded = any(facts.threaded for facts in machine.blas.values()) or not machine.blas
    layouts = machine.terms.layouts(machine.node, machine.nodes)
    return tuple(f"{ranks}x{threads}" for ranks, threads in layouts if threads == 1 or threaded)


def layouts_by_cores(cores: Parameter, machine: Machine) -> Parameter:
    """Make the parameter with the layouts that fill the cores of each value of `sys.cores`."""
    cases = {value: full_layouts(replace(machine, cores=machine.cores_with(value))) for value in cores.values}
    return Parameter.depending("layout", CORES, cases)


def layouts_by_nodes(dropped: Parameter, machine: Machine) -> Parameter:
    """Make the parameter with the layouts that fill the cores of the nodes that are left."""
    cases = {count: full_layouts(machine.without(int(count))) for count in dropped.values}
    return Parameter.depending("layout", dropped.name, cases)
