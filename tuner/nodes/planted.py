"""Checks of virtual clusters in which faults are planted: nothing is measured, the truth is known.

Each node is a little faster or slower than others (DIFFERENT), each run is disturbed a little (DISTURBED), and some
runs are disturbed by something else on the node (HICCUPS). The sizes are those of a published cluster: the single-node
HPL of 482 blades has a standard deviation of 0.7 % and their STREAM one of 1.1 % (Ford 2005). Nodes of today, whose
processors choose their clock by their own heat, differ by 2 to 3 %: `spread` in place of DIFFERENT.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

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
RUNS = 5
GROUP_RATE, GROUP_NOISE, GROUP_ACROSS = 450.0, 0.006, 0.98
"""GFLOPS of a group, their scatter, and what is left of them across switches."""
NETWORK_PART, FAILS = 0.2, 0.5
"""Part of its time that a group sends messages, and the probability that a flaky node spoils the result of a run."""
KINDS = (
    "slow-node",
    "flaky-node",
    "half-memory",
    "weak-cable",
    "weak-uplink",
    "wrong-mtu",
    "throttled-class",
    "oversubscribed",
)


@dataclass(frozen=True)
class VirtualScatter:
    """How much sound nodes differ, and how often each runs.

    Attributes:
        spread: standard deviation between nodes, as a part of the rate, of processor and memory each by itself; the
            noise of runs comes on top.
        runs: of each benchmark on each node.
    """

    spread: float = DIFFERENT
    runs: int = RUNS


BLADES = VirtualScatter()
"""As the published cluster."""


@dataclass(frozen=True)
class PlantedFault:
    """Something that is wrong in a virtual cluster.

    Attributes:
        kind: one of KINDS.
        names: the nodes, or the switch of a weak or oversubscribed uplink.
        percent: what it takes of the rate; of an oversubscribed uplink while all nodes send.
    """

    kind: str
    names: tuple[str, ...]
    percent: float = 5.0


def virtual_name(size: int) -> str:
    """Return the name of a virtual cluster of so many nodes."""
    return f"virtual-{size}"


def virtual_check(
    size: int,
    per_switch: int = 16,
    faults: Sequence[PlantedFault] = (),
    seed: int = 0,
    groups: int | None = None,
    scatter: VirtualScatter = BLADES,
) -> NodeCheck:
    """Make the check of a virtual cluster of equal nodes.

    Args:
        size: number of nodes, node001 …
        per_switch: nodes at each switch, s01 …
        seed: of all that is random.
        groups: nodes of each group on which HPL runs; None groups no nodes.
    """
    chance = np.random.default_rng(seed)
    digits = max(3, len(str(size)))
    nodes = tuple(f"node{number:0{digits}}" for number in range(1, size + 1))
    switches = {node: f"s{place // per_switch + 1:02}" for place, node in enumerate(nodes)}
    facts = _facts(nodes, faults)
    own = _own(nodes, scatter.spread, chance)
    rates = {"memory": _own(nodes, scatter.spread, np.random.default_rng([seed, size]))}
    found = [
        NodeRun(
            name,
            node,
            _value(name, node, rates.get(BENCHMARKS[name].part, own)[node], faults, chance),
            accurate=_is_accurate(node, faults, chance),
        )
        for name in BENCHMARKS
        for node in nodes
        for _ in range(scatter.runs)
    ]
    pairs = _pairs(nodes, switches, faults, seed, chance)
    return NodeCheck(
        cluster=virtual_name(size),
        checked_at=datetime.now(UTC),
        nodes=nodes,
        classes=dict.fromkeys(nodes, "virtual"),
        facts=facts,
        runs=tuple(found),
        pairs=tuple(pairs),
        pairs_at_once=tuple(_at_once(pair, switches, faults, chance) for pair in pairs),
        switches=switches,
        groups=tuple(_groups(groups, own, switches, faults, chance)) if groups else (),
    )


def _own(nodes: Sequence[str], spread: float, chance: np.random.Generator) -> dict[str, float]:
    """By how much each node is faster or slower than others, as a factor."""
    return {node: float(np.exp(chance.normal() * spread)) for node in nodes}


def _groups(
    size: int,
    own: Mapping[str, float],
    switches: Mapping[str, str],
    faults: Sequence[PlantedFault],
    chance: np.random.Generator,
) -> Iterator[GroupRun]:
    """HPL waits for the slowest node of a group; a flaky one spoils some of its results."""
    for order in ORDERS:
        for turn in range(1, RUNS + 1):
            for nodes in groups_of(order, tuple(own), size, turn):
                across = len({switches[node] for node in nodes}) > 1
                slowest = min(own[node] for node in nodes)
                rate = GROUP_RATE * slowest * (GROUP_ACROSS if across else 1.0)
                rate *= 1.0 - max((_lost(fault, nodes, switches) for fault in faults), default=0.0)
                flaky = any(fault.kind == "flaky-node" and set(fault.names) & set(nodes) for fault in faults)
                accurate = not (flaky and chance.random() < FAILS)
                yield GroupRun(order, turn, nodes, rate * float(np.exp(chance.normal() * GROUP_NOISE)), accurate)


def _lost(fault: PlantedFault, nodes: Sequence[str], switches: Mapping[str, str]) -> float:
    """The part of the rate of a group that a fault takes."""
    ends = {switches[node] for node in nodes}
    share = {"slow-node": 1.0, "throttled-class": 1.0, "weak-cable": NETWORK_PART, "wrong-mtu": NETWORK_PART}
    across = {"weak-uplink": NETWORK_PART, "oversubscribed": NETWORK_PART}
    if set(fault.names) & set(nodes):
        return share.get(fault.kind, 0.0) * fault.percent / 100.0
    if len(ends) > 1 and ends & set(fault.names):
        return across.get(fault.kind, 0.0) * fault.percent / 100.0
    return 0.0


def _facts(nodes: Sequence[str], faults: Sequence[PlantedFault]) -> dict[str, dict[str, str]]:
    """The facts of sound nodes, and what faults change in them."""
    usual = {"memory": "64 GiB", "dimms": "8", "mtu": "9000", "governor": "performance", "bios": "1.9.2"}
    facts = {name: dict.fromkeys(nodes, value) for name, value in usual.items()}
    changed = {
        "half-memory": {"memory": "32 GiB", "dimms": "4"},
        "wrong-mtu": {"mtu": "1500"},
        "throttled-class": {"bios": "1.7.0"},
    }
    for fault in faults:
        for name, value in changed.get(fault.kind, {}).items():
            facts[name].update(dict.fromkeys(fault.names, value))
    return facts


def _value(name: str, node: str, own: float, faults: Sequence[PlantedFault], chance: np.random.Generator) -> float:
    part = BENCHMARKS[name].part
    loss = 1.0
    for fault in faults:
        slows = {
            "slow-node": part in {"processor", "all"},
            "half-memory": part == "memory" or (part == "all" and fault.percent >= 10.0),
            "throttled-class": part in {"processor", "all"},
        }
        if node in fault.names and slows.get(fault.kind, False):
            loss *= 1.0 - fault.percent / 100.0
    noise = float(np.exp(chance.normal() * DISTURBED))
    if chance.random() < HICCUPS:
        noise *= 1.0 - min(0.9, float(chance.exponential(HICCUP)))
    return USUAL[BENCHMARKS[name].unit] * own * loss * noise


def _is_accurate(node: str, faults: Sequence[PlantedFault], chance: np.random.Generator) -> bool:
    """A flaky node computes wrongly now and then."""
    flaky = any(fault.kind == "flaky-node" and node in fault.names for fault in faults)
    return not (flaky and chance.random() < 0.2)


def _pairs(
    nodes: Sequence[str],
    switches: Mapping[str, str],
    faults: Sequence[PlantedFault],
    seed: int,
    chance: np.random.Generator,
) -> list[PairRate]:
    found = []
    for pattern in PATTERNS:
        for one, other in pairs_of(pattern, nodes, seed):
            rate = PAIR_RATE * float(np.exp(chance.normal() * PAIR_NOISE))
            across = switches[one] != switches[other]
            rate *= ACROSS if across else 1.0
            for fault in faults:
                cable = fault.kind in {"weak-cable", "wrong-mtu"} and not {one, other}.isdisjoint(fault.names)
                uplink = fault.kind == "weak-uplink" and across
                ends = {switches[one], switches[other]} if uplink else set()
                if cable or not ends.isdisjoint(fault.names):
                    rate *= 1.0 - fault.percent / 100.0
            found.append(PairRate(pattern, one, other, rate))
    return found


def _at_once(
    pair: PairRate, switches: Mapping[str, str], faults: Sequence[PlantedFault], chance: np.random.Generator
) -> PairRate:
    """The rate of a pair while all others send: the same where the network carries all."""
    ends = {switches[pair.one], switches[pair.other]}
    rate, noise = pair.rate, AT_ONCE_NOISE
    for fault in faults:
        if fault.kind == "oversubscribed" and len(ends) == 2 and not ends.isdisjoint(fault.names):
            rate, noise = rate * (1.0 - fault.percent / 100.0), UNFAIR
    return replace(pair, rate=rate * float(np.exp(chance.normal() * noise)))
