"""The report of how the nodes of a cluster changed between two checks."""

from collections.abc import Sequence
from dataclasses import asdict

from results.report.model import Column, Part, Report, Sentence, Table, Tone
from results.stats.nodes.finding import Finding, Severity
from results.stats.nodes.name_ranges import ranges
from results.stats.nodes.rate_changes import RateChange

from .readiness import TONES, finding_sentence

NARROW = ("benchmark", "nodes", "change %", "lost more")


def changes_report(title: str, changes: Sequence[RateChange], findings: Sequence[Finding]) -> Report:
    """Say what is worse and what else changed, then how each benchmark changed."""
    worse = any(finding.severity is not Severity.NOTE for finding in findings)
    parts: list[Part] = [Sentence("Worse than it was." if worse else "Nothing is worse than it was.",
                                  tone=Tone.BAD if worse else Tone.GOOD)]  # fmt: skip
    parts += [Sentence(f"{finding_sentence(finding)}.", tone=TONES[finding.severity]) for finding in findings]
    if changes:
        columns = (Column("benchmark", words=True), Column("nodes"), Column("change %"), Column("clear", words=True),
                   Column("lost more", words=True))  # fmt: skip
        rows = tuple(
            (
                change.title,
                str(change.nodes),
                f"{change.percent:+.1f}",
                "yes" if change.common else "no",
                ranges(tuple(change.lost)),
            )
            for change in changes
        )
        caption = "Change: the median over the nodes; clear: more than noise. Lost more: nodes that lost clearly more."
        parts.append(Table(title, columns, rows, narrow=NARROW, caption=caption))
    else:
        parts.append(Sentence("No benchmark ran in both checks."))
    facts = {
        "worse": worse,
        "findings": [asdict(finding) for finding in findings],
        "changes": [{**asdict(change), "lost": dict(change.lost)} for change in changes],
    }
    return Report(title, tuple(parts), facts)
