"""Holds what the engine `hpl` knows during a search: its pool, the runs so far, and the runs under way."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base import BarredParts
from ..companions import alone_seconds, shared_seconds
from ..model.belief import Belief, Growth
from ..model.fitting import Fitting, MeasuredRun
from ..model.pool import Pool
from ..model.process import Process
from ..outcomes import FULL, GIVEN_UP, Fidelity, Outcome, Rung
from ..points import Codes, Matrix, Vector
from .pending import PendingRuns

AGAIN = 0.3
"""Chance that a value runs after one failure and no success; each further failure multiplies it by this part."""
ENOUGH = 4
"""Failures without a success after which a value is given up."""
UNLIKELY = 0.1
"""A configuration with less chance to run is not reckoned to be the best, so that others have something to gain."""


def chance_to_run(codes: Codes, ran: Codes, failed: Codes) -> Vector:
    """The chance of each configuration to run, which is that of its worst value.

    A failure is held against those of its values that fared worst so far; a value is given up only for failures that
    no other value can be blamed for. So a library that crashes is given up after a few runs, and the block sizes that
    it was tried with are not.

    Args:
        codes: value numbers of the configurations, shape (points, axes); `ran` and `failed` those of past runs.
    """
    if not failed.size:
        return np.ones(len(codes))
    size = 1 + max(int(table.max(initial=0)) for table in (codes, ran, failed))
    good, bad = _counts(ran, np.ones(ran.shape), size), _counts(failed, np.ones(failed.shape), size)
    axes = np.arange(codes.shape[1])
    fared = ((good + 1) / (good + bad + 1))[axes, failed]
    blamed = fared <= fared.min(axis=1, keepdims=True)
    bad = _counts(failed, blamed.astype(float), size)
    alone = _counts(failed, (blamed & (blamed.sum(axis=1, keepdims=True) == 1)).astype(float), size)
    never = np.where(alone < ENOUGH, AGAIN**bad, 0.0)
    chance = np.where(good > 0, (good + 1) / (good + bad + 1), never)
    return np.asarray(chance[axes, codes].min(axis=1))


def _counts(rows: Codes, weights: Matrix, size: int) -> Matrix:
    """Sum of the weights of each value of each axis, shape (axes, values)."""
    return np.array([np.bincount(values, some, size) for values, some in zip(rows.T, weights.T, strict=True)])


MOST_REPEATS = 5
"""Full runs of one configuration during a search, where repeating it tells more than trying another."""


class EngineState:
    """The configurations of a search, with all runs that were told or asked of them.

    Args:
        barred: what cannot run.
        fitting: describes the runs over the pool.
    """

    def __init__(self, pool: Pool, growth: Growth, pending: PendingRuns, barred: BarredParts, fitting: Fitting) -> None:
        self.pool, self.growth, self.pending = pool, growth, pending
        self.fitting = fitting
        self._barred = barred
        self._failed: list[int] = []
        self._since_full: list[Outcome] = []

    # what was told

    @property
    def runs(self) -> Sequence[MeasuredRun]:
        """All runs that gave a rate."""
        return self.fitting.runs

    @property
    def run_in_full(self) -> list[int]:
        """Places of the full runs that gave a rate, a place as often as it was run."""
        return [run.place for run in self.runs if run.rung == FULL]

    @property
    def to_beat(self) -> list[int]:
        """The places of the full runs that the process knows; of a large study it leaves out slower ones."""
        return [run.place for run in self.fitting.remembered() if run.rung == FULL]

    def learn(self, place: int, outcome: Outcome) -> None:
        """Learn the outcome of a run of the configuration at a place."""
        if outcome.rung == FULL or outcome.state == GIVEN_UP:
            self._since_full.clear()
        elif outcome.rung.fidelity is not Fidelity.EARLIER:
            self._since_full.append(outcome)
        self.pending.settle(place, outcome.rung)
        if outcome.gflops is None or not np.isfinite(outcome.gflops) or outcome.gflops <= 0:
            self._failed.append(place)
            return
        rest_s = None if outcome.cost_s is None or outcome.time_s is None else outcome.cost_s - outcome.time_s
        log_rate = float(np.log(outcome.gflops))
        self.fitting.learn(
            MeasuredRun(place, outcome.rung, log_rate, outcome.session, rest_s, outcome.sharing, outcome.lost)
        )

    # what may be asked

    def left(self, rung: Rung) -> NDArray[np.bool_]:
        """Configurations that may be asked on a rung."""
        return self.pending.left(rung, len(self.pool)) & self._allowed()

    def repeatable(self) -> NDArray[np.bool_]:
        """Configurations that may be run in full once more."""
        counts = np.bincount(np.array(self.run_in_full, dtype=np.intp), minlength=len(self.pool))
        most = 1 if self.pool.exact else MOST_REPEATS
        counts[self.pending.waiting(FULL)] = most
        return (counts > 0) & (counts < most) & self._allowed()

    def run_once_in_full(self) -> NDArray[np.bool_]:
        """Configurations that ran in full once, and may run again because runs differ."""
        counts = np.bincount(np.array(self.run_in_full, dtype=np.intp), minlength=len(self.pool))
        counts[self.pending.waiting(FULL)] += 1
        return np.asarray((counts == 1) & self.repeatable())

    def most_likely_to_run(self, rung: Rung) -> NDArray[np.intp]:
        """The places that are left on a rung and have the highest chance to run."""
        left = np.flatnonzero(self.left(rung))
        chance = self.chance_to_run(self.pool.codes[left])
        return np.asarray(left[chance == chance.max(initial=0.0)], dtype=np.intp)

    def _allowed(self) -> NDArray[np.bool_]:
        if not len(self._barred):
            return np.ones(len(self.pool), dtype=bool)
        return np.array([not self._barred.covers(point) for point in self.pool.points], dtype=bool)

    # what is expected

    def chance_to_run(self, codes: Codes) -> Vector:
        """The probability that each configuration runs at all; `codes` are their value numbers."""
        known = self.pool.codes
        ran = known[[run.place for run in self.runs if run.rung.fidelity is not Fidelity.EARLIER]]
        return chance_to_run(codes, ran, known[self._failed] if self._failed else known[:0])

    def rest_s(self, rung: Rung) -> float:
        """Seconds of a launch of one run beside HPL's own time."""
        return alone_seconds([(run.rung, run.rest_s) for run in self.runs if run.sharing == 1], rung)

    def launch_s(self, rung: Rung) -> tuple[float, float]:
        """Seconds of starting, which the runs of a launch share, and those that each run adds beside HPL's own time."""
        rests = [(run.sharing, run.rung.size, run.rest_s) for run in self.runs if run.rest_s is not None]
        return shared_seconds(rests, rung.size)

    def cheap_s(self, full_s: float) -> float:
        """Seconds of the cheap runs since the last full one, those under way included.

        Args:
            full_s: seconds that HPL is expected to take for a full run.
        """
        expected_s = [self.rest_s(rung) + rung.operations * full_s for rung in self.pending.under_way]
        known_s = [run.rung.operations * full_s if run.cost_s is None else run.cost_s for run in self._since_full]
        return sum(expected_s) + sum(known_s)

    def belief(self, rungs: Sequence[Rung]) -> Belief:
        """The belief after all runs, those under way counted as if each came out as expected.

        Raises:
            FitError: the runs cannot be described.
        """
        process, kinds = self._widened(rungs)
        for kind, rung in enumerate(kinds):
            waiting = self.pending.waiting(rung)
            if waiting:
                at_rung = self.pool.modelled_at(waiting, rung)
                process = process.fantasise(self.pool.codes[waiting], at_rung, kind)
        beaten = set(self.run_in_full).difference(self.to_beat)
        if self._failed:
            beaten |= set(np.flatnonzero(self.chance_to_run(self.pool.codes) < UNLIKELY).tolist())
        return Belief.over(process, self.pool, kinds, sorted(beaten))

    def expected_at(self, rung: Rung) -> Vector:
        """The logarithm of the rate that whole runs at another N are expected to have; -inf of what will hardly run.

        Raises:
            FitError: the runs cannot be described.
        """
        rate = self._widened((FULL,), rung)[0].expected(self.pool.codes, self.pool.modelled(rung), 0)
        may_run = self._allowed() & (self.chance_to_run(self.pool.codes) >= UNLIKELY)
        may_run[sorted(set(self._failed).difference(self.run_in_full))] = False
        return np.where(may_run, rate, -np.inf)

    def _widened(self, rungs: Sequence[Rung], best_at: Rung = FULL) -> tuple[Process, list[Rung]]:
        """The process over the pool, which first takes in the neighbours of its best points if it is a sample."""
        pool = self.pool
        process, kinds = self.fitting.process(rungs)
        for _ in self.growth.rounds:
            if not self.growth.took_in_around(process.expected(pool.codes, pool.modelled(best_at), 0)):
                break
            process, kinds = self.fitting.process(rungs)
        return process, kinds
