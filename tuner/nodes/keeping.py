"""Keeps a check of nodes while it goes on, shows kept ones, and compares one with an earlier one."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from results.errors import ResultsError
from results.node_check import Finding, NodeCheck, Severity
from results.report.model import Report, Sentence
from results.store.node_checks import KeptCheck, NodeCheckLine, NodeCheckState
from results.store.store import Store

from ..errors import UsageError
from ..events import Event, Listener, NodesMeasured, NodesRan
from .check import NodesCheckResult
from .figures import line_facts, moment
from .report import changes_report
from .statistics.rate_changes import ALL_LOST, LOST, RateChange, changed_facts, rate_changes, since_baseline
from .statistics.verdict import in_order, verdict_of

DEFAULT, FIRST, LAST = "default", "first", "last"
WORDS = (DEFAULT, FIRST, LAST)


def chosen_check(store: Store, which: str | None) -> NodeCheckLine:
    """Find a check by its number, or the newest one of a cluster, or the newest of all.

    Raises:
        ResultsError: there is none.
    """
    if which is not None and which.isdecimal():
        return store.node_checks.line(int(which))
    newest = store.node_checks.lines(which, 1)
    if newest:
        return newest[0]
    if which is None:
        raise ResultsError(f"{store.place} holds no check of nodes yet: `hpltune nodes check` makes one")
    known = sorted({line.cluster for line in store.node_checks.lines()})
    raise ResultsError(f"there is no check of {which} in {store.place} (there: {', '.join(known) or 'none'})")


def chosen_baseline(store: Store, which: str, cluster: str) -> NodeCheckLine | None:
    """Find the check to compare with; None where there is no earlier one, though any would do.

    Args:
        which: a number; a day, whose last check is taken, or the last one before; or one of WORDS.

    Raises:
        UsageError: it cannot be read, or is of another cluster.
        ResultsError: there is no such check.
    """
    if which.isdecimal():
        line = store.node_checks.line(int(which))
        if line.cluster != cluster:
            raise UsageError(f"that check is of {line.cluster}, not of {cluster}", field="baseline", given=which)
        return line
    if which == DEFAULT:
        number = store.node_checks.baseline_of(cluster)
        return None if number is None else store.node_checks.line(number)
    lines = [line for line in store.node_checks.lines(cluster) if line.state is NodeCheckState.COMPLETE]
    if which in {FIRST, LAST}:
        return (lines[-1] if which == FIRST else lines[0]) if lines else None
    day = _day(which)
    found = next((line for line in lines if line.checked_at.astimezone(UTC).date() <= day), None)
    if found is None:
        raise ResultsError(f"there is no check of {cluster} until {which}: `hpltune nodes list` shows all")
    return found


def _day(text: str) -> date:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        pass  # as 2026-13-45
    raise UsageError(
        f"give the number of a check, a day as 2026-11-02, or {', '.join(WORDS)}", field="baseline", given=text
    )


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


Work = Callable[[Listener], NodesCheckResult]
"""Checks nodes and tells a listener."""


@dataclass(frozen=True)
class KeepRequest:
    """What becomes of a check.

    Attributes:
        cluster: the name under which it is kept.
        keep: it goes into the store.
        baseline: which earlier check it is compared with, as `chosen_baseline` takes it; None for none.
        campaign: of the service, for which it is made; None for none.
    """

    cluster: str
    keep: bool = True
    baseline: str | None = None
    campaign: str | None = None


@dataclass(frozen=True)
class KeptNodesCheck:
    """A check, and where it is kept.

    Attributes:
        result: with what is worse than in the baseline among its findings.
        number: under which it is kept; None where it is not.
    """

    result: NodesCheckResult
    number: int | None

    @property
    def sound(self) -> bool:
        """Whether the nodes are ready and alike."""
        return self.result.verdict.ready and self.result.verdict.alike

    def report(self) -> Report:
        """The report, and under which number it is kept."""
        report = self.result.report()
        if self.number is None:
            return report
        kept = Sentence(f"Kept as check {self.number}: `hpltune nodes show {self.number}` shows it again.")
        return replace(report, parts=(*report.parts, kept), facts={"number": self.number, **_facts(report)})

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        return next(part.text for part in self.result.report().parts if isinstance(part, Sentence))

    @property
    def worse(self) -> bool:
        """Whether a rate is clearly lower than in the baseline."""
        return any(finding.what in {ALL_LOST, LOST} for finding in self.result.verdict.findings)

    def brief(self) -> Report:
        """Only the sentences, and nothing where all is well."""
        report = self.report()
        told = () if self.sound else tuple(part for part in report.parts if isinstance(part, Sentence))
        return replace(report, parts=told)


def _facts(report: Report) -> dict[str, object]:
    return dict(report.facts) if isinstance(report.facts, dict) else {}


def keep_check(work: Work, request: KeepRequest, store: Store | None, listener: Listener) -> KeptNodesCheck:
    """Check nodes, compare them with an earlier check, and keep what is found as soon as it is found.

    Args:
        store: None where nothing is kept nor compared.

    Raises:
        UsageError, ResultsError: the baseline cannot be used; then nothing is measured.
        TunerError, HplError, RunnerError: as of the work.
    """
    if store is None:
        return KeptNodesCheck(work(listener), None)
    asked = request.baseline
    baseline = None if asked is None else chosen_baseline(store, asked, request.cluster)
    if not request.keep:
        return KeptNodesCheck(_compared(work(listener), store, baseline, request), None)
    if request.campaign is not None:
        store.node_checks.leave(request.campaign)
    keeper = _Keeper(store, request, listener)
    try:
        result = _compared(work(keeper), store, baseline, request)
    except BaseException:
        keeper.leave()
        raise
    return KeptNodesCheck(result, keeper.end(result))


@dataclass
class _Keeper:
    """Passes events on, and stores what a check has found out by now.

    Attributes:
        number: of the check in the store, once there is one.
        known: what was stored last.
    """

    store: Store
    request: KeepRequest
    listener: Listener
    number: int | None = field(default=None, init=False)
    known: NodeCheck | None = field(default=None, init=False)

    def __call__(self, event: Event) -> None:
        if isinstance(event, NodesMeasured):
            self._put(self._kept(event.check, NodeCheckState.RUNNING))
            self.known = event.check
        elif isinstance(event, NodesRan) and self.known is not None and self.number is not None:
            self.store.node_checks.add_runs(self.number, event.runs, len(self.known.runs) + 1)
            self.known = replace(self.known, runs=(*self.known.runs, *event.runs))
        self.listener(event)

    def leave(self) -> None:
        """Store that the check ends here, if anything is known."""
        if self.known is not None:
            self._put(self._kept(self.known, NodeCheckState.INTERRUPTED))

    def end(self, result: NodesCheckResult) -> int:
        """Store how the check ended, and return its number."""
        verdict = result.verdict
        state = NodeCheckState.INTERRUPTED if result.interrupted else NodeCheckState.COMPLETE
        kept = replace(
            self._kept(verdict.check, state),
            ready=verdict.ready,
            alike=verdict.alike,
            findings=verdict.findings,
            notes=result.notes,
        )
        return self._put(kept)

    def _kept(self, check: NodeCheck, state: NodeCheckState) -> KeptCheck:
        return KeptCheck(check, state, False, False, campaign=self.request.campaign)

    def _put(self, kept: KeptCheck) -> int:
        if self.number is None:
            self.number = self.store.node_checks.add(kept)
        else:
            self.store.node_checks.replace(self.number, kept)
        return self.number


def _compared(
    result: NodesCheckResult, store: Store, baseline: NodeCheckLine | None, request: KeepRequest
) -> NodesCheckResult:
    """Add what is worse than in the baseline."""
    if request.baseline is None:
        return result
    if baseline is None:
        note = f"No earlier check of {request.cluster} is there to compare with."
        return replace(result, notes=(*result.notes, note))
    check, before = result.verdict.check, store.node_checks.read(baseline.number).check
    found = since_baseline(before, check, changed_facts(before, check))
    worse = any(finding.severity is not Severity.NOTE for finding in found)
    said = "what is worse stands above" if worse else "nothing is worse"
    note = f"Compared with check {baseline.number} of {moment(baseline.checked_at)}: {said}."
    verdict = replace(result.verdict, findings=in_order([*result.verdict.findings, *found]))
    return replace(result, verdict=verdict, notes=(*result.notes, note))
