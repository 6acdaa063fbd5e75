"""`hpltune nodes list`, `show`, `compare` and `baseline`: checks that are kept."""

from dataclasses import dataclass, replace

from results.report.model import Report, Sentence
from results.stats.nodes.finding import Finding, Severity
from results.stats.nodes.rate_changes import RateChange, rate_changes
from results.stats.nodes.since_baseline import since_baseline
from results.stats.nodes.verdict import verdict_of
from results.store.kept_check import KeptCheck, NodeCheckLine, NodeCheckState
from results.store.store import Store

from ...errors import UsageError
from ...nodes.changed_facts import changed_facts
from ...reports.nodes.changes import changes_report
from ...reports.nodes.kept_list import line_facts, moment
from .check import NodesCheckResult
from .choosing import chosen_check

STATES = {NodeCheckState.RUNNING: ", which is not at its end", NodeCheckState.INTERRUPTED: ", which was stopped"}


@dataclass(frozen=True)
class ShownCheck:
    """A check that is kept, judged as it was then."""

    line: NodeCheckLine
    result: NodesCheckResult

    def report(self) -> Report:
        """The report of the check, with its number and date."""
        report = self.result.report()
        facts = {**line_facts(self.line), **(report.facts if isinstance(report.facts, dict) else {})}
        return replace(report, parts=(self._head(), *report.parts), facts=facts)

    def page(self) -> Report:
        """The same with figures."""
        page = self.result.page()
        return replace(page, parts=(self._head(), *page.parts))

    def _head(self) -> Sentence:
        line = self.line
        state = STATES.get(line.state, "")
        baseline = ", the baseline" if line.baseline else ""
        return Sentence(f"Check {line.number} of {line.cluster}, {moment(line.checked_at)} UTC{baseline}{state}.")


def show_check(store: Store, which: str | None) -> ShownCheck:
    """Read a check again.

    Args:
        which: a number, or a cluster, whose newest check is taken; None takes the newest of all.

    Raises:
        ResultsError: there is none, or it is damaged.
    """
    line = chosen_check(store, which)
    return ShownCheck(line, result_of(store.node_checks.read(line.number)))


def result_of(kept: KeptCheck) -> NodesCheckResult:
    """Make the result of a check that is kept; what was found is not found anew once it has ended."""
    verdict = verdict_of(kept.check)
    if kept.state is NodeCheckState.COMPLETE or kept.findings:
        verdict = replace(verdict, findings=kept.findings)
    return NodesCheckResult(verdict, kept.notes, kept.state is NodeCheckState.INTERRUPTED)


@dataclass(frozen=True)
class ComparedChecks:
    """How the nodes of a cluster changed between two checks."""

    before: NodeCheckLine
    now: NodeCheckLine
    changes: tuple[RateChange, ...]
    findings: tuple[Finding, ...]

    @property
    def worse(self) -> bool:
        """Whether anything is worse than it was."""
        return any(finding.severity is not Severity.NOTE for finding in self.findings)

    def report(self) -> Report:
        """What is worse, what else changed, and each benchmark."""
        title = f"{self.now.cluster}: check {self.now.number} after check {self.before.number}"
        report = changes_report(title, self.changes, self.findings)
        facts = report.facts if isinstance(report.facts, dict) else {}
        return replace(report, facts={"before": line_facts(self.before), "now": line_facts(self.now), **facts})


def compare_checks(store: Store, before: int, now: int) -> ComparedChecks:
    """Compare two checks of a cluster.

    Raises:
        UsageError: they are of two clusters, or in the wrong order.
        ResultsError: there is none of such a number, or it is damaged.
    """
    first, second = store.node_checks.line(before), store.node_checks.line(now)
    if first.cluster != second.cluster:
        raise UsageError(f"check {before} is of {first.cluster} and check {now} of {second.cluster}")
    if first.checked_at >= second.checked_at:
        raise UsageError(f"check {before} is not before check {now}: name the earlier one first")
    was, is_now = (store.node_checks.read(number).check for number in (before, now))
    findings = since_baseline(was, is_now, changed_facts(was, is_now))
    return ComparedChecks(first, second, tuple(rate_changes(was, is_now)), tuple(findings))
