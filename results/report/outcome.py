"""Describes a trial's result in a few words."""

from ..metrics import prefix_gflops, rate_text
from ..record import Kind, TrialRecord, TrialState


def outcome(record: TrialRecord) -> str:
    """Describe the GFLOPS of a trial, or the stage that failed with its reason."""
    if record.ranked and record.gflops is not None:
        return f"{rate_text(record.gflops):>8} GFLOPS{' small' if record.kind is Kind.SMALL else ''}"
    if record.kind is Kind.GIVEN_UP:
        return record.reason
    if record.kind is Kind.PREFIX and record.state is TrialState.COMPLETE:
        return f"{rate_text(prefix_gflops(record) or 0.0):>8} GFLOPS in its first {record.part:.0%}"
    if record.state in {TrialState.CANCELLED, TrialState.RUNNING}:
        return f"{record.state}: {record.reason}" if record.reason else str(record.state)
    return f"{record.invalidity}: {record.reason}"
