"""Weighs what each possible next run is expected to gain per second of machine time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from results.stats.noise import HICCUP, LOSS, LUCK

from ..model.belief import Belief, expected_improvement, to_surpass
from ..outcomes import FULL, Question, Rung
from ..points import Vector
from .search_state import EngineState

VERIFY = 1.5
"""Full runs' worth of seconds in cheap runs after which the best so far is measured in full."""
WORTHLESS = 1e-4
"""Gain in the logarithm of the rate that any further run is expected to bring, below which the search ends."""
DOUBT = 4.0
"""How many times as unsure as it says the model is taken to be before it ends the search; it was seen four sd off."""
FAR, TIMES = 0.08, 4.0
"""Logarithm, and times the noise of repeated runs, by which a run must be slower than expected to be doubted."""


def chance_disturbed(off: Vector, sd: Vector) -> Vector:
    """The chance that slow runs were disturbed, and are not those of slow configurations.

    `results/stats/noise.py` says how many runs are disturbed, and by how much.

    Args:
        off: how far each is from what was expected, in logarithms, below 0; `sd` the standard deviation of that.
    """
    log_slow = np.log(HICCUP / LOSS) + np.minimum(off, 0.0) / LOSS
    log_usual = np.log((1 - HICCUP - LUCK) / (sd * np.sqrt(2 * np.pi))) - 0.5 * (off / sd) ** 2
    return np.asarray(expit(log_slow - log_usual))


@dataclass(frozen=True)
class Doubts:
    """The full runs that were far slower than all others let expect: something may have disturbed them unseen.

    Attributes:
        worth: the expected gain of one more run of each configuration, in the logarithm of the best rate, shape
            (configurations,); 0 where its run is not doubted.
        slower: by which part of what was expected of it each of them was slower.
    """

    worth: Vector
    slower: Vector

    @classmethod
    def of(cls, state: EngineState, belief: Belief) -> "Doubts":
        """The doubts about the runs so far; there are none where a run comes out the same each time."""
        pool, runs = state.pool, state.fitting.remembered()
        worth, slower = np.zeros((2, len(pool)))
        once = state.run_once_in_full()
        rows = [row for row, one in enumerate(runs) if one.rung == FULL and not one.lost and once[one.place]]
        if not rows:
            return cls(worth, slower)
        known = state.to_beat
        places = np.array([runs[row].place for row in rows], dtype=np.intp)
        off, sd = (each[rows] for each in belief.process.left_out())
        _, bars = to_surpass(belief.mean[known], pool.against[known], pool.against)
        expected = np.array([runs[row].log_rate for row in rows]) - off
        noise = belief.process.scales.noise[0]
        chance = chance_disturbed(off, np.hypot(sd, noise))
        far = off < -max(FAR, TIMES * noise)
        worth[places] = far * chance * expected_improvement(expected - bars[places], sd)
        slower[places] = far * -np.expm1(np.minimum(off, 0.0))
        return cls(worth, slower)


@dataclass(frozen=True)
class Weighing:
    """A belief that chooses the next run.

    Attributes:
        rungs: those that may be asked, the cheapest first; the last one is a full run.
    """

    state: EngineState
    belief: Belief
    rungs: Sequence[Rung]

    def nothing_to_gain(self) -> bool:
        """Whether no further run is expected to bring anything, so that the search may end."""
        if len(self.rungs) == 1 and not self.state.pool.exact:
            return False
        return float((self._hoped(DOUBT) * self._may_win).max()) < WORTHLESS

    def question(self) -> Question | None:
        """The run to ask next, or None if none is left that may run at all.

        After enough cheap runs it is a full run of the most promising configuration, else the run that is worth most
        per second.
        """
        hopeful = int(np.argmax(self._hoped() * self._may_win))
        full_s = float(self.belief.full_s[hopeful])
        if len(self.rungs) > 1 and self._must_verify(full_s):
            return Question(dict(self.state.pool.points[hopeful]), FULL)
        return self._worthiest(full_s)

    def _worthiest(self, full_s: float) -> Question | None:
        """The run that is worth most per second.

        All full runs count as equally long: else runs at a small N, which are cheap and hopeless, would be worth most.

        Args:
            full_s: seconds that HPL is expected to take for a full run of the most promising configuration.
        """
        sound, found = self.state.left(FULL), list[tuple[float, int, Rung]]()
        sound[self.state.run_in_full] = True
        for rung in self.rungs:
            left = self.state.left(rung) & sound
            if rung == FULL:
                left |= self._doubts.worth > 0
                if len(self.rungs) > 1:
                    left |= self.state.repeatable()
            places = np.flatnonzero(left & (self._chance > 0))
            if not len(places):
                continue
            seconds = self.state.rest_s(rung) + rung.operations * full_s
            worth = self._gain(rung)[places] * self._chance[places] / seconds
            best = int(np.argmax(worth))
            found.append((float(worth[best]), int(places[best]), rung))
        if not found:
            return None
        _, place, rung = max(found, key=lambda entry: entry[0])
        doubted = float(self._doubts.slower[place]) if rung == FULL else 0.0
        return Question(dict(self.state.pool.points[place]), rung, doubted)

    def _gain(self, rung: Rung) -> Vector:
        """The expected gain from what a run of each configuration tells; a full run may also win by itself."""
        told = self.belief.worth(rung)
        if rung != FULL or not self.state.run_in_full:
            return told
        told = np.where(self.state.left(FULL), np.maximum(told, self._hoped()), told)
        return np.maximum(told, self._doubts.worth)

    def _must_verify(self, full_s: float) -> bool:
        """Whether the cheap runs cost so much, those under way included, that a full run must follow.

        Args:
            full_s: seconds that HPL is expected to take for it.
        """
        if FULL in self.state.pending.under_way:
            return False
        return self.state.cheap_s(full_s) >= VERIFY * (self.state.rest_s(FULL) + full_s)

    def _hoped(self, doubt: float = 1.0) -> Vector:
        """The expected improvement of each configuration over the best that was measured in full, or over the front."""
        mean, known, against = self.belief.mean, self.state.to_beat, self.state.pool.against
        if not known:
            return np.asarray(np.maximum(mean - mean.min(), WORTHLESS))
        _, bars = to_surpass(mean[known], against[known], against)
        return expected_improvement(mean - bars, doubt * self.belief.sd)

    @cached_property
    def _doubts(self) -> Doubts:
        return Doubts.of(self.state, self.belief)

    @cached_property
    def _chance(self) -> Vector:
        """The chance of each configuration that it runs at all."""
        return self.state.chance_to_run(self.state.pool.codes)

    @cached_property
    def _may_win(self) -> Vector:
        return self.state.left(FULL) * self._chance
