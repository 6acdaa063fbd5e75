"""What is left of the budget of a campaign, as far as its document tells."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..budget import Budget, Meter
from ..clock import RealClock
from ..errors import TunerError
from ..options import DEFAULT_FULL_TRIALS, DEFAULT_WALL_S
from ..units import parse_duration_s


def meter_of(document: Mapping[str, Any], started_at: datetime | None) -> Meter:
    """Make the meter of a campaign that was begun then; without limits where only its service knows what they mean."""
    begun = started_at or datetime.now(UTC)
    spent_s = max(0.0, (datetime.now(UTC) - begun).total_seconds())
    return Meter(_budget(document), RealClock(), spent_s)


def _budget(document: Mapping[str, Any]) -> Budget:
    trials = document.get("trials")
    if document.get("kind") != "tune":
        return Budget()
    if document.get("cluster") is not None:
        return Budget(trials=trials)  # its time may be a simulated one, or of several nodes
    wall_s, run_s = _seconds(document.get("budget")), _seconds(document.get("run_time"))
    if document.get("full") and document.get("budget") is None and run_s is None:
        return Budget(trials=trials or DEFAULT_FULL_TRIALS)
    if trials is None and run_s is None and document.get("budget") is None:
        wall_s = DEFAULT_WALL_S
    return Budget(trials=trials, wall_s=wall_s, run_s=run_s)


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else parse_duration_s(text, "budget")
    except TunerError:
        return None
