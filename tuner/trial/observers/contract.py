"""The contract of what watches a launch of HPL: it hears of its begin, looks while it runs, and measures until its end.

An observer raises nothing: where it cannot watch, it says so to the listener and measures nothing.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpl.params import HplParams
from hpl.witness import Panel, SolveConditions
from runners.job import Job

from ...clock import Clock
from ...events import Listener
from ..early_stopping import EarlyStopping, StopDecision
from .energy.meters import PowerMeters

Measurements = Mapping[str, float]
"""What was measured during a run: numbers by names that say their unit, such as "package_energy_j"."""


@dataclass(frozen=True)
class SolveTime:
    """When HPL solved one run of a launch, and what ranks told of it.

    Attributes:
        began_s, ended_s: by `time.monotonic`; None where that was not heard of.
        told: what ranks and nodes told; nothing where they did not, or where it cannot be told which run it is of.
    """

    began_s: float | None = None
    ended_s: float | None = None
    told: SolveConditions = field(default_factory=SolveConditions)


@dataclass(frozen=True, kw_only=True)
class WatchedLaunch:
    """What observers may know of a launch before it begins.

    Attributes:
        labels: of the trials that the display hears of, by their numbers, in the order in which HPL runs them; it has
            heard of the first.
        expected_s: seconds that one of them will probably take; None where nobody knows.
        early_stopping: what ended runs told of how runs go on; None where no run may be ended early.
        must_reach_gflops: what the run must be able to reach; None where it goes to its end.
        hpl: parameters of its only run, by which a look-ahead is known; None where it has several.
        meters: what tells the power of the machine; None where nobody looked for it.
    """

    labels: Mapping[int, str]
    listener: Listener
    clock: Clock
    expected_s: float | None = None
    early_stopping: EarlyStopping | None = None
    must_reach_gflops: float | None = None
    hpl: HplParams | None = None
    meters: PowerMeters | None = None


class LaunchObserver(ABC):
    """Watches one launch, from one thread; a further launch has an observer of its own."""

    @classmethod
    @abstractmethod
    def of(cls, launch: WatchedLaunch) -> "LaunchObserver | None":
        """Make the observer of a launch; None where it has nothing to watch there."""

    def begin(self, job: Job, nodes: Sequence[str]) -> None:
        """Hear that a job will be submitted now; whatever becomes of it, `end` follows.

        Args:
            nodes: names of the hosts that its ranks may be on; none where a batch system chooses them later.
        """
        del job, nodes

    def look(self, panels: Sequence[Panel]) -> StopDecision | None:
        """Look at the launch, which happens several times a second until its processes have ended.

        Args:
            panels: those that rank 0 began since the last look, in their order.

        Returns:
            Why the launch shall be ended now; None to let it go on.
        """
        del panels
        return None

    def end(self, solves: Sequence[SolveTime]) -> Sequence[Measurements]:
        """Hear that the processes have ended, once.

        Args:
            solves: one of each run that gets a record, in HPL's order; none where nothing could be started.

        Returns:
            What was measured during each of these runs; nothing where nothing was measured.
        """
        del solves
        return ()

    def lines(self) -> Sequence[str]:
        """Return what is to be kept of the runs over their time, as lines of standard error; asked for after `end`."""
        return ()


def together(measured: Sequence[Sequence[Measurements]]) -> Sequence[Measurements]:
    """Put together what several observers measured of each run of a launch, without what is no number."""
    return [
        {
            name: figure
            for of_runs in measured
            if number < len(of_runs)
            for name, figure in of_runs[number].items()
            if math.isfinite(figure)
        }
        for number in range(max(map(len, measured), default=0))
    ]
