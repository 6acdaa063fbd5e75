"""How far the running trials of a campaign are, by what HPL's witness says in the folders of their runs; only read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hpl.sizing import flop_count
from hpl.witness import Panel, parse_panels
from runners.paths import RunPaths, Tail

from ...study.names import trial_folder

POINTS = 120
"""Most points of a run that are remembered, at equal parts of its operations."""
LEAST_S = 0.1
"""Seconds between two points: of less time the clock tells no rate."""


@dataclass(frozen=True)
class RunNow:
    """How far a running trial is.

    Attributes:
        panel: the last that it began.
        panel_gflops: from the point before to this panel; None where that is not known.
        points: part of the operations that is done, and GFLOPS since the point before.
        second: its second panel, from which rates count: with look-ahead it begins before the work of the first one
            is done. None before it.
    """

    number: int
    panel: Panel
    panel_gflops: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    second: Panel | None = None

    @property
    def gflops(self) -> float | None:
        """From the second panel until now; None before the third."""
        return None if self.second is None else _rate(self.second, self.panel)

    @property
    def left_s(self) -> float | None:
        """Seconds left if it goes on as fast as until now; None at its begin."""
        return (1 - self.panel.fraction) * flop_count(self.panel.N) / 1e9 / self.gflops if self.gflops else None


def _rate(start: Panel, end: Panel) -> float | None:
    """GFLOPS from the begin of one panel to that of another; None where no time passed."""
    done, seconds = end.fraction - start.fraction, end.time_s - start.time_s
    return done * flop_count(end.N) / seconds / 1e9 if done > 0 and seconds > 0 else None


class _FollowedLaunch:
    """The runs of one launch, read from what they say on standard error."""

    def __init__(self, folder: Path) -> None:
        self._tail = Tail(RunPaths(folder).stderr)
        self._run = -1
        self._from: Panel | None = None
        self.now: RunNow | None = None

    def look(self, numbers: Sequence[int]) -> None:
        """Read the panels that were begun since the last look.

        Args:
            numbers: of the trials of the launch, in the order in which they run.
        """
        for panel in parse_panels("\n".join(self._tail.lines())):
            if panel.column == 0:
                self._run += 1
                self._from = None
                self.now = RunNow(numbers[min(self._run, len(numbers) - 1)], panel)
            elif self.now is not None and self._from is None:
                self._from = panel
                self.now = replace(self.now, panel=panel, second=panel)
            elif self.now is not None and self._from is not None:
                self.now = replace(self.now, panel=panel)
                self._point(self.now, self._from, panel)

    def _point(self, now: RunNow, start: Panel, panel: Panel) -> None:
        """Remember the rate since the last point, once another part of the operations is done."""
        gflops = _rate(start, panel)
        if gflops and panel.fraction - start.fraction >= 1 / POINTS and panel.time_s - start.time_s >= LEAST_S:
            self.now = replace(now, panel_gflops=gflops, points=(*now.points, (panel.fraction, gflops)))
            self._from = panel


class RunningRuns:
    """The running trials of one campaign.

    Args:
        runs: the folder of all runs, as this machine sees it; where it cannot be read there is simply no progress.
    """

    def __init__(self, runs: Path, campaign: str) -> None:
        self._runs = runs
        self._campaign = campaign
        self._launches: dict[int, _FollowedLaunch] = {}
        self.now: tuple[RunNow, ...] = ()

    def look(self, running: Collection[int]) -> list[RunNow]:
        """Read what is new, and return those of which something is new."""
        before = {one.number: one for one in self.now}
        self._launches = {number: launch for number, launch in self._launches.items() if number in running}
        for first, numbers in self._together(sorted(running)):
            self._launches[first].look(numbers)
        found = [launch.now for launch in self._launches.values() if launch.now is not None]
        self.now = tuple(one for one in found if one.number in running)
        return [one for one in self.now if before.get(one.number) != one]

    def _together(self, running: Sequence[int]) -> list[tuple[int, list[int]]]:
        """Group trials by their launch: it has the folder of its first one, and the others have none."""
        found: list[tuple[int, list[int]]] = []
        for number in running:
            if number not in self._launches:
                folder = trial_folder(self._runs, self._campaign, number)
                if _is_folder(folder):
                    self._launches[number] = _FollowedLaunch(folder)
            if number in self._launches:
                found.append((number, [number]))
            elif found:
                found[-1][1].append(number)
        return found


def _is_folder(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:
        return False
