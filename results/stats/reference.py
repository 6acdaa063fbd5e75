"""Whether a machine changed during a search, from one configuration that ran again every so often.

Each configuration of a search is confounded with its time; the runs of one, the reference, are not. Their logarithms
follow a line over time, and Student's t tests its slope. The noise is pooled: what is left of the reference's runs off
that line, and how the repeats of other configurations within one phase differ. Without a change the test fails in
FALSE_ALARM of the studies, whatever the noise is, as long as it is normal (benchmarks/coverage.py has other noises).
"""

import math
from collections.abc import Sequence

import numpy as np

from .noise import Array

FALSE_ALARM = 0.02
"""Part of the studies on a steady machine in which a test says that it is not steady."""
LEAST_SD = 1e-3
"""Smallest standard deviation of runs, in logarithms: some programs repeat their rates exactly."""
FEWEST = 3
"""Runs of the reference from which it tells something: of two, one that was disturbed would look like a drift."""


def drift(runs: Sequence[tuple[float, float]], repeats: Sequence[Array] = ()) -> float:
    """Return the relative change of the machine from the first to the last of the runs; 0.0 where none is shown.

    Args:
        runs: of the reference, each a time and a rate.
        repeats: for each of some configurations the logarithms of rates that ran in one phase, as a confirmation.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    times, logs = np.array([time for time, _ in runs]), np.log(np.array([rate for _, rate in runs]))
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in repeats)
    freedom = len(runs) - 2 + sum(len(own) - 1 for own in repeats)
    if len(runs) < FEWEST or np.ptp(times) == 0:
        return 0.0
    off = times - times.mean()
    spread = float((off**2).sum())
    slope = float((off * logs).sum()) / spread
    squares += float(((logs - logs.mean() - slope * off) ** 2).sum())
    sd = max(math.sqrt(squares / freedom), LEAST_SD)
    if abs(slope) * math.sqrt(spread) / sd < float(stdtrit(freedom, 1 - FALSE_ALARM / 2)):
        return 0.0
    return math.expm1(slope * float(np.ptp(times)))
