"""How many planted faults `hpltune nodes check` finds and names rightly, and how often it blames a healthy cluster.

Run: python benchmarks/ready.py [--clusters 100] [--sizes 16 64 512] [--percent 5]
It prints a Markdown table. Nothing is measured: virtual clusters with a known truth are judged.
"""

import argparse
import random
import time

from tuner.nodes.planted import KINDS, PlantedFault, virtual_check
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of

CLASS = 0.25
"""Part of the nodes in a throttled class."""
WORSE = 5.0
"""How much more than other faults an oversubscribed uplink takes: a few percent less at once are no fault."""


def planted(kind: str, size: int, per_switch: int, percent: float, chance: random.Random) -> PlantedFault:
    node = f"node{chance.randrange(1, size + 1):03}"
    if kind in {"weak-uplink", "oversubscribed"}:
        percent = percent if kind == "weak-uplink" else WORSE * percent
        return PlantedFault(kind, (f"s{chance.randrange(1, -(-size // per_switch) + 1):02}",), percent)
    if kind == "throttled-class":
        count = max(4, int(CLASS * size))
        first = chance.randrange(1, size - count + 2)
        return PlantedFault(kind, tuple(f"node{number:03}" for number in range(first, first + count)), percent)
    return PlantedFault(kind, (node,), percent)


def is_named(fault: PlantedFault, verdict: ReadinessVerdict) -> bool:
    """Whether the verdict names this fault: what it is, and the node, switch or setting."""
    wanted = {
        "slow-node": ("slow-node", "processor"),
        "flaky-node": ("wrong-results", ""),
        "half-memory": ("slow-node", "memory"),
        "oversubscribed": ("oversubscribed", "network"),
        "weak-cable": ("weak-node", "network"),
        "weak-uplink": ("weak-uplink", "network"),
        "wrong-mtu": ("weak-node", "network"),
        "throttled-class": ("two-groups", "bios"),
    }[fault.kind]
    for finding in verdict.findings:
        if finding.what != wanted[0]:
            continue
        if fault.kind == "throttled-class":
            groups = verdict.groups.get(finding.part)
            if groups and set(finding.names) == set(fault.names) and groups[1] and groups[1][0].fact == "bios":
                return True
        elif finding.names == fault.names:
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 64, 512])
    parser.add_argument("--percent", type=float, default=5.0)
    asked = parser.parse_args()
    print(
        f"| nodes | fault of {asked.percent:g} % | clusters | found and named | something sound blamed | s a cluster |"
    )
    print("|---|---|---|---|---|---|")
    for size in asked.sizes:
        per_switch = 16 if size > 16 else 4
        for kind in (None, *KINDS):
            began, named, wrong = time.process_time(), 0, 0
            for seed in range(asked.clusters):
                fault = planted(kind, size, per_switch, asked.percent, random.Random(seed)) if kind else None
                verdict = verdict_of(virtual_check(size, per_switch, [fault] if fault else [], seed))
                named += fault is not None and is_named(fault, verdict)
                guilty = set(fault.names) if fault else set()
                wrong += any(not set(finding.names) <= guilty for finding in verdict.findings)
            cost = (time.process_time() - began) / asked.clusters
            shown = f"{100 * named / asked.clusters:.0f} %" if kind else ""
            print(
                f"| {size} | {kind or 'none'} | {asked.clusters} | {shown} | {100 * wrong / asked.clusters:.0f} % "
                f"| {cost:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
