"""Compares the first full runs with what the probes promise, and looks for an N from which on runs are slow.

HPL's model predicts a rate from the probes alone. On 37 of 38 recorded machines the better of the first two full runs
took 0.8 to 1.4 times as long as that (docs/search-quality.md). So where both are farther off, something is wrong that
the probes do not show: a network that HPL does not get, cores that share their clock, an N that does not fit.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from search_spaces.space import SIZES

from ..hpl_time import log_rate
from ..model.pool import Pool
from ..outcomes import FULL, Outcome, Question
from ..probes import UNKNOWN, Probes

OFF = math.log(1.5)
"""How far off, in the logarithm of the rate, both of the first two configurations must be."""
BETTER = math.log(1.3)
"""How much nearer to the prediction a run at a smaller N must be, so that there is a cliff between."""
SMALLER = 0.965
"""Next N that is tried, at most this part of the last: 7 % less memory."""
MOST_TRIED = 2
"""Different N that may have been run at most, so that one run more looks for a cliff."""
SLOWEST = 30.0
"""How many times slower than timed messages may be in a sentence that blames them."""
SEEN = "1 of 38 recorded machines was so far off"
"""How likely that is of a machine whose probes are right, as half a sentence."""


@dataclass(frozen=True)
class Miss:
    """How far a quiet full run is from the prediction.

    Attributes:
        slower: predicted over measured rate, in logarithms.
    """

    place: int
    N: int
    log_rate: float
    slower: float


class Promise:
    """What HPL's model promises of full runs, and how they keep it.

    Args:
        pool: has the model, which is told of a cliff.
    """

    def __init__(self, pool: Pool, probes: Probes) -> None:
        self._pool, self._probes = pool, probes
        self._misses: list[Miss] = []
        self._told = self._asked_all = False

    def learn(self, place: int, outcome: Outcome) -> str | None:
        """Learn a full run, and say what the user must know now, without a full stop; nothing twice.

        Disturbed runs are left out, and so are libraries whose dgemm was not timed: of them nothing is promised. Where
        N may be why runs are slow, nothing is said before a smaller one ran.
        """
        if not outcome.gflops or outcome.lost or not self._pool.timed(place):
            return None
        measured = math.log(outcome.gflops)
        slower = float(self._pool.modelled_at([place], FULL).mean[0]) - measured
        self._misses.append(Miss(place, int(self._pool.shapes.N[place, 0]), measured, slower))
        factor, cliff = self.factor, self._cliff()
        if factor is None or self._told or (cliff is None and self._looks_for_cliff and self._smaller().any()):
            return None
        self._told = True
        if cliff is None:
            return self._sentence(factor)
        self._pool.add_cliff(cliff.N)
        return self._cliff_sentence(cliff)

    @property
    def factor(self) -> float | None:
        """How many times slower the first two configurations were at least; below 1 for faster; None as expected."""
        first = dict[int, float]()
        for miss in self._misses:
            first.setdefault(miss.place, miss.slower)
        if len(first) < 2:
            return None
        one, other, *_ = first.values()
        least, most = min(one, other), max(one, other)
        if least > OFF:
            return math.exp(least)
        return math.exp(most) if most < -OFF else None

    def question(self, left: NDArray[np.bool_]) -> Question | None:
        """A full run at the next smaller N, where all runs so far are slow and N may be why; else None.

        Args:
            left: configurations that may be asked.
        """
        left = left & self._smaller()
        if not self._looks_for_cliff or not left.any():
            self._asked_all = self.factor is not None
            return None
        fastest = max(self._misses, key=lambda miss: miss.log_rate)
        others = [number for number, name in enumerate(self._pool.names) if name not in SIZES]
        codes = self._pool.codes[:, others]
        unlike = (codes != codes[fastest.place]).sum(axis=1)
        places = np.flatnonzero(left & (unlike == unlike[left].min()))
        return Question(dict(self._pool.points[places[np.argmax(self._pool.shapes.N[places, 0])]]), FULL)

    @property
    def _looks_for_cliff(self) -> bool:
        """Whether a run at a smaller N may show a cliff: all are slow, and few N were run."""
        slow = (self.factor or 0.0) > 1 and all(miss.slower > OFF for miss in self._misses)
        return slow and not self._asked_all and len({miss.N for miss in self._misses}) <= MOST_TRIED

    def _smaller(self) -> NDArray[np.bool_]:
        """The configurations whose N is smaller than all that ran, by enough."""
        least = min((miss.N for miss in self._misses), default=0)
        return np.asarray(self._pool.shapes.N[:, 0] <= SMALLER * least)

    def _cliff(self) -> Miss | None:
        """The slow run at the smallest N above which there is a cliff."""
        slow = min((miss for miss in self._misses if miss.slower > OFF), key=lambda miss: miss.N, default=None)
        if slow is None or (self.factor or 0.0) <= 1:
            return None
        below = [miss for miss in self._misses if miss.N < slow.N and miss.slower < slow.slower - BETTER]
        return slow if below else None

    def _sentence(self, factor: float) -> str:
        if factor < 1:
            return (
                f"this machine is {1 / factor:.1f} times faster than its probes promise ({SEEN}): something slowed "
                "them, so let `hpltune doctor` time dgemm and messages again on a quiet machine"
            )
        return f"this machine is {factor:.1f} times slower than its probes promise ({SEEN}): {self._remedy()}"

    def _remedy(self) -> str:
        cores = "whether each rank has cores of its own, what else runs, and the clock while all cores work"
        if self._probes.nodes == 1:
            return f"check {cores}"
        of_messages = "the ping-pong told" if self._probes.messages else "is assumed, because they were not timed,"
        slower = self._messages_slower()
        if slower is None:
            return f"messages between nodes cannot explain it alone, so check {cores}"
        return (
            f"messages between nodes that take {slower:.1f} times as long as {of_messages} would explain it, so check "
            f"the network that MPI uses, then {cores}"
        )

    def _messages_slower(self) -> float | None:
        """How many times slower messages between nodes explain the faster of the first runs; None where they do not."""
        run = max(self._misses, key=lambda miss: miss.log_rate)
        shape, names = self._pool.shapes.of([run.place]), list(UNKNOWN)
        factors = np.geomspace(1.0, SLOWEST, 60)
        figures = np.tile(self._pool.model.usual.usual, (len(factors), 1))
        for name, sign in (("latency", 1), ("packet", 1), ("bandwidth", -1)):
            figures[:, names.index(name)] += sign * np.log(factors)
        rates = log_rate(shape, figures)[:, 0] + math.log(shape.worth[0, 0])
        enough = np.flatnonzero(rates <= run.log_rate)
        return float(factors[enough[0]]) if len(enough) else None

    def _cliff_sentence(self, slow: Miss) -> str:
        below = max((miss for miss in self._misses if miss.N < slow.N), key=lambda miss: miss.log_rate)
        times = math.exp(slow.slower - below.slower)
        return (
            f"runs at N={slow.N:,} are {times:.1f} times slower than the one at N={below.N:,} lets expect: "
            "something ends between them, such as the memory of a node or of an accelerator, so the search turns to "
            f"N below {slow.N:,}"
        )
