"""Weak nodes, uplinks and connections are told apart from the rates of pairs alone."""

import numpy as np
import pytest

from results.node_check import PATTERNS, PairRate, pairs_of
from tuner.nodes.statistics.network_findings import weak_parts

NODES = [f"node{number:03}" for number in range(1, 485)]
CHASSIS = {node: f"bc{place // 14 + 1}" for place, node in enumerate(NODES)}


def test_patterns_are_those_of_the_slides() -> None:
    assert ("node405", "node406") in pairs_of("sorted", NODES)
    assert ("node164", "node406") in pairs_of("cut", NODES)
    assert ("node079", "node406") in pairs_of("fold", NODES)
    assert len(set(pairs_of("shuffle", NODES, 1))) == 242


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8])
def test_each_node_is_in_one_pair_at_most(pattern: str, count: int) -> None:
    paired = [node for pair in pairs_of(pattern, NODES[:count]) for node in pair]
    assert len(paired) == len(set(paired)) == count // 2 * 2


def drawn(base: float, across: float, losses: dict[str, float], uplinks: dict[str, float]) -> list[PairRate]:
    """Rates with the printed figures of a network, and what is known to be weak in it."""
    chance = np.random.default_rng(5)
    found = []
    for pattern in PATTERNS:
        for one, other in pairs_of(pattern, NODES, 1):
            rate = base * float(np.exp(chance.normal() * 0.006))
            if CHASSIS[one] != CHASSIS[other]:
                rate *= across * (1 - uplinks.get(CHASSIS[one], 0.0)) * (1 - uplinks.get(CHASSIS[other], 0.0))
            found.append(
                PairRate(pattern, one, other, rate * (1 - losses.get(one, 0.0)) * (1 - losses.get(other, 0.0)))
            )
    return found


def test_node406_is_the_weak_one_of_the_myrinet() -> None:
    """The median of all pairs was 233 MB/s; those of node406 had 87 MB/s in each pattern."""
    (weak,) = weak_parts(drawn(233.0, 1.0, {"node406": 1 - 87.4 / 233.0}, {}), CHASSIS)
    assert (weak.kind, weak.name, weak.pairs) == ("node", "node406", 4)
    assert weak.percent == pytest.approx(62.5, abs=1.0)


def test_the_second_chassis_has_a_weak_uplink() -> None:
    """Sorted pairs of nodes 15 to 28 had the usual 100 MB/s; across chassis they had 45 to 74 instead of 88."""
    weak = weak_parts(drawn(100.0, 0.88, {"node025": 0.3, "node026": 0.3}, {"bc2": 0.25}), CHASSIS)
    assert [(part.kind, part.name) for part in weak[:1]] == [("uplink", "bc2")]
    assert {part.name for part in weak} == {"bc2", "node025", "node026"}


def test_without_the_switches_the_nodes_behind_a_weak_uplink_are_named() -> None:
    weak = weak_parts(drawn(100.0, 1.0, {}, {"bc2": 0.25}))
    assert {part.name for part in weak if part.kind == "node"} == set(NODES[14:28])


def test_one_slow_pair_is_a_connection() -> None:
    rates = drawn(100.0, 1.0, {}, {})
    slow = rates[300]
    rates[300] = PairRate(slow.pattern, slow.one, slow.other, 0.8 * slow.rate)
    (weak,) = weak_parts(rates, CHASSIS)
    assert (weak.kind, weak.name) == ("connection", f"{slow.one}-{slow.other}")


def test_a_sound_network_has_nothing_weak_and_two_nodes_tell_nothing() -> None:
    assert weak_parts(drawn(100.0, 0.9, {}, {}), CHASSIS) == []
    assert weak_parts([PairRate("sorted", "a", "b", 100.0)]) == []
    assert weak_parts([]) == []
