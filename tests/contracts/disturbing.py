"""A sensor that says of some runs that they were disturbed, or quiet, for launches of programs that only print."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

import pytest
from record_builders import DISTURBED, QUIET

from tuner.trial.observers import registry
from tuner.trial.observers.contract import LaunchObserver, Measurements, SolveTime, WatchedLaunch


@contextmanager
def disturbing(monkeypatch: pytest.MonkeyPatch, runs: Collection[int]) -> Iterator[None]:
    """Watch all launches meanwhile: the runs of these numbers, from 1 in the order they end, were disturbed."""
    numbers = count(1)

    class Sensor(LaunchObserver):
        @classmethod
        def of(cls, launch: WatchedLaunch) -> "Sensor":
            del launch
            return cls()

        def end(self, solves: Sequence[SolveTime]) -> Sequence[Measurements]:
            told: list[Mapping[str, float]] = [DISTURBED if next(numbers) in runs else QUIET for _ in solves]
            return told

    with monkeypatch.context() as patch:
        patch.setattr(registry, "OBSERVERS", (*registry.OBSERVERS, Sensor.of))
        yield
