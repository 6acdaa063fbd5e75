"""What `hpltune nodes check` tells of clusters whose sound nodes differ as much as those of today: by 1, 2 and 3 %.

    python benchmarks/spreads.py
    python benchmarks/spreads.py --clusters 50 --sizes 16 64

Nothing is measured: virtual clusters with a known truth are judged. Each is drawn healthy, with one node that is 10 %
slow, and with one node in eight overheated: 8 to 18 % slow, as were four nodes of 32 in a cluster of today.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from intervals import markdown, percent
from script import as_script, count

from tuner.nodes.planted import PlantedFault, VirtualScatter, virtual_check
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of

SPREADS = (0.01, 0.02, 0.03)
ONE_SLOW = 10.0
OVERHEATED = (8.0, 18.0)
IN_EIGHT = 8


@dataclass
class Told:
    """What was told of some clusters.

    Attributes:
        blamed: whether something sound is called slow or odd.
        named: for each bad node whether it is called slow.
        told: for each bad node whether it is called slow, or one that HPL waits for.
        waits: what HPL loses by waiting for the slowest node, in percent.
        gains: what leaving nodes out gives, in percent.
    """

    blamed: list[bool] = field(default_factory=list)
    named: list[bool] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)

    def add(self, verdict: ReadinessVerdict, bad: Sequence[str]) -> None:
        """Hold a verdict against the truth."""
        [waiting] = verdict.waiting
        self.blamed.append(any(not set(finding.names) <= set(bad) for finding in verdict.findings))
        self.named += [node in verdict.slow for node in bad]
        self.told += [node in verdict.slow or node in waiting.notable for node in bad]
        self.waits.append(waiting.percent)
        self.gains.append(100.0 * (waiting.left_gflops / waiting.gflops - 1.0))

    @property
    def costs(self) -> tuple[str, str]:
        """Return the medians of what HPL loses and of what leaving nodes out gives."""
        return f"{float(np.median(self.waits)):.1f} %", f"{float(np.median(self.gains)):.1f} %"


def judged(size: int, spread: float, slow: Sequence[float], clusters: int) -> Told:
    """Judge clusters in which so many nodes are slow, each by so many percent."""
    told = Told()
    for seed in range(clusters):
        places = np.random.default_rng([seed, size]).choice(size, len(slow), replace=False) + 1
        bad = [f"node{place:03}" for place in places]
        faults = [PlantedFault("slow-node", (node,), lost) for node, lost in zip(bad, slow, strict=True)]
        per_switch = 16 if size > 16 else 4
        told.add(verdict_of(virtual_check(size, per_switch, faults, seed, scatter=VirtualScatter(spread))), bad)
    return told


def main(arguments: Sequence[str], say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=count, default=100, help="of each kind")
    parser.add_argument("--sizes", type=count, nargs="+", default=[16, 64, 512], help="numbers of nodes")
    asked = parser.parse_args(arguments)
    odd, cost = [], []
    for spread in SPREADS:
        for size in asked.sizes:
            hot = np.linspace(*OVERHEATED, size // IN_EIGHT).tolist()
            healthy, one, eighth = (judged(size, spread, slow, asked.clusters) for slow in ([], [ONE_SLOW], hot))
            row = [f"{100.0 * spread:g} %", str(size)]
            named = [percent(one.named), percent(eighth.named), percent(eighth.told)]
            odd.append([*row, percent(healthy.blamed), *named, percent([*one.blamed, *eighth.blamed])])
            cost.append([*row, *(cell for kind in (healthy, one, eighth) for cell in kind.costs)])
    say(f"{asked.clusters} clusters of each kind; of a hundred, ± standard error.\n")
    heads = ["sound nodes differ by", "nodes", "healthy: something blamed", f"one {ONE_SLOW:g} % slow: named"]
    heads += ["one in eight 8 to 18 % slow: each named", "each named or waited for", "sound blamed beside them"]
    say(markdown(heads, odd) + "\n")
    heads = ["sound nodes differ by", "nodes"]
    for kind in ("healthy", f"one {ONE_SLOW:g} % slow", "one in eight"):
        heads += [f"{kind}: HPL loses", "leaving out gives"]
    say(markdown(heads, cost))
    return 0


if __name__ == "__main__":
    as_script(main)
