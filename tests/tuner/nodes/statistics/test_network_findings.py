"""What messages between nodes tell: one network at a time, in which direction, and with which setting."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from results.node_check import PATTERNS, NodeCheck, PairRate, pairs_of
from tuner.nodes.statistics.network_findings import network_findings

NODES = tuple(f"n{number:02}" for number in range(1, 33))


def check(change: Callable[[PairRate], PairRate] = lambda pair: pair, network: str = "eth0") -> NodeCheck:
    chance = np.random.default_rng(7)
    pairs = []
    for pattern in PATTERNS:
        for one, other in pairs_of(pattern, NODES, 1):
            there, back = (100.0 * float(np.exp(chance.normal() * 0.006)) for _ in range(2))
            latency = 20.0 * float(np.exp(chance.normal() * 0.05))
            pair = PairRate(pattern, one, other, 0.0, network, latency, there, back)
            changed = change(pair)
            if changed.there and changed.back:
                changed = replace(changed, rate=2 / (1 / changed.there + 1 / changed.back))
            pairs.append(changed)
    return NodeCheck("test", datetime.now(UTC), NODES, pairs=tuple(pairs), switches=dict.fromkeys(NODES, "s1"))


def slow_sender(pair: PairRate) -> PairRate:
    if pair.one == "n07":
        return replace(pair, there=60.0)
    return replace(pair, back=60.0) if pair.other == "n07" else pair


def test_a_sound_network_has_no_findings() -> None:
    assert network_findings(check()) == []


def test_a_node_that_is_slow_in_one_direction_is_named_with_it_and_with_its_network() -> None:
    sound, weak = check(network="eth0"), check(slow_sender, "eth1")
    (finding,) = network_findings(replace(sound, pairs=(*sound.pairs, *weak.pairs)))
    assert finding.names == ("n07",)
    assert finding.sentence.startswith("n07 is slow with every partner over eth1, but only when it sends: ")


def test_a_node_that_is_slow_only_with_small_messages_is_named() -> None:
    def sleepy(pair: PairRate) -> PairRate:
        return replace(pair, latency_us=60.0) if "n07" in {pair.one, pair.other} else pair

    (finding,) = network_findings(check(sleepy))
    assert (finding.what, finding.names) == ("weak-node", ("n07",))
    assert "n07 is slow with small messages over eth0: 60 µs, 20" in finding.sentence


def test_the_setting_in_which_a_weak_node_differs_is_named() -> None:
    weak = check(slow_sender)
    mtu = dict.fromkeys(NODES, "eth0: 9000") | {"n07": "eth0: 1500"}
    (finding,) = network_findings(replace(weak, facts={"nic_mtu": mtu, "kernel": dict.fromkeys(NODES, "6.1")}))
    assert finding.sentence.endswith("; its MTU is eth0: 1500, not eth0: 9000")
    assert finding.facts == ("nic_mtu",)


def test_a_node_without_any_partner_is_out_and_one_pair_without_messages_is_named() -> None:
    def cut(pair: PairRate) -> PairRate:
        lost = "n07" in {pair.one, pair.other} or (pair.one, pair.other) == ("n01", "n02")
        return PairRate(pair.pattern, pair.one, pair.other, 0.0, "eth0", problem="no connection") if lost else pair

    node, pair = network_findings(check(cut))
    assert (node.severity, node.names) == ("out", ("n07",))
    assert node.sentence == "n07 is out: it exchanges messages with no other node over eth0 (no connection)"
    assert (pair.severity, pair.names) == ("out", ("n01-n02",))


def test_pairs_whose_node_was_lost_meanwhile_are_told_by_the_node_alone() -> None:
    def cut(pair: PairRate) -> PairRate:
        lost = pair.pattern == "fold" and "n07" in {pair.one, pair.other}
        return PairRate(pair.pattern, pair.one, pair.other, 0.0, "eth0", problem="timed out") if lost else pair

    (pair,) = network_findings(check(cut))
    assert pair.what == "no-messages"
    assert network_findings(replace(check(cut), silent={"n07": "node n07: no answer within 40 s"})) == []


def test_a_firewall_everywhere_is_one_sentence() -> None:
    def cut(pair: PairRate) -> PairRate:
        return PairRate(pair.pattern, pair.one, pair.other, 0.0, "eth0", problem="no connection: Connection refused")

    (finding,) = network_findings(check(cut))
    assert finding.sentence.startswith("no two nodes exchanged messages over eth0 (n01 to n02: no connection: ")
