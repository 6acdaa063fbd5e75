"""What is known of a virtual cluster before anything is simulated: what fits it, and what an engine may know."""

from collections.abc import Mapping, Sequence
from itertools import product

from hpl.blas.half_rate import half_rate_block
from runners.toml_file import GIB
from runners.virtual.cluster import RateTable, VirtualCluster
from search_spaces.dimension import DIMENSIONS, Point
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.restriction import Restriction
from search_spaces.space import SearchSpace

from ..engines.perf.probes import Messages, Probes
from ..trial.plan import PlanError
from .plan import network_of, virtual_plan

UPDATES_FROM = 32
"""Blocks from which on dgemm is HPL's update; narrower ones belong to its panels."""
MOVED_BYTES = 16
"""Of every element of the result of dgemm, in and out of memory (`gemm_s` of model.c)."""
UNSEEN = ("alignment",)
"""What HPL does with it takes no simulated time: it only moves where the matrix and its copies begin in memory."""


def machine_of(cluster: VirtualCluster, N: int) -> Machine:
    """The facts a search space needs; memory is what HPL may take, as far as the smallest share of a core allows."""
    least = min(node.memory_gib / node.cores for node in cluster.nodes)
    blas = {name: BlasFacts(kernels=("auto",), threaded=False) for name in cluster.blas}
    return Machine(
        cores=cluster.cores,
        memory_bytes=int(least * cluster.cores * GIB),
        blas=blas,
        N=N,
        mpis=("smpi",),
        more_cores="take fewer ranks",
    )


def simulated_space(
    name: str, cluster: VirtualCluster, N: int, asked: Mapping[str, Sequence[str]], text: str | None = None
) -> SearchSpace:
    """A space with one value of what simulations do not look at, unless the user asks for several.

    Settings that the cluster's network does not take are no part of it.

    Raises:
        search_spaces.errors.SpaceError: as `load`.
    """
    machine = machine_of(cluster, N)
    space = load(name, machine, {"binding": ["core"], **asked}, text)
    idle = {one: [_usual(space, one)] for one in UNSEEN if one in space.varying}
    space = load(name, machine, {"binding": ["core"], **idle, **asked}, text) if idle else space
    needs = tuple(one for one in space.parameters if one.startswith(("net.", "mpi.")))
    choices = product(*(space.parameters[one].values for one in needs))
    if all(_why_not(dict(zip(needs, choice, strict=True)), cluster) is None for choice in choices):
        return space
    takes = Restriction("network_takes_it", needs, lambda point, _: _why_not(point, cluster))
    try:
        return space.keeping(takes)
    except SpaceError as error:
        raise SpaceError(f"{name}: {error}") from error


def refuse_impossible(space: SearchSpace) -> None:
    """Refuse settings of the network that no configuration of a virtual cluster can have, before any trial is spent.

    Raises:
        search_spaces.errors.SpaceError: there is such a value.
    """
    for name in space.parameters:
        if name.startswith(("net.", "mpi.")):
            for sentence in space.never(name):
                raise SpaceError(f"{name}: {sentence}")


def _why_not(point: Point, cluster: VirtualCluster) -> str | None:
    """Why a cluster's network does not take the settings of a point, or None."""
    try:
        network_of(point, cluster)
    except PlanError as error:
        return str(error)
    return None


def _usual(space: SearchSpace, name: str) -> str:
    """The value that a parameter has where no space names it, or the first where it is none of the space's."""
    values, usual = space.parameters[name].values, DIMENSIONS[name].default({}, space.machine)
    return str(usual if usual in values else values[0])


def probes_of(cluster: VirtualCluster, space: SearchSpace) -> Probes:
    """What short measurements and a look at the cluster would tell an engine."""
    rates = {name: blas.dgemm_gflops for name, blas in cluster.blas.items()}
    largest = {
        name: max(map(max, rate.gflops)) if isinstance(rate, RateTable) else rate for name, rate in rates.items()
    }
    first = space.first
    return Probes(
        {name: {"auto": gflops} for name, gflops in largest.items()},
        len(cluster.node_list),
        node_cores=max(node.cores for node in cluster.nodes),
        messages=_messages(cluster, first),
        half_nb=_half_nb(cluster, str(first["blas"])),
        exact=not cluster.noise.between_runs,
    )


def _half_nb(cluster: VirtualCluster, blas: str) -> float | None:
    """NB at which dgemm has half of the rate that it has with wide blocks, as its costs in a simulation say."""
    rate = cluster.blas[blas].dgemm_gflops
    if isinstance(rate, RateTable):
        return half_rate_block({k: one for k, one in zip(rate.k, rate.gflops[-1], strict=True) if k >= UPDATES_FROM})
    return MOVED_BYTES / 2 * rate / cluster.core.memory_gb_s


def _messages(cluster: VirtualCluster, first: Point) -> Messages | None:
    """What a ping-pong between nodes would tell; None on one node, or where the configuration cannot be run."""
    if len(cluster.node_list) == 1:
        return None
    try:
        setup = virtual_plan(first, cluster).setup
    except PlanError:
        return None
    latency_us = setup.link.latency_us + 2 * setup.network.cpu_us
    return Messages.under(first, 1e-6 * latency_us, setup.link.bytes_s)
