"""The verdict on a cluster: which nodes are ready, which are not and why, and what the slowest ones cost HPL.

HPL gives all nodes the same work, and each step waits for the slowest of them. So n nodes do n times what the slowest
one does, before what the network takes; without it the others do n - 1 times what the next one does. This is
arithmetic, and no test.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median, median_high

import numpy as np
import scipy

from results.disturbance import Disturbance
from results.node_check import BENCHMARKS, Finding, NodeCheck, NodeRun, Severity, ranges

from .group_findings import group_findings
from .network_findings import network_findings
from .odd_nodes import (
    FALSE_ALARMS,
    FEWEST,
    FEWEST_FOR_SHAPE,
    LEAST_PERCENT,
    NodeScore,
    SeparatingFact,
    TwoGroups,
    odd_in_family,
    scores,
    separating_facts,
    split_by_fact,
)
from .rate_changes import RunNoise
from .run_conditions import but_disturbed, disturbed_findings, memory_findings, processor_findings, without

RATES = ("hpl", "dgemm-all")
"""Benchmarks that tell how fast a node is in HPL, the best one first."""
FEWEST_WAITING = 2
"""Nodes that have a slowest one beside a usual one."""
NOTABLE_PERCENT = 3.0
"""A node so far below the median is named, and HPL on all nodes loses as much: such a cluster is not ready."""
MOST_NAMED = 8


@dataclass(frozen=True)
class WaitedNode:
    """A node that is slower than the median.

    Attributes:
        gflops: of its best run.
        percent: how far it is below the median.
        runs: how many it made; the best is so far below the median, and the others are farther.
        noise: whether runs of one node differ by as much; None where no node ran twice.
        others_gflops: what all faster nodes do together without it.
        disturbed: what disturbed all of its runs, and what to do; "" where one was quiet.
    """

    node: str
    gflops: float
    percent: float
    runs: int
    noise: bool | None
    others_gflops: float
    disturbed: str = ""


@dataclass(frozen=True)
class WaitingCost:
    """What HPL on all nodes of a class loses, because it waits for the slowest.

    Attributes:
        benchmark: that tells how fast a node is.
        node_class: "" where there is one class.
        median: GFLOPS of a usual undisturbed node: the upper one of the two in the middle, so that half may be slow.
        gflops: what all nodes do together.
        slower: nodes that are LEAST_PERCENT below the median, slowest first; none where nobody is waited for.
        left_out: the slowest nodes without which the others do most; none where all nodes do.
        left_gflops: what the others do then.
    """

    benchmark: str
    node_class: str
    nodes: int
    median: float
    gflops: float
    slower: tuple[WaitedNode, ...]
    left_out: tuple[str, ...]
    left_gflops: float

    @property
    def percent(self) -> float:
        """Return how far the slowest node is below the median: as much HPL loses."""
        return self.slower[0].percent if self.slower else 0.0

    @property
    def costly(self) -> tuple[WaitedNode, ...]:
        """Return the undisturbed nodes for which HPL waits so long that a cluster is not ready, slowest first."""
        return tuple(one for one in self.slower if one.percent >= NOTABLE_PERCENT and not one.disturbed)

    @property
    def notable(self) -> tuple[str, ...]:
        """Return the nodes that cost so much that they are named, slowest first."""
        return tuple(one.node for one in self.slower if one.percent >= NOTABLE_PERCENT)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say for whom HPL waits, what that costs, and what leaving nodes out would give."""
        if not self.slower:
            return ()
        first, title = self.slower[0], BENCHMARKS[self.benchmark].title
        others = self.notable[1:]
        among = f"Of the nodes with {self.node_class}, " if self.node_class else ""
        said = f"{among}HPL waits for {first.node}, {first.percent:.1f} % below the median of {title}{_noise(first)}."
        at_median = _figure(self.nodes * self.median)
        together = f"{_figure(self.gflops)} GFLOPS, at the median's {at_median}"
        cost = f"At its speed {self.nodes} nodes do {together}, before what the network takes"
        gain = 100.0 * (self.left_gflops / self.gflops - 1.0)
        left = f"the other {self.nodes - len(self.left_out)} do {_figure(self.left_gflops)} ({gain:.1f} % more)"
        out = f"without {_named(self.left_out)} {left}" if self.left_out else "leaving slow nodes out gives no more"
        verb = "is" if len(others) == 1 else "are"
        more = (f"{_named(others)} {verb} {NOTABLE_PERCENT:g} % or more below it, too.",) if others else ()
        return (said, f"{cost}; {out}.", *more)


def _figure(gflops: float) -> str:
    return f"{gflops:,.0f}" if gflops >= 1000.0 else f"{gflops:.4g}"


def _named(nodes: Collection[str]) -> str:
    first, more = list(nodes)[:MOST_NAMED], len(nodes) - MOST_NAMED
    return f"{', '.join(first)} and {more} more" if more > 0 else ranges(first)


def _noise(first: WaitedNode) -> str:
    if first.disturbed:
        return f", {first.disturbed}"
    if first.noise is None:
        return "; no node ran twice, so it may be noise"
    if first.noise:
        return "; runs of one node differ as much, so it may be noise"
    return f" in the best of its {first.runs} runs, so it is no noise" if first.runs > 1 else ""


def waiting(check: NodeCheck, results: Mapping[str, Mapping[str, float]], node_class: str) -> WaitingCost | None:
    """Work out what the slowest nodes of a class cost; None where too little was measured.

    Args:
        results: of each benchmark the best result of each node that computes rightly.
    """
    name = next((name for name in RATES if results.get(name)), "")
    measured = results.get(name, {})
    members = {node for node in measured if check.classes.get(node, "") == node_class}
    rates = {node: rate for node, rate in measured.items() if node in members and rate > 0.0}
    if len(rates) < FEWEST_WAITING:
        return None
    order = sorted(rates, key=lambda node: (rates[node], node))
    together = [(len(order) - place) * rates[node] for place, node in enumerate(order)]
    runs = Counter(run.node for run in check.deciding() if run.benchmark == name)
    disturbed = check.always_disturbed().get(name, {})
    middle = median_high([rate for node, rate in rates.items() if node not in disturbed] or rates.values())
    scatter = _most_by_noise(name, check, len(order))
    slower = tuple(
        WaitedNode(
            node,
            rates[node],
            100.0 * (1.0 - rates[node] / middle),
            runs[node],
            None if scatter is None else math.log(middle / rates[node]) <= scatter,
            together[place + 1],
            but_disturbed(disturbed[node]) if node in disturbed else "",
        )
        for place, node in enumerate(order)
        if 100.0 * (1.0 - rates[node] / middle) >= LEAST_PERCENT
    )
    best = max(range(len(order)), key=together.__getitem__)
    several = len(set(check.classes.values())) > 1
    return WaitingCost(
        benchmark=name,
        node_class=node_class if several else "",
        nodes=len(order),
        median=middle,
        gflops=together[0],
        slower=slower,
        left_out=tuple(order[:best]),
        left_gflops=together[best],
    )


def _most_by_noise(name: str, check: NodeCheck, nodes: int) -> float | None:
    """Return the logarithm by which the best run of no node is low by noise alone, with the risk FALSE_ALARMS.

    None where no node ran twice.
    """
    noise = RunNoise.of(name, check)
    if noise.sd is None:
        return None
    return noise.sd * noise.of_best * float(scipy.stats.t.isf(FALSE_ALARMS / nodes, noise.freedom))


WRONG_ADVICE = "try other memory first, then another processor, then another board"
"""In the order in which the parts of a computer that computes wrongly were at fault (STAB)."""
SAME_GROUPS = 0.8
"""Part of the nodes that two splits have in common which count as one."""

SIGNIFICANT = 0.01
"""Probability, corrected for all pairs, below which a correlation counts."""
CLEAR_FALL = 0.5
"""Kendall's rank correlation of rates with places, from which on nodes stand more in order than not."""
STEP = 1.0 / 3.0
"""Part of the slope of all nodes that each half of them has, from which on rates fall along the row and in no step."""
FEWEST_OF_BOTH = 6
"""Nodes that both benchmarks need."""


@dataclass(frozen=True)
class Correlation:
    """How two benchmarks go together.

    Attributes:
        coefficient: Spearman's, -1 to 1; it is of ranks, so that one odd node does not make it.
        linear: Pearson's, -1 to 1, as STAB's cplot has it.
        p: of the ranks, times the number of pairs that were looked at.
        explains: part of the variance of one that a line in the other explains, 0 to 1.
    """

    one: str
    other: str
    nodes: int
    coefficient: float
    linear: float
    p: float

    @property
    def significant(self) -> bool:
        """Return whether chance does not give it."""
        return self.p < SIGNIFICANT

    @property
    def explains(self) -> float:
        """Return the part of the variance of one that a line in the other explains, 0 to 1."""
        return self.linear**2


@dataclass(frozen=True)
class ReadinessVerdict:
    """Whether a cluster is ready.

    Attributes:
        results: of each benchmark that ran the best result of each node.
        findings: the most serious first.
        groups: two groups of nodes in a benchmark, with the facts that separate them.
        together: benchmarks that go together.
        cannot: sentences on what so few nodes cannot tell.
        waiting: of each class what its slowest nodes cost HPL, whether they are odd or not.
    """

    check: NodeCheck
    results: Mapping[str, Mapping[str, float]]
    findings: tuple[Finding, ...]
    groups: Mapping[str, tuple[TwoGroups, Sequence[SeparatingFact]]]
    together: tuple[Correlation, ...]
    cannot: tuple[str, ...]
    waiting: tuple[WaitingCost, ...]

    @property
    def out(self) -> tuple[str, ...]:
        """Return the nodes that must not be used: they are silent, or compute wrongly."""
        return self._nodes({Severity.OUT})

    @property
    def slow(self) -> tuple[str, ...]:
        """Return the nodes that are slower than the others."""
        return tuple(node for node in self._nodes({Severity.SLOW}) if node not in self.out)

    @property
    def ready(self) -> bool:
        """Return whether nothing was found that slows or falsifies a run, and HPL loses less than NOTABLE_PERCENT."""
        found = any(finding.severity in {Severity.OUT, Severity.SLOW} for finding in self.findings)
        return not found and not any(one.costly for one in self.waiting)

    @property
    def alike(self) -> bool:
        """Return whether nodes of one class are the same, as far as was asked."""
        return not any(finding.severity is Severity.ODD for finding in self.findings)

    def _nodes(self, severities: set[Severity]) -> tuple[str, ...]:
        named = {name for finding in self.findings if finding.severity in severities for name in finding.names}
        return tuple(node for node in self.check.nodes if node in named)


def verdict_of(check: NodeCheck, odd_facts: Sequence[Finding] = ()) -> ReadinessVerdict:
    """Judge what a check found: facts first, then each benchmark, then pairs.

    Args:
        odd_facts: facts in which nodes of one class differ.
    """
    groups: dict[str, tuple[TwoGroups, Sequence[SeparatingFact]]] = {}
    results, wrong = check.results(), _wrong(check)
    out = {name for finding in wrong for name in finding.names}
    sound = {name: {node: one for node, one in own.items() if node not in out} for name, own in results.items()}
    doubtful, classes = check.always_disturbed(), _classes(check)
    findings = [*_silent(check), *wrong, *_network(check, odd_facts), *_slow(check, without(sound, doubtful), groups)]
    findings += [*disturbed_findings(check, classes, out), *processor_findings(check, classes), *memory_findings(check)]
    findings += _gradients(check, without(sound, doubtful), groups)
    findings += group_findings(check.groups, check.switches, {*out, *check.silent})
    slow = {name for finding in findings if finding.severity is Severity.SLOW for name in finding.names}
    halves = [own for own in classes if not own & slow]
    together, cannot = tuple(correlations(without(results, doubtful))), _cannot(check, sound)
    cannot += [said for own in halves for said in _halves(own, without(sound, doubtful), check.facts)]
    names = dict.fromkeys(check.classes.get(node, "") for node in check.nodes)
    usable = {name: {node: one for node, one in own.items() if node not in check.silent} for name, own in sound.items()}
    waits = tuple(one for name in names if (one := waiting(check, usable, name)) is not None)
    return ReadinessVerdict(check, results, in_order(findings), groups, together, tuple(cannot), waits)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings, the most serious first."""
    order = list(Severity)
    return tuple(sorted(findings, key=lambda finding: (order.index(finding.severity), -finding.percent)))


def _silent(check: NodeCheck) -> list[Finding]:
    return [
        Finding(Severity.OUT, "silent", (node,), "answer", f"{node} is out: {reason.removeprefix(f'node {node}: ')}")
        for node, reason in check.silent.items()
    ]


def _wrong(check: NodeCheck) -> list[Finding]:
    """Find nodes that gave a wrong result, if only once, or none."""
    failed: dict[str, list[NodeRun]] = defaultdict(list)
    runs = Counter((run.node, run.benchmark) for run in check.runs)
    for run in check.runs:
        if not run.accurate:
            failed[run.node].append(run)
    found = []
    for node, own in failed.items():
        wrong = Counter(run.benchmark for run in own if run.value is not None)
        named = ", ".join(f"{BENCHMARKS[name].title} {count} of {runs[node, name]}" for name, count in wrong.items())
        first = next((run.reason for run in own if run.value is not None), "")
        why = f"; the first: {first}" if first else ""
        sentence = f"{node} is out: it computes wrongly (results that failed their check: {named}{why}); {WRONG_ADVICE}"
        if not wrong:
            sentence = f"{node} is out: {BENCHMARKS[own[0].benchmark].title} gave no result there ({own[0].reason})"
        found.append(Finding(Severity.OUT, "wrong-results", (node,), own[0].benchmark, sentence))
    return found


def _slow(
    check: NodeCheck,
    results: Mapping[str, Mapping[str, float]],
    groups: dict[str, tuple[TwoGroups, Sequence[SeparatingFact]]],
) -> list[Finding]:
    """Find slow nodes and two groups in each class; of one node the simplest benchmark that shows it is named."""
    families: dict[str, dict[str, dict[str, NodeScore]]] = defaultdict(dict)
    found: list[Finding] = []
    for name, measured in results.items():
        own = families[BENCHMARKS[name].part][name] = {}
        for members in _classes(check):
            values = {node: value for node, value in measured.items() if node in members}
            split = split_by_fact(values, check.facts)
            parts = [tuple(values)] if split is None else [split.slow, split.fast]
            if split is not None:
                facts = separating_facts(split, check.facts)
                if not any(_alike(split, known) for known, _ in groups.values()):
                    found.append(_two_groups(name, split, facts))
                groups[name] = (split, facts)
            for part in parts:
                own.update(scores({node: values[node] for node in part}))
    return [*found, *map(_slow_node, _odd(families, len(families) + bool(check.pairs)).values())]


def _odd(families: Mapping[str, Mapping[str, Mapping[str, NodeScore]]], count: int) -> dict[str, dict[str, NodeScore]]:
    """Find odd nodes in each of so many families, which share the risk evenly (Bonferroni), simple benchmarks first."""
    odd: dict[str, dict[str, NodeScore]] = defaultdict(dict)
    for family in families.values():
        for node, found in odd_in_family(family, FALSE_ALARMS / count).items():
            odd[node].update(found)
    order = list(BENCHMARKS)
    return {node: dict(sorted(found.items(), key=lambda one: order.index(one[0]))) for node, found in odd.items()}


def _alike(one: TwoGroups, other: TwoGroups) -> bool:
    """Whether two splits have mostly the same nodes on one side."""
    common = len(set(one.slow) & set(other.slow))
    return common >= SAME_GROUPS * max(len(one.slow), len(other.slow))


def _classes(check: NodeCheck) -> list[set[str]]:
    names = dict.fromkeys(check.classes.get(node, "") for node in check.nodes)
    return [{node for node in check.nodes if check.classes.get(node, "") == name} for name in names]


def _slow_node(results: Mapping[str, NodeScore]) -> Finding:
    name, odd = next(iter(results.items()))
    benchmark = BENCHMARKS[name]
    worst = max(abs(one.percent) for one in results.values())
    more = f"; in {len(results)} benchmarks up to {worst:.1f} %" if len(results) > 1 else ""
    sentence = (
        f"{odd.node} is slow in {benchmark.title}: {odd.value:.4g} {benchmark.unit}, "
        f"{abs(odd.percent):.1f} % below the median{more}"
    )
    return Finding(Severity.SLOW, "slow-node", (odd.node,), name, sentence, worst)


def _two_groups(name: str, split: TwoGroups, facts: Sequence[SeparatingFact]) -> Finding:
    """Name the smaller group: few slower nodes slow a run down, few faster ones are only not like the others."""
    benchmark = BENCHMARKS[name]
    few_are_slow = len(split.slow) <= len(split.fast)
    fewer, side = (split.slow, "slower") if few_are_slow else (split.fast, "faster")
    why = f": {facts[0].fact} is {facts[0].slow} on the slower and {facts[0].fast} on the faster ones" if facts else ""
    sentence = f"{benchmark.title} shows two populations: {ranges(fewer)} are {split.percent:.1f} % {side}{why}"
    severity = Severity.SLOW if few_are_slow else Severity.ODD
    return Finding(severity, "two-groups", fewer, name, sentence, split.percent)


def _network(check: NodeCheck, odd_facts: Sequence[Finding]) -> list[Finding]:
    """Find what is weak between nodes; an odd fact of one node that explains its weakness is told once, there."""
    found = network_findings(check)
    told = {(finding.names, finding.part) for finding in odd_facts}
    explained = {(one.names, fact) for one in found for fact in one.facts if (one.names, fact) in told}
    return [*found, *(finding for finding in odd_facts if (finding.names, finding.part) not in explained)]


def _cannot(check: NodeCheck, results: Mapping[str, Mapping[str, float]]) -> list[str]:
    kinds = [answering for own in _classes(check) if (answering := own - check.silent.keys())]
    said = []
    if len(check.nodes) == 1:
        said.append("There is one node: nothing says whether it is as fast as it should be.")
    elif any(len(members) < FEWEST for members in kinds):
        said.append(f"Fewer than {FEWEST} nodes of a class do not tell which is slow: differences are only shown.")
    doubtful = check.always_disturbed()
    said += [sentence for members in kinds if (sentence := _largest_difference(members, results, doubtful))]
    if len(kinds) > 1:
        named = "; ".join(f"{check.classes.get(min(own), '') or 'unknown'}: {ranges(own)}" for own in kinds)
        said.append(f"There are {len(kinds)} classes of nodes, and only nodes of one are compared ({named}).")
    measured = {node for pair in check.pairs for node in (pair.one, pair.other)}
    if len(measured) == 2:
        said.append("Two nodes have one connection: nothing says whether it is as fast as it should be.")
    elif check.pairs and not check.switches:
        said.append("Nobody told which nodes share a switch: a weak uplink looks like several weak nodes.")
    return said


def _largest_difference(
    members: Collection[str],
    results: Mapping[str, Mapping[str, float]],
    doubtful: Mapping[str, Mapping[str, Disturbance]],
) -> str | None:
    """Name the benchmark in which two to four nodes of a class differ most; None if they do not, or are others."""
    own = {name: {node: one for node, one in found.items() if node in members} for name, found in results.items()}
    ends = {
        name: (min(found, key=found.__getitem__), max(found, key=found.__getitem__))
        for name, found in own.items()
        if 2 <= len(found) < FEWEST
    }
    losses = {name: 100.0 * (1.0 - own[name][low] / own[name][high]) for name, (low, high) in ends.items()}
    name = max(losses, key=losses.__getitem__, default="")
    if not name or losses[name] < LEAST_PERCENT:
        return None
    low, high = ends[name]
    less = f"{low} gives {losses[name]:.1f} % less than {high}"
    disturbed = doubtful.get(name, {}).get(low)
    why = f", {but_disturbed(disturbed)}" if disturbed else ""
    return f"{ranges(own[name])} differ most in {BENCHMARKS[name].title}: {less}{why}."


def _halves(
    members: Collection[str], results: Mapping[str, Mapping[str, float]], facts: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Tell where a gap parts nodes of a class so evenly that no fact says which side is as it should be."""
    name = next((name for name in RATES if results.get(name)), "")
    rates = {node: rate for node, rate in results.get(name, {}).items() if node in members}
    order = [] if split_by_fact(rates, facts) else sorted(rates, key=rates.__getitem__)
    fewest = max(2, -(-len(order) // 3))
    for place in range(fewest, len(order) - fewest + 1):
        low, high = order[:place], order[place:]
        gap = rates[high[0]] - rates[low[-1]]
        percent = 100.0 * (1.0 - median(map(rates.__getitem__, low)) / median(map(rates.__getitem__, high)))
        if percent >= LEAST_PERCENT and gap > max(rates[side[-1]] - rates[side[0]] for side in (low, high)):
            less = f"{ranges(low)} give {percent:.1f} % less than {ranges(high)} in {BENCHMARKS[name].title}"
            yield f"{less}: it is not known which of them are as they should be."


def _gradients(
    check: NodeCheck, results: Mapping[str, Mapping[str, float]], groups: Collection[str]
) -> Iterator[Finding]:
    """Find rates that fall along the nodes of a class, or else along those of a switch, as the cluster lists them.

    The fall is that of a line which half of the nodes cannot bend (Theil 1950, Sen 1968); that it is none by chance is
    told by Kendall's rank correlation, and that it is no step by a fall within each half.

    Args:
        groups: benchmarks in which a fact makes two groups; these are no gradient.
    """
    name = next((name for name in RATES if results.get(name)), "")
    rows = [] if name in groups else _classes(check)
    if len(switches := set(check.switches.values())) > 1:
        on = [{node for node, own in check.switches.items() if own == switch} for switch in sorted(switches)]
        rows += [own & members for own in rows for members in on]
    told: set[str] = set()
    for row in rows:
        nodes = [node for node in check.nodes if node in row and node in results.get(name, {})]
        if len(nodes) < FEWEST_FOR_SHAPE or told & row:
            continue
        rates, places = [results[name][node] for node in nodes], range(len(nodes))
        slope, middle = scipy.stats.theilslopes(rates, places)[0], median(rates)
        percent = 100.0 * abs(slope) * (len(nodes) - 1) / (middle + abs(slope) * (len(nodes) - 1) / 2.0)
        tau, half = scipy.stats.kendalltau(places, rates), len(rates) // 2
        within = (
            min(scipy.stats.theilslopes(part)[0] / slope for part in (rates[:half], rates[half:])) if slope else 0.0
        )
        clear = abs(tau.statistic) >= CLEAR_FALL and tau.pvalue * len(rows) < SIGNIFICANT and within > STEP
        if percent >= LEAST_PERCENT and clear:
            told |= row
            first, last = (nodes[0], nodes[-1]) if slope < 0.0 else (nodes[-1], nodes[0])
            sentence = f"{BENCHMARKS[name].title} falls from {first} to {last} by {percent:.1f} %"
            why = "look at what changes along the row: the air, the power, the water"
            yield Finding(Severity.NOTE, "gradient", (first, last), name, f"{sentence}; {why}", percent)


def correlations(results: Mapping[str, Mapping[str, float]]) -> list[Correlation]:
    """Correlate all pairs of benchmarks, clearest first.

    Args:
        results: of each benchmark by node.
    """
    found = []
    for one, other in combinations(sorted(results), 2):
        nodes = sorted(results[one].keys() & results[other].keys())
        x, y = (np.asarray([results[name][node] for node in nodes]) for name in (one, other))
        if len(nodes) < FEWEST_OF_BOTH or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
            continue
        ranks = scipy.stats.spearmanr(x, y)
        linear = float(np.corrcoef(x, y)[0, 1])
        found.append(Correlation(one, other, len(nodes), float(ranks.statistic), linear, float(ranks.pvalue)))
    return sorted((replace(pair, p=min(1.0, pair.p * len(found))) for pair in found), key=lambda pair: pair.p)
