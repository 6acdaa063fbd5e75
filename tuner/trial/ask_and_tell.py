"""The one loop of searches and lists: ask what is next, start it, wait until something has ended, and tell of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hpl.params import Scalar
from results.record import Kind

from ..engines.outcomes import FULL
from ..stopping import Stopping
from .launch import LaunchLimits
from .launching import Launching, PlannedTrial, planned
from .records import started
from .site import Site

Q = TypeVar("Q")
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


class Launches(Protocol[E_co]):
    """What runs at a time, several or one: `Launching`, and the trials of a search."""

    @property
    def free(self) -> bool:
        """Whether something else may start."""

    @property
    def under_way(self) -> object:
        """How many started and have not ended, or which; nothing where none has."""

    def next(self) -> E_co:
        """Wait until one has ended, and return what came of it."""

    def close(self) -> None:
        """End what runs, and give up what has not begun."""


def ask_and_tell(
    launches: Launches[E],
    stop: Stopping,
    *,
    ask: Callable[[], Q | None] | Iterator[Q],
    start: Callable[[Q], object],
    tell: Callable[[E], object],
) -> None:
    """Start what is asked for while something is free, and tell what came of it, until nothing is left.

    An engine answers what it hears, a list asks one entry after the other, and rounds wait for the one before.

    Args:
        stop: after a request nothing is asked for, and what runs ends first.
        ask: what runs next; None, or the end of an iterator, where nothing does, or not before something has ended.
        start: starts it in one of the launches.
        tell: hears what came of each, in the order in which they end.
    """
    following = ask if callable(ask) else lambda: next(ask, None)
    with closing(launches):
        while True:
            if launches.free and not stop.requested and (wanted := following()) is not None:
                start(wanted)
            elif launches.under_way:
                tell(launches.next())
            else:
                return


@dataclass(frozen=True, kw_only=True)
class ListedPoint:
    """A complete point of a list, which runs in full in a launch of its own.

    Attributes:
        limits: of its launch.
        repeat: how often the same ran before.
        varied: what else tells it from others in its line.
        site: where it runs; None for one that is free.
    """

    params: Mapping[str, Scalar]
    key: str
    limits: LaunchLimits
    repeat: int = 0
    varied: str = ""
    site: Site[Any] | None = None


def start_point(launching: Launching[Any], study: str, point: ListedPoint) -> int:
    """Start an entry of a list, and return the ticket of its outcome."""
    plan = planned((point.site or launching.idle).plan, point.params, FULL, point.key, point.repeat)
    trial = PlannedTrial(started(study, point.params, Kind.RUN, point.key), plan, point.varied)
    return launching.start({0: trial}, lambda _: point.limits, point.site)
