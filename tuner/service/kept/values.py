"""Values that take time to compute, each computed once for many who ask."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _Entry(Generic[T]):
    stamp: object
    turn: int
    value: T
    size: int


@dataclass(frozen=True)
class _Computation(Generic[T]):
    stamp: object
    turn: int
    result: "Future[T]" = field(default_factory=Future)


class Kept(Generic[T]):
    """Values by their keys, from any thread; those that were asked for longest ago go first.

    A stamp says what a value is computed from: another stamp, another value. So nobody is told less than what was there
    when they asked. While a value is computed, those who ask with another stamp wait for it, and one of them computes
    the next one for all of them: each value is computed by one thread at a time, however often its stamp changes.

    Args:
        most: of the sizes of all values together.
        size: of a value; without it each counts as one.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._most, self._size = most, size
        self._lock = Lock()
        self._turns = count()
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._computing: dict[Hashable, _Computation[T]] = {}
        self._whole = 0

    def peek(self, key: Hashable, stamp: object) -> T | None:
        """Give a value where nothing has to be computed for it, else None."""
        with self._lock:
            entry = self._entries.get(key)
            return self._touched(key, entry) if entry is not None and entry.stamp == stamp else None

    def get(self, key: Hashable, stamp: object, make: Callable[[], T]) -> T:
        """Give a value; `make` computes it in one of the threads that ask, and the others wait for that one.

        Raises:
            Exception: what `make` raises, for all that wait.
        """
        with self._lock:
            asked = next(self._turns)
        while True:
            with self._lock:
                entry = self._entries.get(key)
                if entry is not None and (entry.stamp == stamp or entry.turn > asked):
                    return self._touched(key, entry)
                under_way = self._computing.get(key)
                if under_way is None:
                    ours = self._computing[key] = _Computation[T](stamp, next(self._turns))
                    break
            if under_way.stamp == stamp or under_way.turn > asked:
                return under_way.result.result()
            wait([under_way.result])
        return self._computed(key, ours, make)

    def _computed(self, key: Hashable, ours: _Computation[T], make: Callable[[], T]) -> T:
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._computing[key]
            ours.result.set_exception(error)
            raise
        with self._lock:
            del self._computing[key]
            self._keep(key, _Entry(ours.stamp, ours.turn, value, self._size(value)))
        ours.result.set_result(value)
        return value

    def _touched(self, key: Hashable, entry: _Entry[T]) -> T:
        self._entries.move_to_end(key)
        return entry.value

    def _keep(self, key: Hashable, entry: _Entry[T]) -> None:
        before = self._entries.pop(key, None)
        self._entries[key] = entry
        self._whole += entry.size - (before.size if before else 0)
        while self._whole > self._most and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self._whole -= oldest.size
