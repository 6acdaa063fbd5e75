"""Half of the interval that holds a normal value with a probability of 95 %."""

Z95 = 1.96
"""Standard deviations on each side of a normal value within which it is with that probability."""


def half_95(sd: float) -> float:
    """Half of the interval of a value with this standard deviation."""
    return Z95 * sd
