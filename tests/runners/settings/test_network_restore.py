"""Nodes are put back although what changes on one of them breaks a conversation with another."""

import pytest
from net_lab import HostsLab

from runners.hosts.transport import Ssh
from runners.settings.journal import Original, tokens_of
from runners.settings.restore import put_back

LARGE, USUAL = "3000", "1500"
MEETING = """#!/bin/sh
until_is() {{ for _ in $(seq 2400); do [ -e "$1" ] && return; sleep 0.1; done; }}
case "$(hostname) $*" in
"h1 link set"*) until_is {folder}/asked; /sbin/ip "$@"; : >{folder}/lowered; exit;;
"h2 "*) [ -e {folder}/asked ] || {{ : >{folder}/asked; until_is {folder}/lowered; printf '%2000s' ""; }};;
esac
exec /sbin/ip "$@"
"""
"""An ip that on h2 answers the first question in one large packet, as soon as h1 takes only small ones."""


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(2, mtu=6000)


def mtus(lab: HostsLab) -> list[str]:
    return [lab.run(host, "cat", "/sys/class/net/eth0/mtu").strip() for host in lab.names]


def test_a_node_whose_answer_is_lost_because_this_host_takes_no_large_packets_any_more_is_asked_again(
    lab: HostsLab,
) -> None:
    for host in lab.names:
        lab.run(host, "ip", "link", "set", "eth0", "mtu", LARGE)
    reach = Ssh((*lab.enter("h1"), *lab.ssh, "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1"))
    with lab.planted("ip", MEETING.format(folder=lab.folder)):
        outcome = put_back(reach, [Original(host, "eth0", "net.mtu", USUAL, tokens_of(reach)) for host in lab.names])
    assert (lab.folder / "lowered").exists()
    assert outcome.left == {}
    assert mtus(lab) == [USUAL, USUAL]
