"""Ends a run that can no longer win."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from hpl.params import HplParams
from hpl.witness import Panel

from ..early_stopping import EarlyStopping, StopDecision, updated
from .contract import LaunchObserver, WatchedLaunch


@dataclass
class EarlyStoppingObserver(LaunchObserver):
    """Looks whether the run of a launch can still reach what it must."""

    early_stopping: EarlyStopping
    must_reach_gflops: float
    hpl: HplParams | None = None
    _column: int = field(default=0, init=False)

    @classmethod
    def of(cls, launch: WatchedLaunch) -> Self | None:
        """Only a launch whose run must reach something."""
        if launch.early_stopping is None or launch.must_reach_gflops is None:
            return None
        return cls(launch.early_stopping, launch.must_reach_gflops, launch.hpl)

    def look(self, panels: Sequence[Panel]) -> StopDecision | None:
        """Hold the beginning of the run against those of the runs before."""
        for panel in updated(panels, self.hpl):
            before, self._column = self._column, panel.column
            found = self.early_stopping.hopeless(panel, before, self.must_reach_gflops)
            if found is not None:
                return found
        return None
