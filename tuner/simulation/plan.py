"""The plan of a simulated run: what the names of a point mean on a virtual cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from hpl.dat import HplDat, render
from hpl.errors import HplError
from hpl.params import HplParams, Scalar
from hpl.sizing import memory_bytes
from runners.errors import RunnerError
from runners.settings.registry import MOSTLY_ALIKE, is_setting
from runners.toml_file import GIB
from runners.virtual.cluster import VirtualCluster
from runners.virtual.platform import Settings, Setup, link, own_speeds
from search_spaces.machine import Machine, MachineNode
from search_spaces.node_order import NODE_PARAMETERS, placement

from ..trial.plan import PlanError, TrialPlan, parse_layout
from ..units import gibibytes

UNCHECKED = -1.0
"""HPL's threshold in a simulation: there is no solution whose residual could be checked."""
NETWORK = "network"


@dataclass(frozen=True, kw_only=True)
class VirtualPlan(TrialPlan):
    """A run of the simulator: the plan that a real run would have; its HPL.dat is the one to take to a real cluster.

    Attributes:
        simulated_dat: what the simulated HPL reads: the same, without the check of the residual.
    """

    simulated_dat: str
    setup: Setup


def virtual_plan(
    params: Mapping[str, Scalar],
    cluster: VirtualCluster,
    key: str = "",
    repeat: int = 0,
    order: tuple[int, ...] = (),
) -> VirtualPlan:
    """Give the names of a complete point their meaning on a virtual cluster. Pure.

    Args:
        key: identity of the configuration, and `repeat` how often it was run before: noise follows from them.
        order: numbers of the nodes that ranks fill, in this order; empty for those that the point says.

    Raises:
        PlanError: the point asks for something this cluster does not have, or N does not fit its memory.
    """
    ranks, threads = parse_layout(str(params["layout"]))
    try:
        hpl = HplParams.from_words(params)
    except HplError as error:
        raise PlanError(str(error)) from error
    if threads != 1:
        raise PlanError(
            f"layout {params['layout']}: a virtual cluster has one thread a rank; write {ranks * threads}x1"
        )
    if hpl.ranks != ranks:
        raise PlanError(f"the grid {hpl.P}x{hpl.Q} needs {hpl.ranks} ranks, the layout starts {ranks}")
    blas, setup = str(params["blas"]), _setup(params, cluster, key, repeat)
    setup = replace(setup, order=order) if order else setup
    try:
        hosts = setup.hosts(ranks)
        setup.link  # noqa: B018 - refuses settings the network does not take
    except RunnerError as error:
        raise PlanError(str(error)) from error
    _fits(hpl, cluster, hosts)
    return VirtualPlan(
        runs=(hpl,),
        hpl_dat=render(HplDat.of(hpl)),
        blas=blas,
        library=None,
        kernel="auto",
        ranks=ranks,
        threads=1,
        environment={},
        simulated_dat=render(HplDat.of(replace(hpl, threshold=UNCHECKED))),
        setup=setup,
    )


def _setup(params: Mapping[str, Scalar], cluster: VirtualCluster, key: str, repeat: int) -> Setup:
    network, settings = network_of(params, cluster)
    if str(params["blas"]) not in cluster.blas:
        raise PlanError(f"blas = {params['blas']}: {cluster.name} has {', '.join(cluster.blas)}")
    named = NODE_PARAMETERS & params.keys()
    order = placement(params, Machine(cluster.cores, 0, {}, node_list=machine_nodes(cluster))) if named else ()
    return Setup(cluster, str(params["blas"]), network, settings, repeat, key, order)


def machine_nodes(cluster: VirtualCluster) -> tuple[MachineNode, ...]:
    """The nodes of a virtual cluster as a search space sees them, with their speeds and leaf switches."""
    leaves = [network.switch.leaf_nodes for network in cluster.networks.values() if network.switch.leaf_nodes]
    size = leaves[0] if leaves else len(cluster.node_list)
    kinds = zip(cluster.node_list, own_speeds(cluster), strict=True)
    return tuple(
        MachineNode(f"n{number}", node.cores, speed, f"leaf{number // size}")
        for number, (node, speed) in enumerate(kinds)
    )


def network_of(params: Mapping[str, Scalar], cluster: VirtualCluster) -> tuple[str, Settings]:
    """The network that a point uses, and the settings of that network.

    Raises:
        PlanError: the cluster has no such network, or the network does not take a setting.
    """
    net = {name.removeprefix("net."): value for name, value in params.items() if name.startswith("net.")}
    taken = (NETWORK, "mtu", "rx_usecs", "nics")
    unknown = [name for name in params if is_setting(name) and name not in {f"net.{one}" for one in taken}]
    without = [name for name in params if name.startswith("mpi.")] + unknown
    if without:
        near = get_close_matches(without[0].rpartition(".")[2], taken, n=1, cutoff=MOSTLY_ALIKE)
        meant = f"; did you mean net.{near[0]}?" if near else ""
        raise PlanError(f"{', '.join(without)}: without meaning on a virtual cluster{meant}")
    network = str(net.get(NETWORK, cluster.default_network))
    if network not in cluster.networks:
        near = get_close_matches(network, cluster.networks, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise PlanError(f"net.network = {network}: {cluster.name} has {', '.join(cluster.networks)}{meant}")
    settings = Settings(
        mtu=_number(net, "mtu"),
        throttle_us=_number(net, "rx_usecs"),
        nics=_number(net, "nics"),
    )
    try:
        link(cluster.networks[network], settings)
    except RunnerError as error:
        raise PlanError(f"network {network}: {error}") from error
    return network, settings


def _number(net: Mapping[str, Scalar], name: str) -> int | None:
    """A setting as a whole number; None where it is not set."""
    if name not in net:
        return None
    try:
        return int(net[name])
    except ValueError as error:
        raise PlanError(f"net.{name} = {net[name]}: expected a whole number") from error


def _fits(hpl: HplParams, cluster: VirtualCluster, hosts: list[str]) -> None:
    """Refuse an N that a node has no memory for: HPL stops there with "Memory allocation failed"."""
    each = memory_bytes(hpl)
    nodes = cluster.node_list
    for host in dict.fromkeys(hosts):
        node = nodes[int(host.removeprefix("n"))]
        need, have = hosts.count(host) * each, int(node.memory_gib * GIB)
        if need > have:
            raise PlanError(f"N={hpl.N} needs {gibibytes(need)} on node {host}, which has {gibibytes(have)} for HPL")
