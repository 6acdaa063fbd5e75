"""Values that take time to compute, each computed once for many who ask."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")
COSTLY_S = 0.05
"""Seconds that a value takes to compute before it may be told late."""
LATE = 10
"""A costly value is computed again at most once in this many times of what it takes: a tenth of a core, however often
what it tells of changes."""


@dataclass(frozen=True)
class _Entry(Generic[T]):
    stamp: object
    value: T
    made_at_s: float
    cost_s: float
    size: int


class Kept(Generic[T]):
    """Values by their keys, from any thread; those that were asked for longest ago go first.

    A stamp says what a value was computed from: another stamp, another value. A value that takes longer than `COSTLY_S`
    may be told for `LATE` times as long as it took, and while somebody computes the next one.

    Args:
        most: of the sizes of all values together.
        size: of a value; without it each counts as one.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._most, self._size = most, size
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._computing: dict[Hashable, tuple[object, Future[T]]] = {}
        self._whole = 0

    def peek(self, key: Hashable, stamp: object) -> T | None:
        """Give a value where nothing has to be computed for it, else None."""
        with self._lock:
            return self._known(key, stamp)

    def get(self, key: Hashable, stamp: object, make: Callable[[], T]) -> T:
        """Give a value; `make` computes it in one of the threads that ask, and the others wait for that one.

        Raises:
            Exception: what `make` raises, for all that wait.
        """
        with self._lock:
            known = self._known(key, stamp)
            if known is not None:
                return known
            made_from, computing = self._computing.get(key, (None, None))
            if computing is None or made_from != stamp:
                ours: Future[T] = Future()
                self._computing[key] = (stamp, ours)
            else:
                ours = computing
        if ours is computing:
            return ours.result()
        return self._made(key, stamp, make, ours)

    def _made(self, key: Hashable, stamp: object, make: Callable[[], T], ours: "Future[T]") -> T:
        began_s = monotonic()
        try:
            value = make()
        except BaseException as error:
            self._ended(key, ours)
            ours.set_exception(error)
            raise
        now_s = monotonic()
        with self._lock:
            self._keep(key, _Entry(stamp, value, now_s, now_s - began_s, self._size(value)))
        self._ended(key, ours)
        ours.set_result(value)
        return value

    def _known(self, key: Hashable, stamp: object) -> T | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        late = entry.cost_s >= COSTLY_S and (
            key in self._computing or monotonic() < entry.made_at_s + LATE * entry.cost_s
        )
        if entry.stamp != stamp and not late:
            return None
        self._entries.move_to_end(key)
        return entry.value

    def _keep(self, key: Hashable, entry: _Entry[T]) -> None:
        before = self._entries.pop(key, None)
        self._entries[key] = entry
        self._whole += entry.size - (before.size if before else 0)
        while self._whole > self._most and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self._whole -= oldest.size

    def _ended(self, key: Hashable, ours: "Future[T]") -> None:
        with self._lock:
            if self._computing.get(key, (None, None))[1] is ours:
                del self._computing[key]
