"""One launch of HPL that measures one configuration or several: its plan, who watches it, and what each run costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hpl.dat import HplDat, render
from hpl.witness import Panel

from ..clock import Clock
from ..events import Listener, TrialProgress, TrialStarted
from ..stopping import StopRequest
from .early_stopping import EarlyStopping, StopDecision
from .evaluate import LaunchResult
from .judge import Failure
from .plan import TrialPlan


def merge_plans(plans: Sequence[TrialPlan]) -> TrialPlan | None:
    """One plan for several of one run each, in HPL's order; None where no HPL.dat holds just them, or more differs."""
    first = plans[0]
    if len(plans) == 1:
        return first
    dat = HplDat.together([plan.runs[0] for plan in plans])
    alike = all(replace(plan, runs=first.runs, hpl_dat=first.hpl_dat) == first for plan in plans)
    if dat is None or not alike or not first.program.runs_lists or first.stop_at is not None:
        return None
    return replace(first, runs=tuple(dat.runs()), hpl_dat=render(dat))


def hpl_order(plans: Sequence[TrialPlan | Failure]) -> list[int]:
    """The numbers of plans in the order in which one launch would run them, what cannot run first."""
    sound = [plan for plan in plans if isinstance(plan, TrialPlan)]
    shared = merge_plans(sound) if sound else None

    def turn(number: int) -> int:
        one = plans[number]
        return -1 if isinstance(one, Failure) or shared is None else shared.runs.index(one.runs[0])

    return sorted(range(len(plans)), key=turn)


def reached(measured: LaunchResult) -> int:
    """Runs of a launch that HPL came to: those with a result, and the one that has none because it failed."""
    return min(len(measured.verdict.results) + 1, len(measured.verdict.faults))


def costs_s(measured: LaunchResult) -> list[float]:
    """Seconds by our clock that each run of a launch answers for: HPL's time of it, and an equal part of all else.

    Where HPL tells more than the launch took, its times are parts of what it took.

    A run without a result took the seconds since it began; those that HPL did not come to cost nothing.
    """
    count, came_to = len(measured.verdict.faults), reached(measured)
    told_s = [result.time_s for result in measured.verdict.results[:count]]
    scale = min(1.0, measured.cost_s / sum(told_s)) if sum(told_s) > 0 else 1.0
    own_s = [scale * one_s for one_s in told_s]
    if len(own_s) < came_to:
        begun_s = measured.begun_s[len(own_s)] if len(own_s) < len(measured.begun_s) else measured.cost_s
        own_s.append(measured.cost_s - begun_s)
    rest_s = max(0.0, measured.cost_s - sum(own_s)) / came_to
    return [one_s + rest_s for one_s in own_s] + [0.0] * (count - came_to)


@dataclass
class LaunchMonitor:
    """A launch under way: tells the display how far it is, and ends it when the user wants or when it cannot win.

    Attributes:
        labels: of the trials by their numbers, in the order in which HPL runs them.
        expected_s: seconds one of them will probably take, or None.
        best_gflops: what a run that may be given up must be able to reach; None where none may be.
    """

    labels: Mapping[int, str]
    listener: Listener
    stop: StopRequest
    clock: Clock
    early_stopping: EarlyStopping
    expected_s: float | None = None
    best_gflops: float | None = None
    hopeless: StopDecision | None = None
    _running: int = field(default=-1, init=False)
    _heard: bool = field(default=False, init=False)
    _over: bool = field(default=False, init=False)
    _column: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.come_to(0)

    @property
    def requested(self) -> bool:
        """Whether the launch must not begin any more."""
        return self.stop.requested

    @property
    def at_once(self) -> bool:
        """Whether the launch must be ended now."""
        return self.stop.at_once or self.hopeless is not None or self._over

    @property
    def _number(self) -> int:
        """Number of the trial that runs now."""
        return list(self.labels)[self._running]

    def come_to(self, index: int) -> None:
        """Tell the display of all runs up to this one that it has not heard of."""
        while self._running < index:
            before = self._number if self._running >= 0 else None
            self._running += 1
            number, text = self._number, self.labels[self._number]
            self.listener(TrialStarted(number, text, self.expected_s, after=before))
            self._started_s = self.clock.now_s()

    def on_panel(self, panel: Panel) -> None:
        """Hear of a panel that has begun; the first of a further run is where a launch may stop in order."""
        if panel.column == 0 and self._heard and self._running + 1 < len(self.labels):
            self._over = self.stop.requested
            self.come_to(self._running + 1)
        self._heard = True
        elapsed_s = self.clock.now_s() - self._started_s
        self.listener(TrialProgress(self._number, panel.fraction, elapsed_s))
        if self.best_gflops is not None and self.hopeless is None:
            self.hopeless = self.early_stopping.hopeless(panel, self._column, self.best_gflops)
        self._column = panel.column
