"""The network interfaces that MPI uses between nodes: those of the cluster file, or those that lead to all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING

from runners.hosts.node_facts import NodeSays

if TYPE_CHECKING:
    from runners.hosts.cluster import Cluster

_SAY_IT = 'say use_interfaces = ["eth0"] or the like above [node] of the cluster file'


@dataclass(frozen=True)
class Interfaces:
    """What MPI is told.

    Attributes:
        names: interfaces that it may use; empty lets it choose.
        sentence: which it will use, for people; "" where nothing is known.
        doubtful: it may use one that leads to no other node.
    """

    names: tuple[str, ...]
    sentence: str
    doubtful: bool = False


def interfaces_between(cluster: "Cluster", says: Sequence[NodeSays], here: Mapping[str, str]) -> Interfaces:
    """Choose for MPI, which otherwise may wait for ever on a bridge of containers that every node has.

    An interface leads to all nodes if it has one name and one network on all of them, and on each another address. A
    bridge such as docker0 has the same address everywhere. The launcher on this host must have the interface, too.

    Args:
        here: `NodeSays.networks` of this host, from which ranks are started.
    """
    if cluster.interfaces:
        return Interfaces(cluster.interfaces, f"MPI uses {_all(cluster.interfaces)}, as use_interfaces says")
    if len(says) < 2 or not all(node.networks for node in says):
        return Interfaces((), "")
    names = list(dict.fromkeys(name for node in says for name in node.networks))
    told = [node.networks for node in says]
    reaching = [name for name in names if _same_network(name, told)]
    leading = [name for name in reaching if len({each[name] for each in told}) == len(told)]
    others = [name for name in names if name not in leading]
    if not others:
        alone = "the only interface of the nodes that is up" if len(leading) == 1 else "which lead to all nodes"
        return Interfaces((), f"MPI uses {_all(leading)}, {alone}")
    if not leading:
        why = "none has the same name and network on all nodes"
        return Interfaces((), f"MPI chooses among the interfaces {_all(others)}, and {why}: {_SAY_IT}", doubtful=True)
    common = tuple(name for name in leading if _same_network(name, [here, says[0].networks]))
    if not common:
        why = f"{_all(others)} lead to no other node, and this host has no {_all(leading)}"
        return Interfaces((), f"MPI may take a wrong interface: {why}: {_SAY_IT}", doubtful=True)
    return Interfaces(
        common, f"MPI uses {_all(common)}, and not {_all(others)}, over which nodes do not reach each other"
    )


def ucx_devices(rdma: Sequence[tuple[str, str]] | None, interfaces: Sequence[str], *, named: bool) -> tuple[str, ...]:
    """Return the devices that UCX may use: MPI takes it where nodes have InfiniBand, and it knows no interfaces there.

    Args:
        rdma: the ports of InfiniBand and RoCE that nodes have, and the interface of each; None where nobody told.
        interfaces: those that MPI may use.
        named: the user named them; otherwise they only keep TCP from bridges, and all ports stay in use.
    """
    if rdma is None or not interfaces:
        return ()
    ports = [port for port, interface in rdma if not named or interface in interfaces]
    return tuple(dict.fromkeys([*ports, *interfaces]))


def rdma_ports(says: Sequence[NodeSays]) -> tuple[tuple[str, str], ...]:
    """Return the ports of InfiniBand and RoCE that nodes have, and the interface of each."""
    return tuple(dict.fromkeys(pair for node in says for pair in node.rdma.items()))


def unused_ports(cluster: "Cluster", rdma: Sequence[tuple[str, str]]) -> str | None:
    """Return the sentence that use_interfaces leaves out InfiniBand, or None."""
    left = [(port, own) for port, own in rdma if cluster.interfaces and own not in cluster.interfaces]
    if not left:
        return None
    ports = ", ".join(f"{port} ({own})" if own else port for port, own in left)
    return (
        f"use_interfaces names {_all(cluster.interfaces)}, so MPI does not use the ports {ports} of InfiniBand or "
        "RoCE: add their interfaces, or leave use_interfaces out"
    )


def through_batch_system(cluster: "Cluster", mpi: str) -> str | None:
    """Return the sentence that nobody tells UCX of the interfaces on nodes that a batch system chooses, or None."""
    if not cluster.interfaces or mpi != "openmpi":
        return None
    return (
        f"use_interfaces = {_all(cluster.interfaces)} limits Open MPI's TCP only: where it takes UCX, as with "
        "InfiniBand, name the devices with mpi.UCX_NET_DEVICES"
    )


def _same_network(name: str, networks: Sequence[Mapping[str, str]]) -> bool:
    found = {ip_network(ip_interface(each[name]).network) if name in each else None for each in networks}
    return len(found) == 1 and None not in found


def _all(names: Sequence[str]) -> str:
    return ", ".join(names)
