"""Counts of operations, and rates, as HPL computes them."""


def flop_count(N: int) -> float:
    """Return the floating-point operations of a solve of order N: 2/3 N^3 + 3/2 N^2, as in `HPL_pdtest.c`."""
    return (2.0 / 3.0) * N**3 + 1.5 * N**2


def gflops(N: int, time_s: float) -> float:
    """Return the rate in GFLOPS of a solve that took `time_s` seconds.

    Raises:
        ValueError: the time is not above zero.
    """
    if time_s <= 0:
        raise ValueError(f"a solve takes more than {time_s} s")
    return flop_count(N) / time_s / 1e9


def seconds(N: int, gflops: float) -> float:
    """Return the time in seconds that a solve takes at a rate above zero."""
    return flop_count(N) / gflops / 1e9


def fraction_done(N: int, column: int) -> float:
    """Return the part of the operations done when the panel at `column` begins: 1 - (1 - column/N)^3, from 0 to 1."""
    if N <= 0:
        return 1.0
    return 1.0 - (1.0 - min(max(column / N, 0.0), 1.0)) ** 3
