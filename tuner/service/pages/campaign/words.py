"""What the live page says of a campaign and its trials, in sentences."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from results.metrics import rate_text
from results.record import Kind, Study, TrialRecord

from ....budget import Budget
from ....messages.live import LiveState
from ....units import duration
from ....words import counted
from ...live.position import GOES_ON
from .beliefs import ModelBelief
from .digest import Digest

STATES: Mapping[LiveState, str] = {
    "queued": "It waits for its turn.",
    "running": "It runs.",
    "paused": "It is paused.",
    "complete": "It is complete.",
    "interrupted": "It was interrupted: `hpltune tune --resume` goes on with it.",
    "killed": "It was killed: `hpltune tune --resume` goes on with it.",
    "failed": "It failed.",
    "cancelled": "It was cancelled.",
    "removed": "It was removed.",
}
WHY: Mapping[Kind, str] = {
    Kind.SMALL: "The engine asked for it at a smaller N, where it tells much for its time.",
    Kind.PREFIX: "The engine asked for its first columns only, which tell much for their time.",
    Kind.PILOT: "A small run, which shows how long runs take.",
    Kind.CONFIRMATION: "One of the best runs again, to be sure which is the best.",
    Kind.EXTRAPOLATION: "The winner at a smaller N, to predict the run with the whole memory.",
    Kind.RUN: "A run of the HPL.dat that was given.",
}
ENGINES: Mapping[str, str] = {
    "hpl": "The engine expects to gain most from it for each second that it takes.",
    "bayes": "The engine expects to gain most from it.",
    "random": "It was drawn by chance.",
    "grid": "It is the next of the grid.",
    "one-at-a-time": "It changes one parameter of the best so far.",
}
MOST_DIFFERENCES = 6
"""Parameters of a running trial that are compared with those of the best."""


def headline(state: LiveState, digest: Digest) -> str:
    """Say what a screen reader tells by itself: how the campaign stands, and its best."""
    best = digest.best
    so_far = " so far" if state in GOES_ON else ""
    found = f"The best{so_far}: {rate_text(best.gflops)} GFLOPS, in trial {best.number}." if best else ""
    return f"{STATES[state]} {found or 'No full run counts yet.'}"


def time_left(study: Study, digest: Digest, now: datetime, session: int) -> str | None:
    """Say what is left of the budget; None where nothing is limited.

    Args:
        session: number of the session, from 0; the time of earlier ones is not known here.
    """
    asked = study.options.get("budget")
    budget = Budget(**asked) if isinstance(asked, dict) else Budget()
    parts, left_s = [], list[float]()
    if budget.trials is not None:
        trials = max(0, budget.trials - digest.counted)
        parts.append(
            f"{min(digest.counted, budget.trials)} of {counted(budget.trials, 'trial')} of its budget are done"
        )
        left_s += [trials * digest.machine_s / digest.ended] if digest.ended else []
    if budget.run_s is not None:
        left_s.append(budget.run_s - digest.machine_s)
    if budget.wall_s is not None and study.simulated:
        left_s.append(budget.wall_s - digest.machine_s)
    elif budget.wall_s is not None and session == 0:
        left_s.append(budget.wall_s - (now - study.created_at).total_seconds())
    if left_s:
        virtual = " of its table's time" if study.replayed else " of its virtual time" if study.simulated else ""
        parts.append(
            f"about {duration(max(0.0, min(left_s)))}{virtual} are left" if min(left_s) > 0 else "its time is up"
        )
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else None


def why(study: Study, record: TrialRecord, best: TrialRecord | None) -> str:
    """Say why a trial runs."""
    if record.kind in WHY:
        return WHY[record.kind]
    if study.engine == "hpl" and best is None:
        return "One of the first runs, chosen by what is known of HPL before any full run."
    return ENGINES.get(study.engine, f"The engine {study.engine} asked for it.")


def differences(record: TrialRecord, best: TrialRecord | None, belief: ModelBelief | None) -> list[str]:
    """Say in which parameters a trial differs from the best, and what the model believes of its values."""
    if best is None or best.key == record.key:
        return []
    names = [name for name, value in record.params.items() if best.params.get(name) != value and name != "threshold"]
    said = [
        f"{name} {record.params[name]} instead of {best.params.get(name, 'none')}"
        f"{_believed(belief, name, record.params[name])}"
        for name in names[:MOST_DIFFERENCES]
    ]
    more = len(names) - len(said)
    return [*said, *([f"and {more} more"] if more > 0 else [])]


def _believed(belief: ModelBelief | None, name: str, value: object) -> str:
    found: Mapping[str, Any] | None = belief.of_value(name, value) if belief else None
    if found is None:
        return ""
    tried = "" if found["runs"] else ", not run yet"
    return f" (the model: {found['percent']:+.1f} ± {found['sd']:.1f} %{tried})"
