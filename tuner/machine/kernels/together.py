"""What kernels a search may use on nodes together: all ranks of a launch get the same variables, so the same kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hpl.blas.probe import Probe
from hpl.search_paths import SearchPaths
from results.stats.nodes.name_ranges import ranges

from ..inventory import Inventory
from .timed import ClusterKernels, KernelTimer, KindKernels, OnNodeProbe

OWN = "auto"
"""The library's own choice, which may be another kernel on each node."""


def with_node_kernels(
    inventory: Inventory, search: SearchPaths, on_probe: OnNodeProbe
) -> tuple[Inventory, tuple[str, ...]]:
    """Add to an inventory of nodes how fast each kernel of its BLAS libraries is on one core of them.

    Returns:
        The inventory, and sentences about what could not be timed and about nodes that differ.
    """
    if inventory.nodes is None or not inventory.node_names or not inventory.blas:
        return inventory, ()
    timer = KernelTimer(inventory.nodes.cluster.reach, inventory.blas, search, on_probe)
    found = timer.of_nodes(inventory.node_names)
    mixed = mixed_sentence(found)
    sentences = (*(f"{sentence}." for sentence in found.failures), *([f"{mixed}."] if mixed else []))
    flags = [kind.cpu.flags for kind in found.kinds]
    common = frozenset.intersection(*flags) if flags else None
    return replace(inventory, probes=common_probes(found.kinds), flags=common), sentences


def mixed_sentence(found: ClusterKernels) -> str | None:
    """What becomes of the choice of kernels where nodes have several kinds of CPU; None where they have one."""
    if len(found.kinds) < 2:
        return None
    kinds = "; ".join(f"{kind.cpu.model}: {ranges(kind.cpu.nodes)}" for kind in found.kinds)
    return (
        f"The nodes have {len(found.kinds)} kinds of CPU ({kinds}): a library chooses its kernel on each node by "
        "itself, unless one kernel is at least as fast on all of them"
    )


def common_probes(kinds: Sequence[KindKernels]) -> dict[str, tuple[Probe, ...]]:
    """By BLAS the kernels for all nodes, fastest first, with the rate of the slowest kind: all ranks wait for it.

    The library's own choice counts on all kinds; a kernel by its name only if all kinds can run it, and none of them is
    slower with it than with the own choice. A BLAS that does not run on a kind has none.
    """
    timed = [kind.probes for kind in kinds if kind.timed]
    if not timed:
        return {}
    if len(kinds) == 1:
        return dict(timed[0])
    named = len(timed) == len(kinds)
    return {
        blas: _common([own[blas] for own in timed], named=named)
        for blas in timed[0]
        if all(blas in own for own in timed)
    }


def _common(timed: Sequence[Sequence[Probe]], *, named: bool) -> tuple[Probe, ...]:
    """The kernels of one BLAS.

    Args:
        timed: those of each kind.
        named: whether kernels may count by their name.
    """
    by_kind = [{probe.kernel: probe for probe in probes} for probes in timed]
    kernels = [kernel for kernel in by_kind[0] if kernel == OWN or (named and _pays(kernel, by_kind))]
    slowest = [min((own[kernel] for own in by_kind), key=lambda probe: probe.gflops) for kernel in kernels]
    return tuple(sorted(slowest, key=lambda probe: -probe.gflops))


def _pays(kernel: str, by_kind: Sequence[Mapping[str, Probe]]) -> bool:
    return all(kernel in own and own[kernel].gflops >= own[OWN].gflops for own in by_kind)
