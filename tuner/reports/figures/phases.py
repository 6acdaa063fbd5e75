"""How long each phase of HPL took in the best run, as HPL itself timed it."""

from collections.abc import Mapping

from hpl.output import parse
from results.record import TrialRecord
from results.report.model import Figure, Series

NAMES = {
    "rfact": "rfact: panels",
    "pfact": "pfact, within rfact",
    "mxswp": "mxswp, within pfact",
    "update": "update: the rest of the matrix",
    "laswp": "laswp, within update",
    "up tr sv": "up tr sv: the solve",
}
"""What HPL calls its phases, and what they are."""


def phases_s(record: TrialRecord) -> Mapping[str, float]:
    """Seconds of each phase of a trial by HPL's name, of the rank that took longest; empty where HPL printed none.

    Args:
        record: with its output.
    """
    if record.hpl is None:
        return {}
    asked = (record.hpl.N, record.hpl.NB, record.hpl.P, record.hpl.Q, record.time_s, record.gflops)
    own = (
        one for one in parse(record.output).results if asked == (one.N, one.NB, one.P, one.Q, one.time_s, one.gflops)
    )
    found = next(own, None)
    return found.phases_s if found else {}


def phases_text(seconds: Mapping[str, float]) -> str:
    """Write the phases on one line; those within another stand in brackets behind it."""
    told = {name: f"{name} {time_s:.2f} s" for name, time_s in seconds.items()}
    panels = [told[name] for name in ("pfact", "mxswp") if name in told]
    update = [told[name] for name in ("laswp",) if name in told]
    parts = [_with(told.get("rfact"), panels), _with(told.get("update"), update), told.get("up tr sv")]
    return ", ".join(part for part in parts if part)


def _with(whole: str | None, within: list[str]) -> str:
    parts = ", ".join(within)
    return f"{whole} ({parts})" if whole and within else whole or parts


def phases(record: TrialRecord) -> Figure | None:
    """Draw the phases of a trial; None where HPL did not time them, or where all are below its 0.01 s."""
    seconds = phases_s(record)
    if not any(seconds.values()) or not record.time_s:
        return None
    shown = {NAMES[name]: time_s for name, time_s in seconds.items()}
    bars = Series(
        "phases",
        tuple(shown),
        tuple(shown.values()),
        labels=tuple(f"{time_s / record.time_s:.1%} of the run" for time_s in shown.values()),
    )
    title = f"Phases of trial {record.number}, {record.time_s:.2f} s in all"
    return Figure(title, "phase", "seconds of the rank that took longest", (bars,), lying=True)
