"""Keeps a check of nodes while it goes on, and compares it with an earlier one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from results.report.model import Report, Sentence
from results.stats.nodes.check import NodeCheck
from results.stats.nodes.finding import Severity
from results.stats.nodes.since_baseline import ALL_LOST, LOST, since_baseline
from results.stats.nodes.verdict import in_order
from results.store.kept_check import KeptCheck, NodeCheckLine, NodeCheckState
from results.store.store import Store

from ...events import Event, Listener, NodesMeasured, NodesRan
from ...nodes.changed_facts import changed_facts
from ...reports.nodes.kept_list import moment
from .check import NodesCheckResult
from .choosing import chosen_baseline

Work = Callable[[Listener], NodesCheckResult]
"""Checks nodes and tells a listener."""


@dataclass(frozen=True)
class KeepRequest:
    """What becomes of a check.

    Attributes:
        cluster: the name under which it is kept.
        keep: it goes into the store.
        baseline: which earlier check it is compared with, as `chosen_baseline` takes it; None for none.
        virtual: nothing is measured.
        campaign: of the service, for which it is made; None for none.
    """

    cluster: str
    keep: bool = True
    baseline: str | None = None
    virtual: bool = False
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
        return KeptCheck(check, state, False, False, virtual=self.request.virtual, campaign=self.request.campaign)

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
