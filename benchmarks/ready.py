"""How often `hpltune nodes check` names planted faults, and blames something sound.

    python benchmarks/ready.py [--clusters 2000] [--sizes 8 16 64] [--spreads 0.4 1 2 3]

It prints a Markdown table. Nothing is measured: made-up clusters with a known truth are judged.
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from intervals import markdown, percent
from planted import SLOWS, Fault, planted_check
from script import as_script, count

from tuner.nodes.statistics.verdict import verdict_of

WHAT = {"flaky-node": "wrong-results", "weak-uplink": "weak-uplink", "oversubscribed": "oversubscribed"}
WHAT |= {"throttled-class": "two-groups"} | dict.fromkeys(("weak-cable", "wrong-mtu"), "weak-node")
"""What the finding of a fault is called; others are slow nodes."""
PLANTED = {"healthy": [], "3, 7 and 15 %": [3.0, 7.0, 15.0], "one 10 %": [10.0]} | {kind: [5.0] for kind in SLOWS}
"""Faults of a cluster: what each of some nodes loses, or one fault of a kind."""


def faults_of(planted: str, size: int, per_switch: int, chance: np.random.Generator) -> list[Fault]:
    """Draw where the faults are."""
    kind = planted if planted in SLOWS else "slow-node"
    if "uplink" in str(SLOWS[kind]):
        [lost] = PLANTED[planted] if kind == "weak-uplink" else [25.0]
        return [Fault(kind, (f"s{chance.integers(1, -(-size // per_switch) + 1):02}",), lost)]
    if kind == "throttled-class":
        first = chance.integers(1, size - (nodes := max(3, size // 4)) + 2)
        return [Fault(kind, tuple(f"node{number:03}" for number in range(first, first + nodes)))]
    places = chance.choice(size, len(PLANTED[planted]), replace=False) + 1
    return [Fault(kind, (f"node{place:03}",), lost) for place, lost in zip(places, PLANTED[planted], strict=True)]


def judged(planted: str, size: int, spread: float, clusters: int) -> tuple[list[bool], list[bool]]:
    """Judge clusters: whether all faults of each are named as what they are, and whether something sound is blamed."""
    named, blamed = [], []
    for seed in range(clusters):
        faults = faults_of(planted, size, per_switch := max(4, size // 4), np.random.default_rng([seed, size]))
        findings = verdict_of(planted_check(size, per_switch, faults, seed, spread=spread)).findings
        found = {(finding.what, finding.names) for finding in findings}
        named.append({(WHAT.get(fault.kind, "slow-node"), fault.names) for fault in faults} <= found)
        guilty = {name for fault in faults for name in fault.names}
        blamed.append(any(not set(names) <= guilty for _, names in found))
    return named, blamed


def main(arguments: Sequence[str], say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=count, default=100, help="of each kind")
    parser.add_argument("--sizes", type=count, nargs="+", default=[16, 64], help="numbers of nodes")
    parser.add_argument("--spreads", type=float, nargs="+", default=[0.4], help="of sound nodes, in percent")
    parser.add_argument("--planted", nargs="+", choices=PLANTED, default=list(PLANTED))
    asked = parser.parse_args(arguments)
    cases = [(what, size, spread) for spread in asked.spreads for size in asked.sizes for what in asked.planted]
    rows = []
    for what, size, spread in cases:
        named, blamed = judged(what, size, spread / 100.0, asked.clusters)
        rows.append([f"{spread:g} %", str(size), what, percent(named) if what != "healthy" else "", percent(blamed)])
    say(markdown(["sound nodes differ by", "nodes", "fault", "all named", "something sound blamed"], rows))
    return 0


if __name__ == "__main__":
    as_script(main)
