"""Whether a run that is under way can still win: what its beginning says, learnt from runs that went to their end."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from hpl.params import HplParams
from hpl.sizing import flop_count, fraction_done
from hpl.witness import Panel
from results.stats.intervals import USUAL_COUNT

from .ladder import STOPS

CERTAINTY = 0.99
"""Probability with which a run that is just the best goes to its end, though it is looked at at each of STOPS."""
FEWEST = 4
"""Runs to the end below which nothing is stopped."""
USUAL_SD = 0.06
"""By how much the ends of runs differ against their first panels, as a relative standard deviation, before it is seen.

With the root of the operations that are left it is of the size that seven recorded landscapes have: 2 to 14 % after 5 %
of the columns, 0.2 to 2 % after 70 % (benchmarks/giving_up.py)."""
ENDING_S = 1.0
"""Open MPI's mpirun gives its ranks this long between TERM and KILL, so a run with less left ends sooner by itself."""


@dataclass(frozen=True)
class StopDecision:
    """A run that cannot win any more.

    Attributes:
        part: of the columns that are done, as in STOPS; `column` where it is.
        time_s: until then.
        most_gflops: what it would have reached at most, with CERTAINTY.
        best_gflops: what it had to reach.
    """

    part: float
    column: int
    time_s: float
    most_gflops: float
    best_gflops: float


@dataclass
class EarlyStopping:
    """For each of STOPS, how much faster or slower runs were in the end than until there, as logarithms.

    Attributes:
        noise_at_first: what the machine has shown of the noise of runs, which what is left of one has too.
    """

    noise_at_first: float = 0.0
    _ratios: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))

    def learn(self, panels: Sequence[Panel], gflops: float) -> None:
        """Take in a run that went to its end.

        Args:
            panels: all of its panels, as `updated` returns them.
        """
        for stop in STOPS:
            panel = next((panel for panel in panels if panel.column >= stop * panel.N), None)
            if panel is not None and panel.time_s > 0:
                self._ratios[stop].append(math.log(gflops / rate_until(panel)))

    def hopeless(self, panel: Panel, before: int, best_gflops: float) -> StopDecision | None:
        """Whether a run that begins this panel will stay below the best, with CERTAINTY.

        None while it may win, where ending it would save no time, and at panels that are not the first after one of
        STOPS: of the others it is not known how runs before went on.

        The end is taken to differ from the beginning as it did in the runs before.

        Args:
            before: column of the panel before this one.
        """
        stop = max((stop for stop in STOPS if before < stop * panel.N <= panel.column), default=None)
        if stop is None or panel.time_s <= 0:
            return None
        ratios = tuple(self._ratios.get(stop, ()))
        if len(ratios) < FEWEST:
            return None
        mean = fmean(ratios)
        if flop_count(panel.N) / 1e9 / (rate_until(panel) * math.exp(mean)) - panel.time_s < ENDING_S:
            return None
        left = 1 - fraction_done(panel.N, round(stop * panel.N))
        usual_sd = math.hypot(USUAL_SD, self.noise_at_first) * math.sqrt(left)
        margin = prediction_margin(ratios, usual_sd, 1 - (1 - CERTAINTY) / len(STOPS))
        most = rate_until(panel) * math.exp(mean + margin)
        return None if most >= best_gflops else StopDecision(stop, panel.column, panel.time_s, most, best_gflops)


def updated(panels: Sequence[Panel], hpl: HplParams | None) -> list[Panel]:
    """Panels with the columns by which the whole matrix was updated: with a look-ahead DEPTH panels less than begun."""
    ahead = hpl.DEPTH * hpl.NB if hpl else 0
    return [replace(panel, column=max(0, panel.column - ahead)) for panel in panels]


def rate_until(panel: Panel) -> float:
    """GFLOPS from the first panel to this one."""
    return fraction_done(panel.N, panel.column) * flop_count(panel.N) / panel.time_s / 1e9


def prediction_margin(values: Sequence[float], usual_sd: float, certainty: float) -> float:
    """Return how far the next value is above the mean at most, or below it at most, in the values' unit.

    It is Student's t for one more value, with the pooled standard deviation of the values and the usual one.

    Args:
        values: the values so far, at least one.
        usual_sd: the prior standard deviation.
        certainty: probability that the next value is within the margin on one side, below 1.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import, and most commands do not need it

    mean, freedom = fmean(values), len(values) - 1 + USUAL_COUNT
    squares = sum((value - mean) ** 2 for value in values) + USUAL_COUNT * usual_sd**2
    return float(stdtrit(freedom, certainty)) * math.sqrt(squares / freedom * (1 + 1 / len(values)))
