"""All observers of a launch: a new one is one file in this folder and one line here."""

from collections.abc import Callable, Sequence

from .conditions import ConditionsObserver
from .contract import LaunchObserver, WatchedLaunch
from .early_stopping import EarlyStoppingObserver
from .energy_observer import EnergyObserver
from .progress import ProgressObserver

OBSERVERS: Sequence[Callable[[WatchedLaunch], LaunchObserver | None]] = (
    ProgressObserver.of,
    EarlyStoppingObserver.of,
    EnergyObserver.of,
    ConditionsObserver.of,
)
"""What makes each observer of a launch on a real machine."""


def observers_of(launch: WatchedLaunch) -> Sequence[LaunchObserver]:
    """Make what watches a launch; an observer that has nothing to watch there is none of them."""
    return [observer for make in OBSERVERS if (observer := make(launch)) is not None]
