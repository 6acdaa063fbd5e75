"""Which address each node has on which network, from what nodes say."""

import ast
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from net_lab import HostsLab

from runners.readiness.networks import networks_of

NODES = ("n1", "n2", "n3")


@dataclass(frozen=True)
class Nodes:
    """Nodes that print what a test wants.

    Attributes:
        addresses: by node the interfaces and their addresses with prefix.
        names: the addresses that nodes find for names.
    """

    addresses: Mapping[str, Mapping[str, str]]
    names: Mapping[str, str]

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        """Print addresses or names."""
        if "ip" in command:
            links = [link(name, address) for name, address in self.addresses[node].items()]
            return ["printf", "%s", json.dumps(links)]
        return ["printf", "%s\\t%s\\n", *(word for pair in self.names.items() for word in pair)]


def link(name: str, address: str) -> dict[str, object]:
    local, _, prefix = address.partition("/")
    flags = ["UP", "LOOPBACK"] if name == "lo" else ["UP"]
    inet = {"family": "inet", "local": local, "prefixlen": int(prefix)}
    return {"ifname": name, "mtu": 1500, "flags": flags, "addr_info": [inet]}


def nodes(names: Mapping[str, str]) -> Nodes:
    """Two networks; each node has a bridge for containers, too, with the same address everywhere."""
    own = {
        node: {"lo": "127.0.0.1/8", "docker0": "172.17.0.1/16", "eth0": f"10.0.0.{at}/24", "ib0": f"10.1.0.{at}/24"}
        for at, node in enumerate(NODES, start=1)
    }
    return Nodes(own, names)


def test_without_interfaces_it_is_the_network_of_the_names() -> None:
    (network,), notes = networks_of(nodes({node: f"10.1.0.{at}" for at, node in enumerate(NODES, start=1)}), NODES)
    assert (network.name, dict(network.addresses)) == ("ib0", {"n1": "10.1.0.1", "n2": "10.1.0.2", "n3": "10.1.0.3"})
    assert notes == []


def test_names_that_nodes_do_not_know_or_that_mean_themselves_lead_to_the_network_that_they_share() -> None:
    (network,), _ = networks_of(nodes({"n1": "127.0.1.1"}), NODES)
    assert (network.name, network.addresses["n1"], network.addresses["n3"]) == ("eth0", "10.0.0.1", "10.0.0.3")


def test_each_interface_that_people_name_is_a_network_and_a_node_without_it_is_told() -> None:
    cluster = nodes({})
    del cluster.addresses["n2"]["ib0"]  # type: ignore[attr-defined]
    networks, notes = networks_of(cluster, NODES, ("eth0", "ib0"))
    assert [(network.name, list(network.addresses)) for network in networks] == [
        ("eth0", ["n1", "n2", "n3"]),
        ("ib0", ["n1", "n3"]),
    ]
    assert notes == ["node n2: ib0 has no IPv4 address, so nothing is sent over it."]


Look = Callable[..., tuple[str, list[str], list[str]]]


@pytest.fixture
def look(hosts: HostsLab) -> Look:
    """What h1, or another, tells of the ways between itself and h2, or others."""
    code = "from runners.hosts.transport import Ssh; from runners.readiness.networks import ways_between; "
    code += f"print(repr(ways_between(Ssh({hosts.ssh!r}), {{0}}, {{0}}, ('eth0',))))"
    path = f"PYTHONPATH={Path(__file__).parents[3]}"
    return lambda nodes=("h1", "h2"), host="h1": ast.literal_eval(
        hosts.run(host, "env", path, sys.executable, "-c", code.format(nodes))
    )


@pytest.mark.parametrize("answer", ["drop", "reject", "reject with tcp reset"])
def test_a_firewall_is_named_with_its_hosts_however_it_answers(hosts: HostsLab, look: Look, answer: str) -> None:
    with hosts.firewall("h2", answer):
        shut, narrow, unknown = look()
    assert shut.startswith("nothing gets through to high ports from node h1 to node h2 (10.77.0.2), where MPI")
    assert not narrow + unknown
    with hosts.firewall("h1", answer):
        shut, _, _ = look()
    assert shut.startswith("node h2 cannot reach this host (h1, 10.77.0.1), to which MPI's daemons there must connect")
    assert not [command for host in ("h1", "h2") for command in hosts.processes(host) if "listens" in command]


def test_a_host_that_rejects_all_others_is_named_and_where_hpltune_runs_on_no_node_that_helps(
    hosts: HostsLab, look: Look
) -> None:
    four = ("h1", "h2", "h3", "h4")
    with hosts.firewall("h3", "drop"):
        assert look(four)[0].startswith("nothing gets through to high ports from other nodes to node h3 (10.77.0.3), w")
        assert "must connect: start hpltune on a node, or let" in look(("h1", "h2"), "h3")[0]
        assert "must connect: let their connections in" in look(four, "h3")[0]


def test_where_nothing_can_listen_it_is_not_known_whether_there_is_a_way(hosts: HostsLab, look: Look) -> None:
    on_h2 = '#!/bin/sh\n[ "$(uname -n)" = h1 ] || exit 1\nexec {} "$@"\n'
    with hosts.planted("python3", on_h2.format(sys.executable)):
        assert look() == ("", [], []), "perl can listen, too"
        with hosts.planted("perl", on_h2.format("/usr/bin/perl")):
            _, _, (sentence,) = look()
    assert sentence.startswith("Whether connections get from node h1 to node h2 (10.77.0.2) is not known: it takes")
