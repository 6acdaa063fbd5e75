"""Tells the display how far a launch is, and which of its runs HPL has come to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from hpl.witness import Panel

from ...events import TrialProgress, TrialStarted
from ..early_stopping import StopDecision
from .contract import LaunchObserver, Measurements, SolveTime, WatchedLaunch


@dataclass
class ProgressObserver(LaunchObserver):
    """Tells of each trial of a launch that it began, but for the first, and how far it is."""

    launch: WatchedLaunch
    _running: int = field(default=0, init=False)
    _heard: bool = field(default=False, init=False)
    _began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._began_s = self.launch.clock.now_s()

    @classmethod
    def of(cls, launch: WatchedLaunch) -> Self:
        """Every launch has progress."""
        return cls(launch)

    def look(self, panels: Sequence[Panel]) -> StopDecision | None:
        """Tell how far the trial is that runs now."""
        for panel in panels:
            if panel.column == 0 and self._heard:
                self._come_to(self._running + 1)
            self._heard = True
        if panels:
            elapsed_s = self.launch.clock.now_s() - self._began_s
            number = list(self.launch.labels)[self._running]
            self.launch.listener(TrialProgress(number, panels[-1].fraction, elapsed_s))
        return None

    def end(self, solves: Sequence[SolveTime]) -> Sequence[Measurements]:
        """Tell of the trials whose begin was not heard of."""
        self._come_to(len(solves) - 1)
        return ()

    def _come_to(self, place: int) -> None:
        """Tell of all trials up to this one that the display has not heard of."""
        numbers = list(self.launch.labels)
        while self._running < min(place, len(numbers) - 1):
            self._running += 1
            number, before = numbers[self._running], numbers[self._running - 1]
            self.launch.listener(TrialStarted(number, self.launch.labels[number], self.launch.expected_s, after=before))
            self._began_s = self.launch.clock.now_s()
