"""Chooses which runs the model remembers, and fits the process to them: the sizes of its effects."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..outcomes import FULL, Fidelity, Rung
from ..points import Codes, Vector
from .covariance import Runs, Scales
from .pool import FEATURES, Pool
from .process import Process

MOST = 400
"""Observations that the process holds: an ask then takes about as long after 10,000 trials as after 400."""
RENEWED = 50
"""Runs after which it is chosen anew what is kept; those since are kept all."""
NEWEST, FASTEST = 100, 150
"""Of what is kept, the newest and the fastest observations; the rest has the values that are rarest among them."""
LOOKED_AT = 5_000
"""Observations among which rare values are looked for, evenly spread where there are more."""


@dataclass(frozen=True)
class MeasuredRun:
    """One run that gave a rate.

    Attributes:
        place: its configuration's number in the pool.
        log_rate: natural logarithm of GFLOPS, as they were measured.
        rest_s: seconds of the launch beside HPL's time, None where that is not known; `sharing` runs had that launch.
        lost: how much lower the rate may be than without what disturbed it, in logarithms; 0 for a quiet run.
    """

    place: int
    rung: Rung
    log_rate: float
    session: int
    rest_s: float | None
    sharing: int
    lost: float = 0.0

    @property
    def repeated(self) -> "Repeated":
        """What all repeats of the run have in common."""
        return self.place, self.rung, self.session


Repeated = tuple[int, Rung, int]
"""Place, rung and session."""
FAR = 0.2
"""A first run that is so much slower than the second, in logarithms, counts as disturbed and is left out."""


@dataclass(frozen=True)
class Observation:
    """Runs of one configuration on one rung in one session.

    Attributes:
        log_rate: their mean, natural logarithm of GFLOPS.
        count: how many they are.
        scatter: sum of the squares of their distances from the mean.
        last: number of the newest of them among all runs.
        lost: of a disturbed run, as in `MeasuredRun`; then it is the only one, that which may have lost least. Where a
            run was quiet, disturbed ones are left out, and this is 0.
    """

    place: int
    rung: Rung
    session: int
    log_rate: float
    count: int
    scatter: float
    last: int
    lost: float = 0.0

    @classmethod
    def of(cls, run: MeasuredRun, last: int) -> "Observation":
        """The observation of one run."""
        return cls(run.place, run.rung, run.session, run.log_rate, 1, 0.0, last, run.lost)

    def and_then(self, run: MeasuredRun, last: int) -> "Observation":
        """The observation with one more run."""
        if run.lost or self.lost:
            return replace(self, last=last) if run.lost >= self.lost else Observation.of(run, last)
        if self.count == 1 and run.log_rate > self.log_rate + FAR:
            return Observation.of(run, last)
        count, away = self.count + 1, run.log_rate - self.log_rate
        mean = self.log_rate + away / count
        scatter = self.scatter + away * (run.log_rate - mean)
        return Observation(self.place, self.rung, self.session, mean, count, scatter, last)

    @property
    def expected_log(self) -> float:
        """The mean of what the rate may be without the disturbance: any part of what it may have lost is as likely."""
        return self.log_rate + self.lost / 2

    @property
    def lost_variance(self) -> float:
        """The variance of that, as of any value between two ends."""
        return self.lost**2 / 12


Observations = dict[Repeated, Observation]


def observed(runs: Iterable[MeasuredRun], before: Observations | None = None, first: int = 0) -> Observations:
    """Group the repeats of runs into observations, in the order of the first of each.

    Args:
        before: those of earlier runs, to which they are added.
        first: number of the first run.
    """
    found = {} if before is None else before
    for number, run in enumerate(runs, start=first):
        key = run.repeated
        known = found.get(key)
        found[key] = Observation.of(run, number) if known is None else known.and_then(run, number)
    return found


def most_telling(codes: Codes, rivals: Codes, rates: Vector, last: Codes, wanted: int) -> NDArray[np.intp]:
    """Choose at most so many observations that tell most, in their order.

    Args:
        codes: value numbers, shape (observations, axes).
        rivals: number of the group of each whose rates are compared: those of one rung.
        rates: logarithms, and `last` the number of the newest run of each.
    """
    size = len(rates)
    if size <= wanted:
        return np.arange(size)
    kept = np.zeros(size, dtype=bool)
    kept[np.argsort(-last, kind="stable")[:NEWEST]] = True
    ranks = np.empty(size)
    for group in np.unique(rivals):
        here = np.flatnonzero(rivals == group)
        ranks[here[np.argsort(-rates[here], kind="stable")]] = np.arange(len(here))
    ranks[kept] = np.inf
    kept[np.argsort(ranks, kind="stable")[:FASTEST]] = True
    left = np.flatnonzero(~kept)
    left = left[:: -(-len(left) // LOOKED_AT)]
    table = np.hstack([codes, rivals[:, None]])
    kept[left[_rarest(table[left], table[kept], wanted - int(kept.sum()))]] = True
    return np.flatnonzero(kept)


def _rarest(codes: Codes, kept: Codes, wanted: int) -> Sequence[int]:
    """Yield, one after the other, the observation whose values were kept least often so far.

    Args:
        codes: value numbers of the candidates, shape (candidates, axes); `kept` of what is kept already.
    """
    size = 1 + int(max(codes.max(initial=0), kept.max(initial=0)))
    axes, chosen = np.arange(codes.shape[1]), list[int]()
    seen = np.array([np.bincount(values, minlength=size) for values in kept.T], dtype=float)
    free = np.ones(len(codes), dtype=bool)
    for _ in range(min(wanted, len(codes))):
        rarity = np.where(free, (1 / (1 + seen))[axes, codes].sum(axis=1), -1.0)
        best = int(np.argmax(rarity))
        chosen.append(best)
        free[best] = False
        seen[axes, codes[best]] += 1
    return chosen


GROWTH = 1.12
"""Scales are fitted anew when the runs have grown by this factor."""
FITTED_FROM = 6
"""Runs below which the prior scales are used as they are."""


class Fitting:
    """The runs over a pool of configurations, and the process that describes them.

    What is fitted depends on the runs, their order and the rungs that were asked for alone, so that a search that is
    taken up again goes on as it would have.
    """

    def __init__(self, pool: Pool) -> None:
        self.runs: list[MeasuredRun] = []
        self._pool = pool
        self._to_all = False
        self._fitted: tuple[tuple[int, float], Sequence[Rung], Scales] | None = None
        self._all: Observations = {}
        self._kept: tuple[int, frozenset[Repeated]] = (0, frozenset())
        self._known: tuple[tuple[object, ...], Process] | None = None
        self._usual_noise = self._least_noise = 0.0

    def expect_noise(self, usual: float, least: float) -> None:
        """Take repeated full runs to differ as another estimate says, as standard deviations in logarithms.

        Args:
            usual: at least, where runs are too few to fit the scales to them; `least` else.
        """
        self._usual_noise, self._least_noise = usual, least
        self._fitted = self._known = None

    def learn(self, run: MeasuredRun) -> None:
        """Add a run."""
        observed([run], self._all, len(self.runs))
        self.runs.append(run)

    def remembered(self, count: int | None = None) -> Sequence[Observation]:
        """The observations that condition the process: at most MOST, with all repeats of each.

        Args:
            count: of so many first runs, by default of all.
        """
        last = len(self.runs) if count is None else count
        known = self._all if last == len(self.runs) else observed(self.runs[:last])
        if len(known) <= MOST:
            return list(known.values())
        renewed = last - last % RENEWED
        wanted = self._chosen(renewed).union(run.repeated for run in self.runs[renewed:last])
        return [one for key, one in known.items() if key in wanted]

    def _chosen(self, count: int) -> frozenset[Repeated]:
        """Choose what is kept of the first `count` runs, with room for the runs until the next choice."""
        if self._kept[0] != count:
            known = observed(self.runs[:count])
            keys, found = list(known), list(known.values())
            places = np.array([one.place for one in found], dtype=np.intp)
            rungs = {rung: number for number, rung in enumerate(dict.fromkeys(one.rung for one in found))}
            groups = np.column_stack([[rungs[one.rung] for one in found], self._pool.against[places]])
            kept = most_telling(
                self._pool.codes[places],
                np.unique(groups, axis=0, return_inverse=True)[1].ravel(),
                np.array([one.log_rate for one in found]),
                np.array([one.last for one in found], dtype=np.intp),
                MOST - RENEWED,
            )
            self._kept = count, frozenset(keys[number] for number in kept)
        return self._kept[1]

    def fit_to_all(self) -> None:
        """Fit to all runs from now on, however few are new."""
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
        cliff = self._pool.model.cliff
        if self._fitted is None or self._fitted[:2] != ((count, cliff), kinds):
            self._known = None
            self._fitted = (count, cliff), kinds, self._fit(self.remembered(count), kinds, prior)
        correlations = self._pool.correlations()
        state = (len(self.runs), cliff, *map(len, correlations))
        if self._known is None or self._known[0] != state:
            self._known = state, self._conditioned(self.remembered(), kinds, self._fitted[2], prior)
        return self._known[1], kinds

    def _fit(self, runs: Sequence[Observation], kinds: Sequence[Rung], prior: Scales) -> Scales:
        """Find the scales that explain the runs best; of few runs the usual ones are taken."""
        few = sum(one.count for one in runs) < FITTED_FROM
        if few:
            return prior.with_full_noise(self._usual_noise)
        return self._conditioned(runs, kinds, prior, prior).fitted().scales.with_full_noise(self._least_noise)

    def _conditioned(
        self, measured: Sequence[Observation], kinds: Sequence[Rung], scales: Scales, prior: Scales
    ) -> Process:
        pool, places = self._pool, np.array([run.place for run in measured], dtype=np.intp)
        rung = np.array([kinds.index(run.rung) for run in measured], dtype=np.intp)
        mean, slopes = np.empty(len(measured)), np.empty((len(measured), FEATURES))
        for kind in set(rung):
            here = rung == kind
            modelled = pool.modelled_at(places[here], kinds[kind])
            mean[here], slopes[here] = modelled.mean, modelled.slopes
        runs = Runs(
            codes=pool.codes[places],
            rung=rung,
            log_rate=np.array([run.expected_log for run in measured]) - mean,
            slopes=slopes,
            session=np.array([run.session for run in measured], dtype=np.intp),
            present=max(measured, key=lambda run: run.last).session,
            count=np.array([run.count for run in measured], dtype=float),
            scatter=np.array([run.scatter for run in measured]),
            unsure=np.array([run.lost_variance for run in measured]),
            elsewhere=np.array([rung.fidelity is Fidelity.EARLIER for rung in kinds]),
        )
        return Process(runs, pool.correlations(), scales, prior)


def fitted_to(count: int) -> int:
    """How many of `count` runs the scales are fitted to: all of a few, later the last step of GROWTH."""
    fitted = min(count, FITTED_FROM)
    while count >= fitted * GROWTH and fitted < count:
        fitted = min(count, math.ceil(fitted * GROWTH))
    return fitted
