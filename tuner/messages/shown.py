"""What the process of a campaign shows, as JSON: so a display elsewhere shows the same."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from results.record import TrialRecord

from ..events import BuildStep, Event, Notice, PhaseStarted, TrialEnded, TrialStarted, WorkEnded, WorkStarted

KINDS: Mapping[str, type[Event]] = {
    kind.__name__: kind for kind in (Notice, PhaseStarted, BuildStep, WorkStarted, WorkEnded, TrialStarted, TrialEnded)
}
"""Events that are shown elsewhere, too."""


def shown_of(event: Event) -> dict[str, Any] | None:
    """Write an event; a trial that has ended is told of by its number. None where it is not shown elsewhere."""
    kind = type(event).__name__
    if kind not in KINDS:
        return None
    told = {field.name: getattr(event, field.name) for field in fields(event)}
    if isinstance(event, TrialEnded):
        told["record"] = event.record.number
    return {"kind": kind, **told}


def event_of(shown: Mapping[str, Any], records: Mapping[int, TrialRecord]) -> Event | None:
    """Read what `shown_of` wrote; None where it is not known here, as a newer service may tell it.

    Args:
        records: trials that have ended, by their numbers.
    """
    kind = KINDS.get(str(shown.get("kind")))
    told = {name: value for name, value in shown.items() if name != "kind"}
    if "record" in told:
        if told["record"] not in records:
            return None
        told["record"] = records[told["record"]]
    try:
        return None if kind is None else kind(**told)
    except TypeError:
        return None
