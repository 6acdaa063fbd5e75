"""The contract of an engine; `tests/contracts/engine_contract.py` checks it for every one of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hpl.params import Scalar
from search_spaces.dimension import Point
from search_spaces.space import SearchSpace

from .barred import Barred
from .context import NOTHING_KNOWN, EngineContext
from .fidelity import FULL, Ladder, Question
from .outcomes import GIVEN_UP, Outcome, RunHistory
from .points import own_point

MOST_KEYS = 30_000
"""Points whose key is remembered."""


class Engine(ABC):
    """Says what to try next, and learns what came of it.

    It never asks an illegal or barred point, nor one whose key (`SearchSpace.key`) it asked before or was told of,
    unless that was released: repeats are the loop's business. It may be asked several times before it is told.
    Everything it knows it was told, so an engine that is told the records of a stored study goes on from there.

    Args:
        space: the legal points.
        seed: makes its choices repeatable.
        context: what is known of the study; an engine takes what it needs.
    """

    wants_every_rate = False
    """Whether it is there to know the rate of all that it asks, so that no run is given up because it cannot win."""

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        self.space = space
        self.seed = seed
        self.context = context
        self.history = RunHistory()
        self.blocked = Barred()
        self._remarks: list[str] = []
        self._pending: set[str] = set()
        self._released: dict[str, dict[str, Scalar]] = {}
        self._keys: dict[tuple[tuple[str, Scalar], ...], str] = {}

    def ask(self) -> dict[str, Scalar] | None:
        """The next point to try; None when there is nothing left that this engine would try."""
        point = self.first_unseen(self._released.values()) or self._propose()
        if point is None:
            return None
        self._pending.add(self.key(point))
        self._released.pop(self.key(point), None)
        return point

    def choose(self, ladder: Ladder) -> Question | None:
        """As `ask`, with how much of a full run to spend on the point; most engines know only full runs.

        Args:
            ladder: what may be spent, the full run included.
        """
        del ladder
        point = self.ask()
        return None if point is None else Question(point)

    def unasked(self) -> int:
        """Configurations that it still means to ask, where it means to ask a certain number of them; else 0."""
        return 0

    def choose_launch(self, ladder: Ladder, room: Callable[[Question], int]) -> list[Question]:
        """As `choose`, with further questions on the same rung that may share its launch; empty when nothing is left.

        All of them together are the product of lists that one HPL.dat can hold. Most engines ask one at a time.

        Args:
            room: how many further ones a question may have beside it.
        """
        del room
        question = self.choose(ladder)
        return [] if question is None else [question]

    def take_remarks(self) -> list[str]:
        """Hand over the sentences that the engine has for the user; each is handed over once."""
        remarks, self._remarks = self._remarks, []
        return remarks

    def expect(self, question: Question) -> None:
        """Hear that somebody else runs this now, so that it need not be asked."""
        point = own_point(self.space, question.params)
        if point is not None and question.rung == FULL:
            self._pending.add(self.key(point))

    def bar(self, part: Point) -> None:
        """Hear that no point that has all these values can run, so that none is asked any more.

        Args:
            part: some parameters with their values.
        """
        self.blocked.add(part)

    def barred(self, point: Point) -> bool:
        """Whether it has all the values of something that cannot run."""
        return self.blocked.covers(point)

    def release(self, question: Question) -> None:
        """Hear that what somebody else ran was left unfinished, so that it may be asked again."""
        point = own_point(self.space, question.params)
        if point is not None and question.rung == FULL:
            self._pending.discard(self.key(point))
            self._released[self.key(point)] = point

    def tell(self, params: Point, outcome: Outcome) -> bool:
        """Learn what came of a point, asked or not; it may be complete.

        Returns:
            Whether it is of this space; else it is passed over.
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

    def rate(self, point: Point) -> float | None:
        """The median of the GFLOPS a point was told, or None where it never counted or was not told yet."""
        return self.history.median(self.key(point))

    def choice(self) -> dict[str, Scalar] | None:
        """The point this engine would call the best now, among those that were run in full; None before the first."""
        return self.history.fastest()

    def seen(self, point: Point) -> bool:
        """Whether the point, or one that HPL cannot tell from it, was asked or told, or cannot be asked any more."""
        key = self.key(point)
        return key in self._pending or key in self.told or self.barred(point)

    def key(self, point: Point) -> str:
        """`SearchSpace.key`, remembered."""
        items = tuple(point.items())
        if items not in self._keys:
            if len(self._keys) >= MOST_KEYS:
                self._keys.clear()
            self._keys[items] = self.space.key(point)
        return self._keys[items]

    def first_unseen(self, points: Iterable[Point]) -> dict[str, Scalar] | None:
        """The first point of a sequence that was not seen."""
        return next((dict(point) for point in points if not self.seen(point)), None)

    @property
    def told(self) -> Mapping[str, Sequence[Outcome]]:
        """All outcomes of full runs that it was told, by the key of the configuration."""
        return self.history.outcomes

    @abstractmethod
    def _propose(self) -> dict[str, Scalar] | None:
        """A legal point that was not seen, or None."""

    def _learn(self, point: Point, outcome: Outcome) -> None:  # noqa: B027 - most engines look at `told` when asked
        """Take in one outcome of a legal point."""

    def _learn_part(self, point: dict[str, Scalar], outcome: Outcome) -> None:
        """Take in the outcome of a cheaper run; a full one that was given up lost against all others."""
        if outcome.state == GIVEN_UP:
            self._take_in(point, replace(outcome, gflops=None, rung=FULL))
