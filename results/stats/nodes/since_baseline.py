"""What is not as it was in an earlier check of the same cluster, as findings."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from .check import NodeCheck
from .finding import Finding, Severity
from .name_ranges import ranges
from .rate_changes import RateChange, rate_changes

ALL_LOST, LOST, GAINED, VANISHED, NEW, CHANGED = (
    *("all-lost", "lost-since", "all-gained"),
    *("vanished-node", "new-node", "changed-fact"),
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
