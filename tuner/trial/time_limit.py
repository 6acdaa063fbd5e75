"""After how many seconds a launch is ended that hangs."""

from ..units import duration

PATIENCE = 5.0
"""A launch is given so many times what it should take: estimates may be wrong by three, and configurations differ."""
LEAST_PATIENCE = 3.0
"""So many times where that is more than LEFT_SHARE of the time left."""
LEFT_SHARE = 1 / 3
"""Of the time left, what a launch may take that takes long: others must still be able to follow it."""
SPARE_S = 5.0
"""Every launch is given so long, unless `unknown_s` is less: what starting, ending and a busy machine may take."""
UNKNOWN_S = 60.0
"""A launch of which nothing is known yet gets this, or the part of the budget that follows where that is more."""
UNKNOWN_SHARE = 0.1
RAISED = 2
"""Runs in full that are ended, before one came to its end, each make what follows be expected to take as long."""
TELLING = 2.0
"""So many times what it should take a run has been given that is ended; less was given before that was raised."""


def unknown_limit_s(budget_s: float) -> float:
    """The limit of a launch of which nothing is known yet, but for what is left of the budget."""
    return max(UNKNOWN_S, UNKNOWN_SHARE * budget_s)


def limit_s(expected_s: float | None, left_s: float | None, unknown_s: float) -> float:
    """Seconds after which a launch is ended.

    What is left of the budget is overrun by no more than the launch was expected to take, but for SPARE_S.

    Args:
        expected_s: what it should take, start included; None where that is not known, which gives it `unknown_s`.
        left_s: of the budget; None where time is not limited.
    """
    patient_s = unknown_s if expected_s is None else PATIENCE * expected_s + SPARE_S
    if left_s is not None:
        usual_s = expected_s or 0.0
        patient_s = min(patient_s, max(LEFT_SHARE * left_s, LEAST_PATIENCE * usual_s), max(0.0, left_s) + usual_s)
    return max(patient_s, min(SPARE_S, unknown_s))


def outlasted_sentence(N: int, limit_s: float, *, raised: bool) -> str:
    """What the user is told of a run in full that was ended, while none came to its end.

    Args:
        limit_s: what the next one is given.
        raised: that is more than this one had.
    """
    so = f"so the next may take up to {duration(limit_s)}" if raised else f"and the next gets {duration(limit_s)}"
    why = f"No run of N={N} has finished yet, {so}."
    return f"{why} If all are that slow, choose a smaller N with «set» N=…, or a longer «budget»."
