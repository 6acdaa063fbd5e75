"""What runs of HPL on groups of nodes tell: which node is common to failed or slow ones, and whether the network tires.

The idea is STAB's: the failed runs of shuffled groups have their bad nodes in common.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import scipy

from results.node_check import ORDERS, Finding, GroupRun, Severity, ranges

from .odd_nodes import FEWEST, LEAST_PERCENT, odd_nodes

CERTAIN = 0.01
"""Probability below which shuffled groups count as slower than sorted ones."""
FEWEST_AT_ONCE = 4
"""Runs of a turn below which their median is not that of sound groups."""
PART = "groups"
UPLINK = "uplink of switch "
"""Stands before the name of a switch among the members of a group that uses its uplink."""

SUSPECT = 0.01
"""Probability, corrected for all nodes, below which a node is suspected."""


def group_findings(runs: Sequence[GroupRun], switches: Mapping[str, str], wrong: Collection[str] = ()) -> list[Finding]:
    """Find nodes that are common to failed runs, then nodes and uplinks common to slow ones, and what shuffling costs.

    Args:
        switches: the switch of each node, where it is known.
        wrong: nodes that are out already, because they computed wrongly by themselves or were lost; they explain failed
            runs, and nothing more is said of these.
    """
    failed = [not run.counts for run in runs]
    found = list(_failed(runs, failed, wrong))
    out = {*wrong, *(name for finding in found for name in finding.names)}
    left = [run for run in runs if run.counts and not out & set(run.nodes)]
    return [*found, *_slow(left, switches), *_contention(left)]


def _failed(runs: Sequence[GroupRun], failed: Sequence[bool], wrong: Collection[str]) -> Iterator[Finding]:
    groups, count = [run.nodes for run in runs], sum(failed)
    explained = set(wrong)
    for one in guilty(groups, failed):
        explained |= set(one.nodes)
        took_part = f"took part in {one.bad} of {count} failed runs on groups ({_chance(one)}{_reason(one, runs)})"
        if len(one.nodes) == 1:
            sentence = f"{one.nodes[0]} is out: it {took_part}"
            yield Finding(Severity.OUT, "wrong-results", one.nodes, PART, sentence)
        else:
            sentence = f"{ranges(one.nodes)} together {took_part}: shuffled groups tell which of them it is"
            yield Finding(Severity.ODD, "wrong-results", one.nodes, PART, sentence)
    alone = [run for run, bad in zip(runs, failed, strict=True) if bad and not explained & set(run.nodes)]
    if alone:
        first = alone[0]
        sentence = (
            f"{len(alone)} of {len(runs)} runs on groups failed and no node explains that (the first on "
            f"{ranges(first.nodes)}: {first.why})"
        )
        yield Finding(Severity.ODD, "failed-groups", (), PART, sentence)


def _slow(runs: Sequence[GroupRun], switches: Mapping[str, str]) -> Iterator[Finding]:
    """Judge each order by itself: neighbours and drawn groups use the network differently."""
    percents: dict[int, float] = {}
    for order in ORDERS:
        percents |= {int(odd.node): -odd.percent for odd in odd_nodes(_within_turns(runs, order))}
    slow = [number in percents for number in range(len(runs))]
    members = [_members(run, switches) for run in runs]
    for one in guilty(members, slow):
        percent = median(lost for number, lost in percents.items() if one.nodes[0] in members[number])
        lost = f"{percent:.1f} % below the median ({_chance(one)})"
        took_part = f"took part in {one.bad} of {sum(slow)} slow runs on groups, {lost}"
        uplinks = [name for name in one.nodes if name.startswith(UPLINK)]
        if len(one.nodes) > 1:
            sentence = f"{ranges(one.nodes)} together {took_part}: shuffled groups tell which of them it is"
            nodes = tuple(name for name in one.nodes if name not in uplinks)
            yield Finding(Severity.ODD, "slow-node", nodes, PART, sentence, percent)
        elif uplinks:
            switch = uplinks[0].removeprefix(UPLINK)
            yield Finding(Severity.SLOW, "weak-uplink", (switch,), PART, f"the {uplinks[0]} {took_part}", percent)
        else:
            yield Finding(Severity.SLOW, "slow-node", one.nodes, PART, f"{one.nodes[0]} {took_part}", percent)


def _within_turns(runs: Sequence[GroupRun], order: str) -> dict[str, float]:
    """Return the rates of an order by the number of their run, as parts of the median of their turn.

    What disturbs all nodes for a while, such as heat or other users of the network, disturbs all runs of a turn. Where
    a turn has too few runs for a median, rates stay as they are.
    """
    turns: dict[int, dict[str, float]] = defaultdict(dict)
    for number, run in enumerate(runs):
        if run.order == order and run.gflops:
            turns[run.turn][str(number)] = run.gflops
    comparable = all(len(own) >= FEWEST_AT_ONCE for own in turns.values())
    usual = {turn: median(own.values()) if comparable else 1.0 for turn, own in turns.items()}
    return {number: rate / usual[turn] for turn, own in turns.items() for number, rate in own.items()}


def _members(run: GroupRun, switches: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nodes of a group, and the uplinks that it uses if it is at several switches."""
    own = dict.fromkeys(switches[node] for node in run.nodes if node in switches)
    return (*run.nodes, *(f"{UPLINK}{switch}" for switch in own if len(own) > 1))


def _contention(runs: Sequence[GroupRun]) -> Iterator[Finding]:
    by_sorted, shuffled = ([run.gflops for run in runs if run.order == order and run.gflops] for order in ORDERS)
    if min(len(by_sorted), len(shuffled)) < FEWEST:
        return
    usual, drawn = median(by_sorted), median(shuffled)
    percent = 100.0 * (1.0 - drawn / usual)
    p = float(scipy.stats.mannwhitneyu(shuffled, by_sorted, alternative="less").pvalue)
    if percent >= LEAST_PERCENT and p < CERTAIN:
        medians = f"{drawn:.4g} and {usual:.4g} GFLOPS"
        sentence = (
            f"HPL on shuffled groups is {percent:.1f} % slower than on neighbours ({medians}): all groups together "
            "load the network between switches"
        )
        yield Finding(Severity.NOTE, "contention", (), PART, sentence, percent)


@dataclass(frozen=True)
class Guilty:
    """What explains bad runs.

    Attributes:
        nodes: one node, or several of which nothing says which it is: they took part in the same bad runs.
        bad, runs, p: as of a node in common.
    """

    nodes: tuple[str, ...]
    bad: int
    runs: int
    p: float


def _reason(one: Guilty, runs: Sequence[GroupRun]) -> str:
    """Return why the first failed run of a node failed, where that is known."""
    reasons = (run.reason for run in runs if not run.counts and one.nodes[0] in run.nodes)
    first = next(filter(None, reasons), "")
    return f"; the first: {first}" if first else ""


def _chance(one: Guilty) -> str:
    p = f"{one.p:.0e}" if one.p >= 1e-6 else "< 1e-6"
    return f"probability by chance {p}"


@dataclass(frozen=True)
class InCommon:
    """A node in bad runs.

    Attributes:
        bad: bad runs that the node took part in.
        runs: all runs that it took part in.
        p: probability that a node which has nothing to do with them is in so many, times the number of nodes.
    """

    node: str
    bad: int
    runs: int
    p: float

    @property
    def suspect(self) -> bool:
        """Return whether chance does not explain it."""
        return self.p < SUSPECT


def in_common(groups: Sequence[Sequence[str]], bad: Sequence[bool]) -> list[InCommon]:
    """Count for each node in a bad run how many of its runs were bad, most suspect first.

    The bad runs are as if drawn from all runs without a look at their nodes; the probability to draw so many of a
    node's is hypergeometric. A node that shares its runs with a bad one is in bad runs, too: shuffled groups tell them
    apart, sorted ones do not.

    Args:
        groups: the nodes of each run.
        bad: whether each run failed, or was slow.
    """
    runs = Counter(node for group in groups for node in set(group))
    failed = Counter(node for group, one in zip(groups, bad, strict=True) if one for node in set(group))
    total, drawn = len(groups), sum(bad)

    def of(node: str, count: int) -> InCommon:
        by_chance = float(scipy.stats.hypergeom.sf(count - 1, total, runs[node], drawn))
        return InCommon(node, count, runs[node], min(1.0, len(runs) * by_chance))

    return sorted((of(*one) for one in failed.items()), key=lambda one: (one.p, -one.bad, one.node))


def guilty(groups: Sequence[Sequence[str]], bad: Sequence[bool]) -> list[Guilty]:
    """Find the nodes that explain bad runs, one after another.

    All runs of the clearest one are taken out before the next is looked for: its partners are in bad runs, too, and
    would look guilty without a fault of their own.
    """
    left = list(zip(groups, bad, strict=True))
    found: list[Guilty] = []
    while True:
        suspects = [one for one in in_common([group for group, _ in left], [one for _, one in left]) if one.suspect]
        if not suspects:
            return found
        first = suspects[0]
        same = _bad_runs(first.node, left)
        alike = tuple(one.node for one in suspects if one.runs == first.runs and _bad_runs(one.node, left) == same)
        found.append(Guilty(alike, first.bad, first.runs, first.p))
        left = [(group, one) for group, one in left if first.node not in group]


def _bad_runs(node: str, runs: Sequence[tuple[Sequence[str], bool]]) -> set[int]:
    return {number for number, (group, bad) in enumerate(runs) if bad and node in group}
