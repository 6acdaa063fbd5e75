"""What came of the runs that an engine was told."""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point


class Fidelity(StrEnum):
    """SMALL: a whole run at a smaller N. PREFIX: the first columns at the true N. FULL: the run that counts.

    EARLIER: a run of another study or machine, which is only told, never asked.
    """

    EARLIER = "earlier"
    SMALL = "small"
    PREFIX = "prefix"
    FULL = "full"


@dataclass(frozen=True)
class Rung:
    """One step of the ladder from cheap hints to the run that counts.

    Attributes:
        part: of N for a small run, of the columns for a prefix run, above 0 and at most 1; of an earlier run the
            number of its source. A model may be asked of a whole run at a larger N, too: then it is above 1.
    """

    fidelity: Fidelity
    part: float = 1.0

    @property
    def operations(self) -> float:
        """Part of a full run's operations: they grow as N^3, and after f of the columns 1 - (1 - f)^3 are done."""
        if self.fidelity is Fidelity.EARLIER:
            return 0.0
        if self.fidelity is Fidelity.SMALL:
            return self.part**3
        return 1.0 - (1.0 - self.part) ** 3 if self.fidelity is Fidelity.PREFIX else 1.0

    @property
    def size(self) -> float:
        """The part of N it runs at."""
        return self.part if self.fidelity is Fidelity.SMALL else 1.0


FULL = Rung(Fidelity.FULL)
Ladder = Sequence[Rung]


@dataclass(frozen=True)
class Question:
    """A point to measure, and how much of a full run to spend on it.

    Attributes:
        doubted: by which part the only full run of the point, which the engine was told, is slower than what it expects
            of the next one; 0 where the engine doubts nothing.
    """

    params: dict[str, Scalar]
    rung: Rung = FULL
    doubted: float = 0.0


GIVEN_UP = "given up"
"""State of a full run that was ended because it could not win."""


@dataclass(frozen=True)
class Outcome:
    """What came of a configuration.

    Attributes:
        gflops: the rate, of a prefix run until it was stopped; times its worth, so that the highest is best by the
            study's objective. None where the trial did not count: a failure is never a number.
        time_s: HPL's time, or None.
        state: "complete" or how else the trial ended.
        rung: how much of a full run it was.
        cost_s: seconds of the whole launch, or None.
        session: which session of the study it belongs to.
        lost: how much lower its rate may be than without what disturbed it, in logarithms; 0 for a quiet run.
        sharing: runs in its launch, itself included; `cost_s` is HPL's time and an equal part of what else it took.
    """

    gflops: float | None
    time_s: float | None = None
    state: str = "complete"
    rung: Rung = FULL
    cost_s: float | None = None
    session: int = 0
    sharing: int = 1
    lost: float = 0.0


class RunHistory:
    """The outcomes of full runs, by the key of their configuration.

    The rates of disturbed runs count only where there are no others. Each is the least that was to be had, so that the
    fastest tells most.
    """

    def __init__(self) -> None:
        self._outcomes: dict[str, list[Outcome]] = {}
        self._points: dict[str, dict[str, Scalar]] = {}
        self._rates: dict[str, list[float]] = {}
        self._medians: dict[str, float] = {}
        self._disturbed: set[str] = set()

    @property
    def outcomes(self) -> Mapping[str, Sequence[Outcome]]:
        """All outcomes of each configuration, in the order in which they were told."""
        return self._outcomes

    @property
    def rates(self) -> Mapping[str, Sequence[float]]:
        """The GFLOPS of the runs that counted, in rising order."""
        return self._rates

    @property
    def points(self) -> Mapping[str, Point]:
        """The configurations whose rate or failure was told."""
        return self._points

    def add(self, key: str, point: Point, outcome: Outcome) -> None:
        """Note the outcome of a full run."""
        self._outcomes.setdefault(key, []).append(outcome)
        self._points[key] = dict(point)
        if outcome.gflops is not None and self._counts(key, quiet=outcome.lost == 0.0):
            rates = self._rates.setdefault(key, [])
            insort(rates, outcome.gflops)
            self._medians[key] = rates[-1] if key in self._disturbed else median(rates)

    def _counts(self, key: str, *, quiet: bool) -> bool:
        """Whether a rate of a configuration counts: disturbed ones do not beside quiet ones, which replace them."""
        if not quiet and key not in self._rates:
            self._disturbed.add(key)
        elif quiet and key in self._disturbed:
            self._disturbed.remove(key)
            self._rates.pop(key)
        return quiet or key in self._disturbed

    def median(self, key: str) -> float | None:
        """The median of a configuration's GFLOPS, the fastest of disturbed ones; None where no run of it counted."""
        return self._medians.get(key)

    def fastest(self) -> dict[str, Scalar] | None:
        """The configuration with the highest median, or None where no run counted."""
        best = max(self._medians, key=lambda key: self._medians[key], default=None)
        return None if best is None else dict(self._points[best])
