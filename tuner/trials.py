"""From a plan and what came of it to the record that is stored."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from results.record import Kind, TrialRecord, TrialState

from .evaluate import Measured
from .judge import Fault
from .plan import Scalar, TrialPlan


def started(study: str, params: Mapping[str, Scalar], kind: Kind, key: str) -> TrialRecord:
    """The record of a trial that is about to run; the store gives it its number."""
    return TrialRecord(
        study=study,
        number=0,
        kind=kind,
        state=TrialState.RUNNING,
        params=dict(params),
        key=key,
        started_at=datetime.now(UTC),
    )


def rejected(begun: TrialRecord, fault: Fault) -> TrialRecord:
    """The record of a trial that never reached HPL."""
    now = datetime.now(UTC)
    return replace(
        begun,
        state=TrialState.FAILED,
        invalidity=fault.invalidity,
        reason=fault.reason,
        ended_at=now,
        cost_s=(now - begun.started_at).total_seconds(),
    )


def finished(begun: TrialRecord, plan: TrialPlan, measured: Measured, directory: Path, index: int = 0) -> TrialRecord:
    """The record of a run, whatever its verdict.

    Args:
        index: which of the plan's runs; files with several give one record each.
    """
    verdict, asked = measured.verdict, plan.runs[index]
    fault = verdict.faults[index]
    result = verdict.results[index] if index < len(verdict.results) else None
    state = TrialState.FAILED if fault else TrialState.COMPLETE
    if verdict.cancelled and fault:
        state = TrialState.CANCELLED
    return replace(
        begun,
        state=state,
        invalidity=fault.invalidity if fault and state is TrialState.FAILED else None,
        reason=fault.reason if fault else "",
        hpl=asked,
        blas=plan.blas,
        kernel=plan.kernel,
        ranks=plan.ranks,
        threads=plan.threads,
        time_s=result.time_s if result else None,
        gflops=result.gflops if result else None,
        residual=result.residual if result else None,
        passed=result.passed if result else None,
        observed=verdict.observed,
        command=measured.command,
        directory=str(directory),
        hpl_dat=plan.hpl_dat,
        output=measured.output,
        errors_text=measured.errors_text,
        started_at=measured.started_at,
        ended_at=measured.ended_at,
        cost_s=measured.cost_s,
        xhpl_key=measured.xhpl_key,
    )
