"""The order of BLAS libraries, or of other rivals, as rounds tell it in which the best of each runs once."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Self

import numpy as np

from hpl.params import Scalar
from results.record import Kind, Study, TrialRecord
from results.stats.noise import noise_of
from results.stats.paired import Lead, leads, order_of
from results.stats.ranking import Ranked

from .shootout import RIVAL, blas_of

DOUBT = 4.0
"""A library is hopelessly slow only if so many standard deviations of a run are no reason for it."""
CONTRADICTED = 2.0
"""A library whose best HPL stands so many times worse against the first than its dgemm does was not searched well."""
LEAST_ROUNDS = 3
"""Before so many nothing is said: fewer may agree by luck."""
CLAIMED = 0.95
"""Probability with which an order that is told is right."""
SURE = 0.99
"""Probability that each look at the rounds must give. It is above CLAIMED because there are many looks, and one of them
may see luck: see benchmarks/shootouts.py."""
LOOKS = 2
"""Looks, each after one more round, at which the order must be the same and as sure as that."""


@dataclass(frozen=True)
class LibraryPlace:
    """A library in the order.

    Attributes:
        params: its best configuration, the same in all rounds.
        trial: number of the run that stands for it, the one nearest to the median.
        rates: GFLOPS in the rounds, in their order.
        behind: by how much the first is faster than it; None of the first itself, and of one without rounds.
        surely_behind: it is slower than the one before it with CLAIMED, so that its place is its own.
    """

    blas: str
    params: Mapping[str, Scalar]
    trial: int
    rates: tuple[float, ...]
    behind: Lead | None = None
    surely_behind: bool = False

    @property
    def gflops(self) -> float:
        """Median rate of the rounds."""
        return median(self.rates)

    def to_json(self) -> dict[str, object]:
        """All of it by name."""
        return {
            "blas": self.blas,
            "gflops": self.gflops,
            "rates_gflops": list(self.rates),
            "trial": self.trial,
            "params": dict(self.params),
            "first_is_faster": self.behind and asdict(self.behind),
            "surely_behind_the_one_before": self.surely_behind,
        }


@dataclass(frozen=True)
class Order:
    """The order of rivals, as rounds tell it.

    Attributes:
        rivals: the libraries.
        whole: for each round in which all of them gave a result their runs, by library.
        quiet: of these the rounds of whose runs it is known that nothing disturbed them: only these are compared.
        shown: noise of the machine from other runs, as in `results.stats.noise.noise_of`.
    """

    rivals: tuple[str, ...] = ()
    whole: tuple[Mapping[str, TrialRecord], ...] = ()
    quiet: tuple[Mapping[str, TrialRecord], ...] = ()
    shown: float = 0.0

    @classmethod
    def of(
        cls,
        records: Iterable[TrialRecord],
        rivals: Iterable[str] | None = None,
        shown: float = 0.0,
        rival_of: Callable[[Mapping[str, Scalar]], str] = blas_of,
    ) -> Self:
        """Find the rounds among the trials of a study; one ends where a library comes again or a session begins.

        A run that was disturbed and that the same library follows at once is replaced by that.

        Args:
            rivals: None for those of the last two rounds: the last one may have been stopped.
            rival_of: names what ran, from a configuration.
        """
        begun, session = list[dict[str, TrialRecord]](), -1
        for record in records:
            if record.kind is not Kind.CONFIRMATION:
                continue
            name = rival_of(record.params)
            again = bool(begun) and name == next(reversed(begun[-1]), None) and begun[-1][name].disturbed is not None
            if not begun or (name in begun[-1] and not again) or record.session != session:
                begun.append({})
            begun[-1][name] = record
            session = record.session
        found = tuple(dict.fromkeys(name for one in begun[-2:] for name in one)) if rivals is None else tuple(rivals)
        whole = tuple(one for one in begun if all(name in one and one[name].ranked for name in found))
        return cls(found, whole, tuple(one for one in whole if all(one[name].undisturbed for name in found)), shown)

    @property
    def counted(self) -> int:
        """Rounds whose rates are those of the places: all, where too few are quiet."""
        return len(self.places[0].rates) if self.places else 0

    @property
    def known(self) -> bool:
        """Whether each place is sure."""
        return bool(self.places) and all(place.surely_behind for place in self.places[1:])

    @property
    def tied(self) -> tuple[LibraryPlace, ...]:
        """The first, and those behind it of which none is surely slower than the one before."""
        ends = (number for number, place in enumerate(self.places) if number and place.surely_behind)
        return self.places[: next(ends, len(self.places))]

    @cached_property
    def places(self) -> tuple[LibraryPlace, ...]:
        """The libraries, fastest first; none where there was no round, or nobody to compare with."""
        if not self.whole or len(self.rivals) < 2:
            return ()
        rounds = len(self.quiet)
        if rounds < LEAST_ROUNDS:
            return tuple(sorted(map(self._place, self.rivals), key=lambda place: -place.gflops))
        names = [self.rivals[number] for number in order_of(self._rates(rounds))]
        neighbours = list(pairwise(names))
        behind = self._leads([(names[0], name) for name in names[1:]], rounds)
        least = 1.0 - (1.0 - SURE) / max(1, len(neighbours))
        looks = range(rounds, rounds - LOOKS, -1)
        seen = [[lead.chance >= least for lead in self._leads(neighbours, rounds)] for rounds in looks]
        sure = [all(each) for each in zip(*seen, strict=True)]
        told = zip(names, (None, *behind), (False, *sure), strict=True)
        return tuple(replace(self._place(name), behind=lead, surely_behind=own) for name, lead, own in told)

    def leads_of(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Lead]:
        """By how much the first of each pair is faster than the second; only of pairs of which rounds tell it."""
        told = len(self.quiet) >= LEAST_ROUNDS
        ran = [pair for pair in pairs if set(pair) <= set(self.rivals)] if told else []
        return dict(zip(ran, self._leads(ran, len(self.quiet)), strict=True))

    def _place(self, name: str) -> LibraryPlace:
        own = [one[name] for one in (self.quiet if len(self.quiet) >= LEAST_ROUNDS else self.whole)]
        middle = median(record.gflops or 0.0 for record in own)
        nearest = min(own, key=lambda record: abs((record.gflops or 0.0) - middle))
        return LibraryPlace(name, nearest.params, nearest.number, tuple(record.gflops or 0.0 for record in own))

    def _leads(self, pairs: Sequence[tuple[str, str]], rounds: int) -> list[Lead]:
        """By how much the first of each pair is faster than the second, by the first rounds."""
        numbers = [(self.rivals.index(one), self.rivals.index(other)) for one, other in pairs]
        return leads(self._rates(rounds), numbers, self.shown) if pairs else []

    def _rates(self, rounds: int) -> list[list[float]]:
        return [[one[name].gflops or 0.0 for one in self.quiet[:rounds]] for name in self.rivals]


def champions(records: Iterable[TrialRecord], ranking: Sequence[Ranked]) -> dict[str, Ranked]:
    """The configuration of each library that runs in rounds, fastest first: that of the first round, or its best.

    Args:
        records: the trials of a study.
        ranking: of all its configurations, best first.
    """
    in_rounds: dict[str, str] = {}
    for record in records:
        if record.kind is Kind.CONFIRMATION:
            in_rounds.setdefault(blas_of(record.params), record.key)
    found: dict[str, Ranked] = {}
    for entry in ranking:
        name = blas_of(entry.params)
        if in_rounds.get(name, entry.key) == entry.key:
            found.setdefault(name, entry)
    return found


def near(best: Mapping[str, Ranked], shown: float = 0.0, dgemm: Mapping[str, float] | None = None) -> list[str]:
    """The libraries that are worth rounds: those whose best is not hopelessly slow, however much runs differ here.

    Args:
        best: of each library.
        shown: noise of the machine from other runs, as in `results.stats.noise.noise_of`.
        dgemm: rate of dgemm of each library, as far as it is known: one that contradicts is worth rounds too.
    """
    noise = max(shown, noise_of([np.log(one.repeats) for one in best.values() if one.repeats], shown).usual)
    least = min(RIVAL, math.exp(-DOUBT * noise)) * max((one.expected_gflops for one in best.values()), default=0.0)
    doubted = contradicted(best, dgemm or {})
    return [name for name, one in best.items() if one.expected_gflops >= least or name in doubted]


def contradicted(best: Mapping[str, Ranked], dgemm: Mapping[str, float]) -> list[str]:
    """The libraries whose dgemm promises more than CONTRADICTED times what their best run gave, against the first."""
    first = max(best, key=lambda name: best[name].expected_gflops, default="")
    if not dgemm.get(first):
        return []
    parts = {name: one.expected_gflops / best[first].expected_gflops for name, one in best.items()}
    return [name for name, part in parts.items() if dgemm.get(name, 0.0) / dgemm[first] > CONTRADICTED * part]


def shown_noise(study: Study, records: Iterable[TrialRecord]) -> float:
    """By how much runs differ here, as the repeated runs of the searches and what was before them tell."""
    runs = defaultdict[str, list[float]](list)
    for record in records:
        if record.kind is Kind.SEARCH and record.ranked and record.gflops and record.undisturbed:
            runs[record.key].append(record.gflops)
    repeated = [np.log(rates) for rates in runs.values() if len(rates) > 1]
    at_first = study.notes.noise_at_first
    return noise_of(repeated, at_first).usual if repeated else at_first
