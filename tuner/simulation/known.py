"""What a virtual cluster tells before anything is simulated: to its search space and to an engine."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import product

from hpl.blas.half_rate import half_rate_block
from runners.toml_file import GIB
from runners.virtual.cluster import RateTable, VirtualCluster
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import DIMENSIONS, Point
from search_spaces.restriction import Restriction
from search_spaces.space import SearchSpace, never_legal

from ..engines.probes import Messages, Probes
from ..settings.dimensions import setting_dimensions
from ..trial.plan import PlanError
from .plan import machine_nodes, network_of, virtual_plan

UPDATES_FROM = 32
"""The narrowest block of HPL's update with dgemm; narrower ones belong to the factorization of its panels."""
MOVED_BYTES = 16
"""Bytes that dgemm moves for each element of its result, in and out of memory (`gemm_s` of model.c)."""
WITHOUT_EFFECT = ("alignment",)
"""Parameters that change no simulated time: alignment only moves where the matrix and its copies begin in memory."""


def machine_of(cluster: VirtualCluster, N: int) -> Machine:
    """The facts that a search space needs; all cores have as much memory as the one with the smallest share."""
    least = min(node.memory_gib / node.cores for node in cluster.nodes)
    return Machine(
        cores=cluster.cores,
        memory_bytes=int(least * cluster.cores * GIB),
        blas={name: BlasFacts(kernels=("auto",), threaded=False) for name in cluster.blas},
        N=N,
        mpis=("smpi",),
        more_cores="take fewer ranks",
        node_list=machine_nodes(cluster),
    )


def simulated_space(
    name: str, cluster: VirtualCluster, N: int, asked: Mapping[str, Sequence[str]], text: str | None = None
) -> SearchSpace:
    """Load a search space for a virtual cluster, without settings that its network does not take.

    Parameters that change nothing in a simulation have one value, unless the user asks for several.

    Raises:
        search_spaces.errors.SpaceError: as `load`.
    """
    machine, settings = machine_of(cluster, N), setting_dimensions()
    space = load(name, machine, {"binding": ["core"], **asked}, text, settings)
    idle = {parameter: [_usual(space, parameter)] for parameter in WITHOUT_EFFECT if parameter in space.varying}
    space = load(name, machine, {"binding": ["core"], **idle, **asked}, text, settings) if idle else space
    for value in map(str, space.parameters["blas"].values if "blas" in space.parameters else ()):
        if value not in cluster.blas:
            near = get_close_matches(value, cluster.blas, n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise SpaceError(f"{name}: blas = {value}: {cluster.name} has {', '.join(cluster.blas)}{hint}")
    varied = tuple(parameter for parameter in space.parameters if "." in parameter)
    choices = product(*(space.parameters[setting].values for setting in varied))
    if all(_why_not(dict(zip(varied, choice, strict=True)), cluster) is None for choice in choices):
        return space
    takes = Restriction("network_takes_it", varied, lambda point, _: _why_not(point, cluster))
    try:
        return space.keeping(takes)
    except SpaceError as error:
        raise SpaceError(f"{name}: {error}") from error


def refuse_impossible(space: SearchSpace) -> None:
    """Refuse values of network settings that no configuration of the space can have, before any trial is spent.

    Raises:
        search_spaces.errors.SpaceError: there is such a value.
    """
    for name in space.parameters:
        if "." in name:
            for sentence in never_legal(space, name):
                raise SpaceError(f"{name}: {sentence}")


def _why_not(point: Point, cluster: VirtualCluster) -> str | None:
    """Why the cluster's network does not take the settings of a point; None where it does."""
    try:
        network_of(point, cluster)
    except PlanError as error:
        return str(error)
    return None


def _usual(space: SearchSpace, name: str) -> str:
    """The value that a parameter has by default; the first of the space where the default is not among its values."""
    values, usual = space.parameters[name].values, DIMENSIONS[name].default({}, space.machine)
    return str(usual if usual in values else values[0])


def probes_of(cluster: VirtualCluster, space: SearchSpace) -> Probes:
    """What a real machine would tell an engine through short measurements, from the model of the cluster."""
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
    """The NB at which simulated dgemm has half of the rate that it has with wide blocks."""
    rate = cluster.blas[blas].dgemm_gflops
    return (
        half_rate_block({k: one for k, one in zip(rate.k, rate.gflops[-1], strict=True) if k >= UPDATES_FROM})
        if isinstance(rate, RateTable)
        else MOVED_BYTES / 2 * rate / cluster.core.memory_gb_s
    )


def _messages(cluster: VirtualCluster, first: Point) -> Messages | None:
    """What a ping-pong between two nodes would measure; None on one node, or where the configuration cannot run."""
    if len(cluster.node_list) == 1:
        return None
    try:
        setup = virtual_plan(first, cluster).setup
    except PlanError:
        return None
    latency_us = setup.link.latency_us + 2 * setup.network.cpu_us
    return Messages.under(first, 1e-6 * latency_us, setup.link.bytes_s)
