"""The runs so far, and the process that describes them: what is unknown of the machine, and the sizes of effects."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..fidelity import FULL, Fidelity, Rung
from .pool import Pool
from .process import Process, Runs
from .scales import Scales

GROWTH = 1.12
"""Scales are fitted and the model is straightened anew when the runs have grown by this factor."""
FITTED_FROM = 6
"""Runs below which the prior scales are used as they are."""
MOVES = 6
"""Times at most that the model is straightened, each time where the last straight line led."""
FARTHEST = 1.0
"""Standard deviations that a quantity may move at once: farther off the model is no straight line."""
NEAR = 0.1
"""Moves below which the line is good enough."""


@dataclass(frozen=True)
class Measured:
    """One run that gave a rate.

    Attributes:
        place: its configuration's number in the pool.
        rest_s: seconds of the launch beside HPL's time, None where that is not known; `sharing` runs had that launch.
    """

    place: int
    rung: Rung
    log_rate: float
    session: int
    rest_s: float | None
    sharing: int


class Fitting:
    """Describes runs over a pool of configurations.

    What is fitted depends on the runs, their order and the rungs that were asked for alone, so that a search that is
    taken up again goes on as it would have.
    """

    def __init__(self, pool: Pool) -> None:
        self.runs: list[Measured] = []
        self._pool = pool
        self._to_all = False
        self._fitted: tuple[int, Sequence[Rung], Scales] | None = None

    def learn(self, run: Measured) -> None:
        """Take in a run."""
        self.runs.append(run)

    def fit_to_all(self) -> None:
        """From now on fit to all runs, however few are new."""
        self._to_all = True

    def process(self, rungs: Sequence[Rung]) -> tuple[Process, list[Rung]]:
        """The process of all runs, and the rungs by their numbers in it.

        Args:
            rungs: that it shall know, besides those of the runs.

        Raises:
            FitError: the runs cannot be described.
        """
        seen = {run.rung for run in self.runs} | set(rungs) | set(self._fitted[1] if self._fitted else ())
        kinds = [FULL, *sorted(seen - {FULL}, key=lambda rung: (rung.fidelity, rung.part))]
        prior = Scales.prior(self._pool.names, [rung.fidelity is Fidelity.EARLIER for rung in kinds[1:]])
        count = len(self.runs) if self._to_all else fitted_to(len(self.runs))
        if self._fitted is None or self._fitted[:2] != (count, kinds):
            self._fitted = count, kinds, self._fit(self.runs[:count], kinds, prior)
        return self._conditioned(self.runs, kinds, self._fitted[2], prior), kinds

    def _fit(self, runs: Sequence[Measured], kinds: Sequence[Rung], prior: Scales) -> Scales:
        """Straighten the model where the runs say the machine is (Gauss and Newton), then find the scales."""
        self._pool.move(np.zeros_like(self._pool.moved))
        for _ in range(MOVES):
            move = self._conditioned(runs, kinds, prior, prior).moved() - self._pool.moved
            self._pool.move(self._pool.moved + np.clip(move, -FARTHEST, FARTHEST))
            if np.abs(move).max() < NEAR:
                break
        return self._conditioned(runs, kinds, prior, prior).fitted().scales if len(runs) >= FITTED_FROM else prior

    def _conditioned(
        self, measured: Sequence[Measured], kinds: Sequence[Rung], scales: Scales, prior: Scales
    ) -> Process:
        pool, places = self._pool, np.array([run.place for run in measured], dtype=np.intp)
        rung = np.array([kinds.index(run.rung) for run in measured], dtype=np.intp)
        mean, slopes = np.empty(len(measured)), np.empty((len(measured), len(pool.moved)))
        for kind in set(rung):
            here = rung == kind
            modelled = pool.modelled_at(places[here], kinds[kind])
            mean[here], slopes[here] = modelled.mean, modelled.slopes
        runs = Runs(
            codes=pool.codes[places],
            rung=rung,
            log_rate=np.array([run.log_rate for run in measured]) - mean,
            slopes=slopes,
            session=np.array([run.session for run in measured], dtype=np.intp),
            elsewhere=np.array([rung.fidelity is Fidelity.EARLIER for rung in kinds]),
        )
        return Process(runs, pool.correlations(), scales, prior)


def fitted_to(count: int) -> int:
    """To how many of so many runs the scales are fitted: all of a few, later the last step of GROWTH."""
    fitted = min(count, FITTED_FROM)
    while count >= fitted * GROWTH and fitted < count:
        fitted = min(count, math.ceil(fitted * GROWTH))
    return fitted
