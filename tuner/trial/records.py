"""From a plan and what came of it to the record that is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hpl.params import Scalar
from hpl.witness import of_run, parse_panels
from results.record import Kind, TrialRecord, TrialState
from runners.errors import Mishap

from ..words import with_options
from .early_stopping import CERTAINTY, StopDecision
from .judge import Failure
from .launch import LaunchOutcome, LaunchResult
from .plan import TrialPlan


def started(study: str, params: Mapping[str, Scalar], kind: Kind, key: str, session: int = 0) -> TrialRecord:
    """The record of a trial that is about to run; the store gives it its number."""
    return TrialRecord(
        study=study,
        number=0,
        kind=kind,
        state=TrialState.RUNNING,
        params=dict(params),
        key=key,
        started_at=datetime.now(UTC),
        session=session,
    )


def rejected(begun: TrialRecord, fault: Failure) -> TrialRecord:
    """The record of a trial that never reached HPL."""
    now = datetime.now(UTC)
    return replace(
        begun,
        state=TrialState.FAILED,
        invalidity=fault.invalidity,
        reason=with_options(fault.reason),
        ended_at=now,
        cost_s=(now - begun.started_at).total_seconds(),
    )


def not_reached(begun: TrialRecord) -> TrialRecord:
    """The record of a trial whose launch ended before HPL came to it, and that is not run any more."""
    return replace(begun, state=TrialState.CANCELLED, ended_at=datetime.now(UTC), cost_s=0.0)


def given_up(record: TrialRecord, hopeless: StopDecision) -> TrialRecord:
    """A full run that was ended because it could not win any more; its part is of the columns that were updated."""
    N = record.hpl.N if record.hpl else 0
    return replace(
        record,
        kind=Kind.GIVEN_UP,
        state=TrialState.COMPLETE,
        part=hopeless.column / N if N else 1.0,
        time_s=hopeless.time_s,
        gflops=None,
        reason=(
            f"stopped early: at most {hopeless.most_gflops:.4g} GFLOPS; the best reaches at least "
            f"{hopeless.best_gflops:.4g} ({100 * CERTAINTY:.0f} % sure, if nothing disturbed it, which is not known)"
        ),
    )


def finished(
    begun: TrialRecord, plan: TrialPlan, measured: LaunchResult, directory: Path, index: int = 0
) -> TrialRecord:
    """The record of a run, whatever its verdict.

    Args:
        index: which of the plan's runs; files with several give one record each.
    """
    verdict, asked = measured.verdict, plan.runs[index]
    errors_text = measured.errors_text if len(plan.runs) == 1 else of_run(measured.errors_text, index)
    stopped = next((panel for panel in parse_panels(errors_text) if panel.stopped), None)
    fault = verdict.faults[index]
    result = verdict.results[index] if index < len(verdict.results) else None
    failed = TrialState.CANCELLED if verdict.cancelled or measured.event else TrialState.FAILED
    state = failed if fault else TrialState.COMPLETE
    return replace(
        begun,
        state=state,
        invalidity=fault.invalidity if fault and state is TrialState.FAILED else None,
        reason=with_options(fault.reason) if fault else "",
        hpl=asked if plan.program.workload.is_hpl else None,
        blas=plan.blas,
        kernel=plan.kernel,
        ranks=plan.ranks,
        threads=plan.threads,
        time_s=result.time_s if result else stopped.time_s if stopped else None,
        part=stopped.column / stopped.N if stopped else begun.part,
        gflops=result.gflops if result else None,
        residual=result.residual if result else None,
        passed=result.passed if result else None,
        observed=verdict.observed,
        command=measured.command,
        directory=str(directory),
        hpl_dat=plan.hpl_dat,
        output=measured.output,
        errors_text=errors_text,
        started_at=measured.started_at,
        ended_at=measured.ended_at,
        cost_s=costs_s(measured)[index],
        measurements=measured.measurements[index] if index < len(measured.measurements) else {},
        xhpl_key=measured.xhpl_key,
    )


def records_of(
    begun: Sequence[TrialRecord], plan: TrialPlan, result: LaunchResult, directory: Path, *, all_of_them: bool
) -> tuple[list[TrialRecord], LaunchOutcome]:
    """The records of a launch that are still to be committed, and what else came of it.

    Args:
        begun: trials in the order in which HPL runs them.
        plan: of all of them.
        all_of_them: each gets a record, whether HPL came to it or not.
    """
    cancelled = result.verdict.cancelled
    records = [
        finished(record, plan, result, directory, index)
        for index, record in enumerate(begun if cancelled or all_of_them else begun[: reached(result)])
    ]
    told = any(result.verdict.faults) and (not cancelled or result.stopped is not None or result.lost_nodes)
    event = result.event if told else None
    if event is Mishap.DISTURBED:
        records = [replace(record, state=TrialState.CANCELLED, invalidity=None) for record in records]
    elif result.stopped and not result.disturbed and records[0].state is TrialState.CANCELLED:
        records = [given_up(records[0], result.stopped)]
    outcome = LaunchOutcome(
        event=event,
        why=(result.disturbed or records[-1].reason or event.words) if event else "",
        lost_nodes=result.lost_nodes if event else (),
        began=bool(result.begun_s or result.disturbed),
        unavailable=[result.unavailable] if result.unavailable else (),
    )
    return records, outcome


def reached(measured: LaunchResult) -> int:
    """Runs of a launch that HPL came to: those with a result, and the one that has none because it failed."""
    return min(len(measured.verdict.results) + 1, len(measured.verdict.faults))


def costs_s(measured: LaunchResult) -> list[float]:
    """Seconds by our clock that each run of a launch answers for: HPL's time of it, and an equal part of all else.

    Where HPL tells more than the launch took, its times are parts of what it took.

    A run without a result took the seconds since it began; those that HPL did not come to cost nothing.
    """
    count, came_to = len(measured.verdict.faults), reached(measured)
    told_s = [result.time_s for result in measured.verdict.results[:count]]
    scale = min(1.0, measured.cost_s / sum(told_s)) if sum(told_s) > 0 else 1.0
    own_s = [scale * one_s for one_s in told_s]
    if len(own_s) < came_to:
        begun_s = measured.begun_s[len(own_s)] if len(own_s) < len(measured.begun_s) else measured.cost_s
        own_s.append(measured.cost_s - begun_s)
    rest_s = max(0.0, measured.cost_s - sum(own_s)) / came_to
    return [one_s + rest_s for one_s in own_s] + [0.0] * (count - came_to)
