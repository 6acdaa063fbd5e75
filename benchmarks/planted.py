"""Checks of made-up clusters in which faults are planted: nothing is measured, the truth is known.

Each node is a little faster or slower than others, each run is disturbed a little (DISTURBED), and some runs are
disturbed by something else on the node (HICCUPS). The sizes are those of a published cluster: the single-node HPL of
482 blades has a standard deviation of 0.7 % and their STREAM one of 1.1 % (Ford 2005). Nodes of today, whose processors
choose their clock by their own heat, differ by 2 to 3 %.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product

import numpy as np

from results.node_check import BENCHMARKS, ORDERS, PATTERNS, GroupRun, NodeCheck, NodeRun, PairRate, groups_of, pairs_of

DIFFERENT, DISTURBED = 0.004, 0.007
"""Standard deviations between nodes, and between runs of a node, as parts of the rate."""
HICCUPS, HICCUP = 0.03, 0.10
"""Part of the runs that something else disturbs, and what it takes of their rate on average."""
USUAL = {"MB/s": 12_000.0, "GFLOPS": 75.0, "GUP/s": 0.05}
"""Rates by unit; only their scatter matters."""
PAIR_RATE, ACROSS, PAIR_NOISE = 1150.0, 0.95, 0.008
"""Rate between two nodes at one switch in MB/s, what is left of it across switches, and its scatter."""
AT_ONCE_NOISE, UNFAIR = 0.02, 0.15
"""Scatter of rates while all pairs send, and of those that share an uplink that cannot carry them all."""
GROUP_RATE, GROUP_NOISE, GROUP_ACROSS = 450.0, 0.006, 0.98
"""GFLOPS of a group, their scatter, and what is left of them across switches."""
GROUP_TURNS, NETWORK_PART, WRONG_ALONE, WRONG_IN_GROUP = 5, 0.2, 0.2, 0.5
"""Turns of groups, the part of its time that a group sends, and how often a flaky node spoils a run."""
USUAL_FACTS = {"memory": "64 GiB", "dimms": "8", "mtu": "9000", "governor": "performance", "bios": "1.9.2"}
OTHER_FACTS = {
    "half-memory": {"memory": "32 GiB", "dimms": "4"},
    "wrong-mtu": {"mtu": "1500"},
    "throttled-class": {"bios": "1.7.0"},
}
SLOWS = {
    "slow-node": {"processor", "all"},
    "throttled-class": {"processor", "all"},
    "half-memory": {"memory", "all"},
    "flaky-node": {"results"},
    "weak-cable": {"network"},
    "wrong-mtu": {"network"},
    "weak-uplink": {"uplink"},
    "oversubscribed": {"uplink at once"},
}
"""Kinds of faults, and the parts of a machine that each slows."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong.

    Attributes:
        kind: one of SLOWS.
        names: the nodes, or the switch of a weak or oversubscribed uplink.
        percent: what it takes of the rate; of an oversubscribed uplink while all nodes send.
    """

    kind: str
    names: tuple[str, ...]
    percent: float = 5.0


def left(faults: Sequence[Fault], part: str, names: Collection[str]) -> float:
    """Return what faults of nodes or switches leave of the rate of a part."""
    own = [one for one in faults if part in SLOWS[one.kind] and not set(names).isdisjoint(one.names)]
    return float(np.prod([1.0 - fault.percent / 100.0 for fault in own]))


def across(switches: Mapping[str, str], nodes: Sequence[str]) -> set[str]:
    """Return the switches of nodes, where these are several."""
    ends = {switches[node] for node in nodes}
    return ends if len(ends) > 1 else set()


def planted_check(  # noqa: PLR0913
    size: int,
    per_switch: int = 16,
    faults: Sequence[Fault] = (),
    seed: int = 0,
    *,
    groups: int | None = None,
    spread: float = DIFFERENT,
    runs: int = 5,
) -> NodeCheck:
    """Make the check of a cluster of equal nodes, node001 … at switches s01 …

    Args:
        per_switch: nodes at each switch.
        groups: nodes of each group on which HPL runs; None groups no nodes.
        spread: standard deviation between nodes, as a part of the rate, of processor and memory each by itself.
        runs: of each benchmark on each node.
    """
    chance, nodes = np.random.default_rng(seed), tuple(f"node{number:03}" for number in range(1, size + 1))
    switches = {node: f"s{place // per_switch + 1:02}" for place, node in enumerate(nodes)}
    own, memory = (
        {node: float(drawn.lognormal(0.0, spread)) for node in nodes}
        for drawn in (chance, np.random.default_rng([seed, size]))
    )
    facts = {name: dict.fromkeys(nodes, value) for name, value in USUAL_FACTS.items()}
    for fault in faults:
        for name, value in OTHER_FACTS.get(fault.kind, {}).items():
            facts[name].update(dict.fromkeys(fault.names, value))
    ran, paired = [], []
    for (name, one), node, _ in product(BENCHMARKS.items(), nodes, range(runs)):
        rate = USUAL[one.unit] * (memory if one.part == "memory" else own)[node] * left(faults, one.part, (node,))
        rate *= float(chance.lognormal(0.0, DISTURBED))
        if chance.random() < HICCUPS:
            rate *= 1.0 - min(0.9, float(chance.exponential(HICCUP)))
        accurate = left(faults, "results", (node,)) == 1.0 or chance.random() >= WRONG_ALONE
        ran.append(NodeRun(name, node, rate, accurate=accurate))
    for pattern, pair in ((way, pair) for way in PATTERNS for pair in pairs_of(way, nodes, seed)):
        rate = PAIR_RATE * float(chance.lognormal(0.0, PAIR_NOISE)) * left(faults, "network", pair)
        rate *= ACROSS * left(faults, "uplink", ends) if (ends := across(switches, pair)) else 1.0
        paired.append(PairRate(pattern, *pair, rate))
    shares = [left(faults, "uplink at once", across(switches, (pair.one, pair.other))) for pair in paired]
    at_once = tuple(
        replace(pair, rate=pair.rate * share * float(chance.lognormal(0.0, UNFAIR if share < 1.0 else AT_ONCE_NOISE)))
        for pair, share in zip(paired, shares, strict=True)
    )
    grouped = _groups(groups, own, switches, faults, chance) if groups else ()
    same = dict.fromkeys(nodes, "made up")
    check = NodeCheck(f"lab-{size}", datetime.now(UTC), nodes, {}, same, facts, tuple(ran), tuple(paired), at_once)
    return replace(check, switches=switches, groups=tuple(grouped))


def _groups(
    size: int,
    own: Mapping[str, float],
    switches: Mapping[str, str],
    faults: Sequence[Fault],
    chance: np.random.Generator,
) -> Iterator[GroupRun]:
    """HPL waits for the slowest node of a group; a flaky one spoils some of its results."""
    for order, turn in product(ORDERS, range(1, GROUP_TURNS + 1)):
        for nodes in groups_of(order, tuple(own), size, turn):
            ends = across(switches, nodes)
            sends = left(faults, "network", nodes) * left(faults, "uplink", ends) * left(faults, "uplink at once", ends)
            rate = GROUP_RATE * min(own[node] * left(faults, "processor", (node,)) for node in nodes)
            rate *= (GROUP_ACROSS if ends else 1.0) * (1.0 - NETWORK_PART * (1.0 - sends))
            accurate = left(faults, "results", nodes) == 1.0 or chance.random() >= WRONG_IN_GROUP
            yield GroupRun(order, turn, nodes, rate * float(chance.lognormal(0.0, GROUP_NOISE)), accurate)
