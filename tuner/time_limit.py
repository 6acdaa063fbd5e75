"""After how many seconds a launch is ended that hangs."""

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
