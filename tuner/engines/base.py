"""The contract of an engine; `tests/contracts/engine_contract.py` checks it for every one of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from .outcomes import FULL, GIVEN_UP, Ladder, Outcome, Question, RunHistory
from .points import own_point, unlike
from .probes import Probes


class BarredParts:
    """Parts of points, some parameters with their values, that no point which is asked may contain."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Scalar]] = []

    def __iter__(self) -> Iterator[Point]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, part: Point) -> None:
        """Note one more part."""
        if part not in self._parts:
            self._parts.append(dict(part))

    def covers(self, point: Point) -> bool:
        """Whether a point has all the values of a part."""
        return any(all(point.get(name) == value for name, value in part.items()) for part in self._parts)


Worth = Callable[[Point], float]


def in_gflops(_point: Point) -> float:
    """What a GFLOPS of any configuration is worth where GFLOPS are the objective."""
    return 1.0


@dataclass(frozen=True)
class EngineContext:
    """What the user asked for and what is known before the first run; each engine takes what it needs.

    Attributes:
        points: how many configurations a coarse grid has, None for a whole one.
        probes: what short measurements and a look at the machine tell.
        worth: what a GFLOPS of a configuration is worth in the objective, for an engine that predicts rates by itself.
            What `tell` hears has it in it already.
        against: the same in the second objective, where the study searches a front of both.
        against_changes: what it says of a point changes as runs end.
    """

    points: int | None = None
    probes: Probes = field(default_factory=Probes)
    worth: Worth = in_gflops
    against: Worth = in_gflops
    against_changes: bool = False


NOTHING_KNOWN = EngineContext()


@dataclass(frozen=True)
class EngineRemark:
    """A sentence for the user.

    Attributes:
        caution: readers of the study's rates must know it too.
    """

    text: str
    caution: bool = False


CLOSE = 0.95
"""Part of the highest rate that others are expected to reach which may be the fastest at a larger N."""
MOST_KEYS = 30_000
"""Points whose key is remembered."""


class Engine(ABC):
    """An engine chooses what to try next, and learns from what came of it.

    It never asks an illegal or barred point, nor one whose key (`SearchSpace.key`) it asked before or was told of,
    unless that was released: the loop decides on repeats. There is one exception, which `Question.doubted` tells:
    an engine may doubt a full run, and ask its point once more while it was told of no other run of it; so it doubts a
    point once at most. It may be asked several times before it is told.
    Everything it knows it was told, so an engine that is told the records of a stored study goes on from there.

    Args:
        space: the legal points.
        seed: makes its choices repeatable.
        context: what is known of the study; an engine takes what it needs.
    """

    wants_every_rate = False
    """Whether it is there to know the rate of all that it asks, so that no run is given up because it cannot win."""
    nothing_left = "the engine expects no faster combination"
    """Why a search ends in which the engine asks nothing more."""

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        self.space = space
        self.seed = seed
        self.context = context
        self.history = RunHistory()
        self.blocked = BarredParts()
        self._remarks: list[EngineRemark] = []
        self._pending: set[str] = set()
        self._released: dict[str, dict[str, Scalar]] = {}
        self._keys: dict[tuple[tuple[str, Scalar], ...], str] = {}

    def ask(self) -> dict[str, Scalar] | None:
        """Choose the next point to try, or None when this engine would try nothing more."""
        point = self.first_unseen(self._released.values()) or self._propose()
        if point is None:
            return None
        self._pending.add(self.key(point))
        self._released.pop(self.key(point), None)
        return point

    def choose(self, ladder: Ladder) -> Question | None:
        """Choose the next point and how much of a full run to spend on it; most engines choose full runs only.

        Args:
            ladder: what may be spent, the full run included.
        """
        del ladder
        point = self.ask()
        return None if point is None else Question(point)

    def unasked(self) -> int:
        """Count the configurations that are left, where the engine plans a fixed number of them; else return 0."""
        return 0

    def choose_launch(self, ladder: Ladder, room: Callable[[Question], int]) -> list[Question]:
        """Choose the runs of the next launch, all on one rung; the list is empty when nothing is left.

        One HPL.dat can hold all of them: they are the product of its lists. Most engines choose one run at a time.

        Args:
            room: how many runs may join the first one.
        """
        del room
        question = self.choose(ladder)
        return [] if question is None else [question]

    def take_remarks(self) -> list[EngineRemark]:
        """Return the sentences for the user that are new since the last call."""
        remarks, self._remarks = self._remarks, []
        return remarks

    def expect(self, question: Question) -> None:
        """Note that another process runs this now, so that the engine does not ask it."""
        point = own_point(self.space, question.params)
        if point is not None and question.rung == FULL:
            self._pending.add(self.key(point))

    def bar(self, part: Point) -> None:
        """Note that no point with all these values can run, so that the engine asks none of them.

        Args:
            part: some parameters with their values.
        """
        self.blocked.add(part)

    def barred(self, point: Point) -> bool:
        """Whether a point contains values that cannot run together."""
        return self.blocked.covers(point)

    def release(self, question: Question) -> None:
        """Note that another process did not finish this, so that it may be asked again."""
        point = own_point(self.space, question.params)
        if point is not None and question.rung == FULL:
            self._pending.discard(self.key(point))
            self._released[self.key(point)] = point

    def tell(self, params: Point, outcome: Outcome) -> bool:
        """Learn the outcome of a point, whether the engine asked it or not.

        Returns:
            Whether the point is of this space; any other one is ignored.
        """
        point = own_point(self.space, params)
        if point is None:
            return False
        if outcome.rung != FULL:
            self._learn_part(point, outcome)
        else:
            self._take_in(point, outcome)
        return True

    def _take_in(self, point: dict[str, Scalar], outcome: Outcome) -> None:
        key = self.key(point)
        self._pending.discard(key)
        self.history.add(key, point, outcome)
        self._learn(point, outcome)

    def choice(self) -> dict[str, Scalar] | None:
        """The best point now among those that were run in full; None before the first full run."""
        return self.history.fastest()

    def hopeful(self, larger: float, names: Collection[str], most: int) -> list[dict[str, Scalar]]:
        """Points that may be the fastest at an N so many times as large, the most hopeful first.

        Most engines know of none but those that were run in full.

        Args:
            names: parameters in which no two of them are alike.
        """
        del larger
        rates = {key: self.history.median(key) or 0.0 for key in self.history.rates}
        least = CLOSE * max(rates.values(), default=0.0)
        points = [self.history.points[key] for key in sorted(rates, key=lambda key: -rates[key]) if rates[key] >= least]
        return unlike((point for point in points if not self.barred(point)), names, most)

    def seen(self, point: Point) -> bool:
        """Whether the point, or one that is the same to HPL, was asked, told or barred."""
        key = self.key(point)
        return key in self._pending or key in self.told or self.barred(point)

    def key(self, point: Point) -> str:
        """The key of a point (`SearchSpace.key`) from a cache."""
        items = tuple(point.items())
        if items not in self._keys:
            if len(self._keys) >= MOST_KEYS:
                self._keys.clear()
            self._keys[items] = self.space.key(point)
        return self._keys[items]

    def first_unseen(self, points: Iterable[Point]) -> dict[str, Scalar] | None:
        """The first point of a sequence that the engine has not seen, or None."""
        return next((dict(point) for point in points if not self.seen(point)), None)

    @property
    def told(self) -> Mapping[str, Sequence[Outcome]]:
        """The outcomes of all full runs, by the key of their configuration."""
        return self.history.outcomes

    @abstractmethod
    def _propose(self) -> dict[str, Scalar] | None:
        """A legal point that was not seen, or None."""

    def _learn(self, point: Point, outcome: Outcome) -> None:  # noqa: B027 - most engines look at `told` when asked
        """Learn one outcome of a full run of a legal point."""

    def _learn_part(self, point: dict[str, Scalar], outcome: Outcome) -> None:
        """Learn the outcome of a cheaper run; a full run that was given up counts as a failed one."""
        if outcome.state == GIVEN_UP:
            self._take_in(point, replace(outcome, gflops=None, rung=FULL))
