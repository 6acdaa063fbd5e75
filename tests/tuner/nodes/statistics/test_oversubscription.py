"""Oversubscribed uplinks are told from what pairs keep of their rate while all nodes send."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from results.node_check import PATTERNS, PairRate, pairs_of
from tuner.nodes.statistics.network_findings import oversubscribed

NODES = [f"node{number:03}" for number in range(1, 65)]
SWITCHES = {node: f"s{place // 8 + 1}" for place, node in enumerate(NODES)}


def drawn(uplinks: Mapping[str, float], cables: Mapping[str, float]) -> tuple[list[PairRate], list[PairRate]]:
    """Rates alone and at once: pairs share the capacity of uplinks, told in full rates of a pair, not quite fairly."""
    chance = np.random.default_rng(3)
    alone, at_once = [], []
    for pattern in PATTERNS:
        pairs = pairs_of(pattern, NODES, 1)
        across = [pair for pair in pairs if SWITCHES[pair[0]] != SWITCHES[pair[1]]]
        load = {switch: sum(switch in {SWITCHES[one], SWITCHES[other]} for one, other in across) for switch in uplinks}
        for one, other in pairs:
            ends = {SWITCHES[one], SWITCHES[other]} if (one, other) in across else set()
            shares = [uplinks[switch] / load[switch] for switch in ends if switch in uplinks]
            rate = 100.0 * float(np.exp(chance.normal() * 0.01)) * cables.get(one, 1.0) * cables.get(other, 1.0)
            share = min([1.0, *shares])
            unfair = float(np.exp(chance.normal() * (0.02 if share == 1.0 else 0.3)))
            pair = PairRate(pattern, one, other, rate)
            alone.append(pair)
            at_once.append(replace(pair, rate=rate * share * unfair))
    return alone, at_once


def test_one_chassis_with_half_the_uplinks_of_the_others_is_named_with_what_it_carries() -> None:
    (found,) = oversubscribed(*drawn({"s2": 2.0}, {}), SWITCHES)
    assert found.switch == "s2"
    assert found.wanted == pytest.approx(800, rel=0.02)
    assert found.ratio == pytest.approx(4.0, rel=0.25)


def test_two_of_them_are_both_named_the_worse_one_first() -> None:
    found = oversubscribed(*drawn({"s2": 2.0, "s5": 1.0}, {}), SWITCHES)
    assert [one.switch for one in found] == ["s5", "s2"]


def test_where_all_uplinks_are_alike_the_network_is_told_and_no_switch() -> None:
    (found,) = oversubscribed(*drawn(dict.fromkeys(SWITCHES.values(), 4.0), {}), SWITCHES)
    assert found.switch == ""
    assert found.ratio == pytest.approx(2.0, rel=0.2)


def test_a_weak_cable_or_a_network_that_carries_all_is_nothing() -> None:
    assert oversubscribed(*drawn({}, {"node007": 0.5}), SWITCHES) == []


def test_an_uplink_that_is_known_to_be_weak_is_not_told_twice() -> None:
    assert oversubscribed(*drawn({"s2": 2.0}, {}), SWITCHES, {"s2"}) == []


@pytest.mark.parametrize("switches", [{}, {node: f"s{place // 32 + 1}" for place, node in enumerate(NODES)}])
def test_without_switches_and_with_two_of_them_only_the_network_is_told(switches: Mapping[str, str]) -> None:
    (found,) = oversubscribed(*drawn(dict.fromkeys(SWITCHES.values(), 4.0), {}), switches)
    assert (found.switch, found.pattern) == ("", "cut")


def test_nothing_measured_at_once_is_nothing() -> None:
    alone, _ = drawn({}, {})
    assert oversubscribed(alone, [], SWITCHES) == []
