"""How nodes changed: their rates and facts between two checks of a cluster.

The logarithm of a node's rate changes by what all nodes have in common, by what is its own,
and by noise. The noise is taken from two sides, and the larger counts: how differently nodes changed (sound nodes
change alike), and how differently repeats of a node came out in each check. Its risk to blame a sound node is stated.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import combinations
from statistics import median

import scipy

from results.node_check import BENCHMARKS, Finding, NodeCheck, Severity, ranges
from runners.readiness.fact import NearNumber, NodeFact, OfTheMoment, Within
from runners.readiness.fact_table import FACTS, FILE, fact_named

from .odd_nodes import FALSE_ALARMS, FEWEST, LEAST_PERCENT, MEDIAN_SCATTERS, robust_sd
from .run_conditions import but_disturbed, without

NORMAL_MEDIAN = 0.9539
"""Median of the distance of two normal values, in their standard deviation."""
BEST_OF = (1.0, 0.826, 0.748, 0.701, 0.669)
"""How much the best of 1, 2, … normal values scatters, in their standard deviation; more make little difference."""
REPEATS_TELL = 0.4
"""Independent values that a pair of repeats is worth, when the median of their distances is taken."""


@dataclass(frozen=True)
class RunNoise:
    """The noise of a run.

    Attributes:
        distances: of the logarithms of each two runs of a node.
        runs: the usual number of runs of a node.
    """

    distances: tuple[float, ...]
    runs: int

    @classmethod
    def of(cls, name: str, check: NodeCheck) -> "RunNoise":
        """Look at all repeats of a benchmark."""
        runs: dict[str, list[float]] = defaultdict(list)
        for run in check.deciding():
            if run.benchmark == name and run.value is not None and run.value > 0.0:
                runs[run.node].append(math.log(run.value))
        distances = (abs(one - other) for own in runs.values() for one, other in combinations(own, 2))
        return cls(tuple(distances), int(median(map(len, runs.values()))) if runs else 1)

    @property
    def sd(self) -> float | None:
        """Return the standard deviation of the logarithm of a run; None where no node ran twice."""
        return median(self.distances) / NORMAL_MEDIAN if self.distances else None

    @property
    def of_best(self) -> float:
        """Return the scatter of the best run of a node, as a part of that of a run."""
        return BEST_OF[min(self.runs, len(BEST_OF)) - 1]

    @property
    def freedom(self) -> float:
        """Return the degrees of freedom behind the standard deviation."""
        return max(2.0, REPEATS_TELL * len(self.distances))


NETWORK = "network"
FEWEST_PAIRS = 3
"""Pairs of a node that are needed to say how its messages changed."""
Logs = Mapping[str, float]
"""By node the logarithm by which a rate is higher than it was."""


@dataclass(frozen=True)
class RateChange:
    """How one benchmark changed.

    Attributes:
        title: in words.
        part: of the machine that it loads, as that of a benchmark, or NETWORK.
        nodes: that both checks measured.
        percent: change of the rate that the nodes have in common; below 0 it is lost.
        common: that is more than noise.
        lost: by node its whole change in percent, of those that lost more than the others; the worst first.
    """

    name: str
    title: str
    part: str
    nodes: int
    percent: float
    common: bool
    lost: Mapping[str, float]


@dataclass(frozen=True)
class _Scatter:
    """The noise of a change: a standard deviation of logarithms, and the degrees of freedom behind it."""

    sd: float
    freedom: float


def rate_changes(before: NodeCheck, now: NodeCheck) -> list[RateChange]:
    """Compare all benchmarks that both checks ran, simple ones first.

    A change counts if noise makes such a one in no benchmark of no node with a probability of 1 - FALSE_ALARMS, and if
    it is LEAST_PERCENT at least.
    """
    logs = {**_benchmarks(before, now), **_messages(before, now)}
    tests = sum(len(own) + 1 for own in logs.values())
    found = []
    for name, own in logs.items():
        scatter = _scatter(list(own.values()), [RunNoise.of(name, check) for check in (before, now)])
        if scatter is not None:
            found.append(_judged(name, own, scatter, tests))
    return found


def _benchmarks(before: NodeCheck, now: NodeCheck) -> dict[str, Logs]:
    """Compare the best result of each node in each benchmark; without those whose runs were all disturbed."""
    found: dict[str, Logs] = {}
    then = without(before.results(), before.always_disturbed())
    for name, values in without(now.results(), now.always_disturbed()).items():
        sign = 1.0 if BENCHMARKS[name].higher_is_better else -1.0
        was = then.get(name, {})
        both = [node for node, value in values.items() if value > 0.0 and was.get(node, 0.0) > 0.0]
        if both:
            found[name] = {node: sign * math.log(values[node] / was[node]) for node in both}
    return found


def _messages(before: NodeCheck, now: NodeCheck) -> dict[str, Logs]:
    """Compare the same pairs over each network: the median of those of each node."""
    then = {(pair.network, pair.pattern, pair.one, pair.other): pair.rate for pair in before.pairs if pair.counts}
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pair in now.pairs:
        rate = then.get((pair.network, pair.pattern, pair.one, pair.other), 0.0)
        if pair.counts and pair.rate > 0.0 and rate > 0.0:
            for node in (pair.one, pair.other):
                logs[f"{NETWORK} {pair.network}".strip()][node].append(math.log(pair.rate / rate))
    medians = {
        name: {node: median(values) for node, values in own.items() if len(values) >= FEWEST_PAIRS}
        for name, own in logs.items()
    }
    return {name: own for name, own in medians.items() if own}


def _scatter(changes: Sequence[float], repeats: Sequence[RunNoise]) -> _Scatter | None:
    """Return the larger noise of both; None where too few nodes and no repeats tell nothing.

    Few nodes do not show how much a node changes from one check to another beyond its repeats. Then the noise of single
    runs is taken, though the best of several scatters less.
    """
    known = []
    of_best = math.sqrt(2.0)
    if len(changes) >= FEWEST:
        of_best = math.hypot(*(own.of_best for own in repeats))
        known.append(_Scatter(robust_sd(changes), max(2.0, 0.8 * (len(changes) - 1))))
    both = RunNoise(tuple(distance for own in repeats for distance in own.distances), 1)
    if both.sd is not None:
        known.append(_Scatter(of_best * both.sd, both.freedom))
    return max(known, key=lambda one: one.sd, default=None)


def _judged(name: str, changes: Logs, scatter: _Scatter, tests: int) -> RateChange:
    limit = scatter.sd * float(scipy.stats.t.isf(FALSE_ALARMS / (2 * tests), scatter.freedom))
    common = median(changes.values()) if len(changes) >= FEWEST else 0.0
    percent = _percent(common)
    clear = abs(common) >= MEDIAN_SCATTERS * limit / math.sqrt(len(changes)) and abs(percent) >= LEAST_PERCENT
    lost = {
        node: _percent(change)
        for node, change in sorted(changes.items(), key=lambda one: one[1])
        if common - change >= limit and -_percent(change - common) >= LEAST_PERCENT
    }
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        network = name.removeprefix(NETWORK).strip()
        title = f"messages over {network}" if network else "messages"
        return RateChange(name, title, NETWORK, len(changes), percent, clear, lost)
    return RateChange(name, benchmark.title, benchmark.part, len(changes), percent, clear, lost)


def _percent(log: float) -> float:
    return 100.0 * math.expm1(log)


ALL_LOST, LOST, GAINED, VANISHED, NEW, CHANGED, DISTURBED = (
    *("all-lost", "lost-since", "all-gained"),
    *("vanished-node", "new-node", "changed-fact", "disturbed-since"),
)
MOST_REASONS = 3
"""Changed facts that a sentence names."""


@dataclass(frozen=True)
class NodeFactChange:
    """A fact that changed in the same way on some nodes."""

    title: str
    before: str
    now: str
    nodes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Say what changed."""
        return f"{self.title} changed from {self.before} to {self.now}"


def since_baseline(before: NodeCheck, now: NodeCheck, facts: Sequence[NodeFactChange] = ()) -> list[Finding]:
    """Find what is worse than it was, and what else changed.

    Args:
        facts: those that changed; they are named beside a loss on the same nodes.
    """
    since, changes = since_words(before, now), rate_changes(before, now)
    found = [
        *_all(changes, now, facts, since),
        *_nodes(changes, now, facts, since),
        *_members(before, now, since),
        *_doubtful(before, now, since),
    ]
    for fact in facts:
        if not any(fact.sentence in finding.sentence for finding in found):
            sentence = f"{ranges(fact.nodes)}: {fact.sentence} {since}"
            found.append(Finding(Severity.NOTE, CHANGED, fact.nodes, fact.title, sentence))
    return found


def since_words(before: NodeCheck, now: NodeCheck) -> str:
    """Say since when, with the hour where both checks are of one day."""
    then, today = before.checked_at.astimezone(UTC), now.checked_at.astimezone(UTC)
    return f"since {then:%Y-%m-%d %H:%M}" if then.date() == today.date() else f"since {then:%Y-%m-%d}"


def _all(
    changes: Sequence[RateChange], now: NodeCheck, facts: Sequence[NodeFactChange], since: str
) -> Iterator[Finding]:
    """One finding for each part of the machine in which all nodes became slower or faster."""
    common: dict[tuple[str, bool], list[RateChange]] = defaultdict(list)
    for change in changes:
        if change.common:
            common[change.part, change.percent < 0.0].append(change)
    reasons = [fact for fact in facts if 2 * len(fact.nodes) > len(now.nodes)]
    for (_, lost), own in common.items():
        first, worst = own[0], max(abs(change.percent) for change in own)
        verb = "lost" if lost else "gained"
        sentence = f"all nodes have {verb} {abs(first.percent):.1f} % in {first.title}{_more(len(own), worst)} {since}"
        said = f"{sentence}{_because(reasons)}"
        severity, what = (Severity.SLOW, ALL_LOST) if lost else (Severity.NOTE, GAINED)
        yield Finding(severity, what, (), first.name, said, worst if lost else 0.0, _titles(reasons))


def _nodes(
    changes: Sequence[RateChange], now: NodeCheck, facts: Sequence[NodeFactChange], since: str
) -> Iterator[Finding]:
    """One finding for nodes that lost in the same benchmark first, and on which the same facts changed."""
    lost: dict[str, dict[str, float]] = defaultdict(dict)
    for change in changes:
        for node, percent in change.lost.items():
            lost[node][change.name] = percent
    titles = {change.name: change.title for change in changes}
    own_facts = [fact for fact in facts if 2 * len(fact.nodes) <= len(now.nodes) or len(now.nodes) == 1]
    groups: dict[tuple[str, tuple[NodeFactChange, ...]], list[str]] = defaultdict(list)
    for node in (node for node in now.nodes if node in lost):
        reasons = tuple(fact for fact in own_facts if node in fact.nodes)
        groups[next(iter(lost[node])), reasons].append(node)
    for (name, reasons), nodes in groups.items():
        first = sorted(-lost[node][name] for node in nodes)
        worst = max(-percent for node in nodes for percent in lost[node].values())
        much = f"{first[0]:.1f} %" if len(nodes) == 1 else f"{first[0]:.1f} to {first[-1]:.1f} %"
        verb, count = "has" if len(nodes) == 1 else "have", max(len(lost[node]) for node in nodes)
        sentence = f"{ranges(nodes)} {verb} lost {much} in {titles[name]}{_more(count, worst)} {since}"
        said = f"{sentence}{_because(reasons)}"
        yield Finding(Severity.SLOW, LOST, tuple(nodes), name, said, worst, _titles(reasons))


def _members(before: NodeCheck, now: NodeCheck, since: str) -> Iterator[Finding]:
    gone = tuple(node for node in before.nodes if node not in now.nodes)
    new = tuple(node for node in now.nodes if node not in before.nodes)
    if gone:
        verb = "is" if len(gone) == 1 else "are"
        yield Finding(Severity.ODD, VANISHED, gone, "cluster", f"{ranges(gone)} {verb} gone {since}")
    if new:
        verb = "is" if len(new) == 1 else "are"
        yield Finding(Severity.NOTE, NEW, new, "cluster", f"{ranges(new)} {verb} new {since}")


def _doubtful(before: NodeCheck, now: NodeCheck, since: str) -> Iterator[Finding]:
    """One finding for each node that is slower than it was in runs that were all disturbed; its worst benchmark."""
    then, results, disturbed = before.results(), now.results(), now.always_disturbed()
    lost: dict[str, tuple[float, str]] = {}
    for name, nodes in disturbed.items():
        for node in nodes.keys() & then.get(name, {}).keys():
            ratio = results[name][node] / then[name][node] if then[name][node] > 0.0 else 1.0
            percent = 100.0 * (1.0 - (ratio if BENCHMARKS[name].higher_is_better or ratio <= 0.0 else 1.0 / ratio))
            if percent >= LEAST_PERCENT and percent > lost.get(node, (0.0, ""))[0]:
                lost[node] = (percent, name)
    for node, (percent, name) in sorted(lost.items()):
        much = f"{node} has lost {percent:.1f} % in {BENCHMARKS[name].title} {since}"
        sentence = f"{much}, {but_disturbed(disturbed[name][node])}"
        yield Finding(Severity.ODD, DISTURBED, (node,), name, sentence, percent)


def _more(count: int, worst: float) -> str:
    return f" (in {count} benchmarks up to {worst:.1f} %)" if count > 1 else ""


def _because(reasons: Sequence[NodeFactChange]) -> str:
    if not reasons:
        return ""
    more = len(reasons) - MOST_REASONS
    told = [fact.sentence for fact in reasons[:MOST_REASONS]] + ([f"{more} more facts changed"] if more > 0 else [])
    return f": {'; '.join(told)}"


def _titles(reasons: Sequence[NodeFactChange]) -> tuple[str, ...]:
    return tuple(fact.title for fact in reasons)


def changed_facts(before: NodeCheck, now: NodeCheck) -> list[NodeFactChange]:
    """List the facts that changed, one entry for all nodes on which they did so alike.

    What changes by itself, as the time that a clock is off, is left out; so is a number that is near the other.
    """
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, values in now.facts.items():
        fact = _fact(name)
        then = before.facts.get(name, {})
        for node, value in values.items():
            if node in then and _changed(fact, then[node], value):
                found[fact.title, then[node], value].append(node)
    return [NodeFactChange(title, was, value, tuple(nodes)) for (title, was, value), nodes in found.items()]


def _fact(name: str) -> NodeFact:
    """Return a fact of the table, or one that only its name describes."""
    return fact_named(name) if name in FACTS or name.startswith(FILE) else NodeFact(name, name, "", "")


def _changed(fact: NodeFact, before: str, now: str) -> bool:
    if isinstance(fact.kind, Within | OfTheMoment):
        return False
    return not fact.kind.fits(now, before) if isinstance(fact.kind, NearNumber) else now != before
