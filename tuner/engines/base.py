"""The contract of an engine; `tests/contracts/engine_contract.py` checks it for every one of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from search_spaces.dimension import Point, Scalar
from search_spaces.space import SearchSpace

from ..errors import TunerError


@dataclass(frozen=True)
class Outcome:
    """What came of a configuration.

    Attributes:
        gflops: the rate, or None where the trial did not count: a failure is never a number.
        time_s: HPL's time, or None.
        state: "complete" or how else the trial ended.
    """

    gflops: float | None
    time_s: float | None = None
    state: str = "complete"


class Engine(ABC):
    """Says what to try next, and learns what came of it.

    It never asks an illegal point, nor one whose key (`SearchSpace.key`) it asked before or was told of: repeats are the
    loop's business. It may be asked several times before it is told. Everything it knows it was told, so an
    engine that is told the records of a stored study goes on from there.

    Args:
        space: the legal points.
        seed: makes its choices repeatable.
        options: what the user set for it; an engine looks only at what concerns it.
    """

    def __init__(self, space: SearchSpace, seed: int, options: Mapping[str, Any]) -> None:
        self.space = space
        self.seed = seed
        self.options = options
        self.told: dict[str, list[Outcome]] = {}
        self._asked: set[str] = set()
        self._keys: dict[tuple[tuple[str, Scalar], ...], str] = {}

    def ask(self) -> dict[str, Scalar] | None:
        """The next point to try; None when there is nothing left that this engine would try."""
        point = self._propose()
        if point is None:
            return None
        self._asked.add(self.key(point))
        return point

    def tell(self, params: Point, outcome: Outcome) -> None:
        """Learn what came of a point, asked or not. Points of other spaces are passed over."""
        point = {name: params[name] for name in self.space.parameters if name in params}
        if self.space.why_not(point) is not None:
            return
        self.told.setdefault(self.key(point), []).append(outcome)
        self._learn(point, outcome)

    def seen(self, point: Point) -> bool:
        """Whether the point, or one that HPL cannot tell from it, was asked or told."""
        key = self.key(point)
        return key in self._asked or key in self.told

    def key(self, point: Point) -> str:
        """`SearchSpace.key`, remembered."""
        items = tuple(point.items())
        if items not in self._keys:
            self._keys[items] = self.space.key(point)
        return self._keys[items]

    def first_unseen(self, points: Iterable[Point]) -> dict[str, Scalar] | None:
        """The first point of a sequence that was not seen."""
        return next((dict(point) for point in points if not self.seen(point)), None)

    @abstractmethod
    def _propose(self) -> dict[str, Scalar] | None:
        """A legal point that was not seen, or None."""

    def _learn(self, point: Point, outcome: Outcome) -> None:  # noqa: B027 - most engines look at `told` when asked
        """Take in one outcome of a legal point."""


def points_option(options: Mapping[str, Any]) -> int | None:
    """The option `points`: how many a coarse grid has.

    Raises:
        TunerError: it is not a number above zero.
    """
    points = options.get("points")
    if points is not None and (not isinstance(points, int) or points < 1):
        raise TunerError(f"--points {points}: expected a whole number above zero")
    return points
