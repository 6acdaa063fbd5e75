"""What `hpltune nodes check` tells of clusters whose sound nodes differ as much as those of today: by 1, 2 and 3 %.

    python benchmarks/spreads.py
    python benchmarks/spreads.py --clusters 50 --sizes 16 64
    python benchmarks/spreads.py --several
    python benchmarks/spreads.py --published dgemm_calibration_slownodes.csv --slow 13 14 15 16

The second table is of 16 nodes of which three are slow by 3, 7 and 15 %, none is, or one is 8 % slow; the third of the
days that others measured and published: node, cpu, start_time and avg_gflops of each row of a CSV file.

Nothing is measured: virtual clusters with a known truth are judged. Each is drawn healthy, with one node that is 10 %
slow, and with one node in eight overheated: 8 to 18 % slow, as were four nodes of 32 in a cluster of today.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from intervals import markdown, percent
from script import as_script, count

from results.node_check import NodeCheck, NodeRun
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


def several(clusters: int) -> list[list[str]]:
    """Judge 16 nodes of which several are slow, for each spread and each fault."""
    rows = []
    for spread in (0.004, 0.007, 0.01):
        for lost in ((3.0, 7.0, 15.0), (), (8.0,)):
            verdicts, bad = [], [f"node{place:03}" for place in (4, 9, 13)][: len(lost)]
            faults = [PlantedFault("slow-node", (node,), one) for node, one in zip(bad, lost, strict=True)]
            for seed in range(7000, 7000 + clusters):
                made = virtual_check(16, 16, faults, seed, scatter=VirtualScatter(spread))
                verdicts.append(verdict_of(replace(made, pairs=(), pairs_at_once=())))
            kind = ", ".join(f"{one:g}" for one in lost) or "none"
            rows.append([f"{100.0 * spread:g} %", kind, *_counted(verdicts, bad)])
    return rows


def published(file: Path, slow: Sequence[str]) -> list[str]:
    """Judge each day that somebody measured: the sum over the processors of a node is its rate."""
    days: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    with file.open() as lines:
        for row in csv.DictReader(lines):
            day = f"{datetime.fromtimestamp(int(row['start_time']), UTC):%Y-%m-%d}"
            days[day][f"node{int(row['node']):03}"][row["cpu"]].append(float(row["avg_gflops"]))
    verdicts = []
    for own in days.values():
        rates = {node: sum(sum(one) / len(one) for one in cpus.values()) for node, cpus in sorted(own.items())}
        whole = {node: rate for node, rate in rates.items() if len(own[node]) == max(map(len, own.values()))}
        runs = tuple(NodeRun("dgemm-all", node, rate) for node, rate in whole.items())
        verdicts.append(verdict_of(NodeCheck("published", datetime.now(UTC), tuple(whole), runs=runs)))
    return [file.stem, *_counted(verdicts, [f"node{int(one):03}" for one in slow])]


def _counted(verdicts: Sequence[ReadinessVerdict], bad: Sequence[str]) -> list[str]:
    """Count those in which all bad nodes are named, or told as waited for, others are blamed, and all is ready."""
    named = told = blamed = ready = 0
    for verdict in verdicts:
        here = set(bad) & set(verdict.check.nodes)
        waited = {node for one in verdict.waiting for node in one.notable}
        named += here <= set(verdict.slow)
        told += here <= {*verdict.slow, *waited}
        blamed += bool(set(verdict.slow) - here)
        ready += verdict.ready
    figures = [f"{one} of {len(verdicts)}" for one in (named, told, blamed, ready)]
    return figures if bad else ["", "", *figures[2:]]


def main(arguments: Sequence[str], say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=count, default=100, help="of each kind")
    parser.add_argument("--sizes", type=count, nargs="+", default=[16, 64, 512], help="numbers of nodes")
    parser.add_argument("--several", action="store_true", help="three slow nodes of 16, none and one")
    parser.add_argument("--published", type=Path, help="a CSV file of rates that others measured")
    parser.add_argument("--slow", nargs="*", default=[], help="the numbers of its slow nodes")
    asked = parser.parse_args(arguments)
    counted = ["all slow named", "or waited for", "others blamed", "ready"]
    if asked.several:
        say(markdown(["sound nodes differ by", "slow by, %", *counted], several(asked.clusters)))
        return 0
    if asked.published:
        say(markdown(["published", *counted], [published(asked.published, asked.slow)]))
        return 0
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
