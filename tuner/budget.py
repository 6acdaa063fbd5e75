"""How much a study may spend, and how much it has spent."""

from dataclasses import dataclass, field

from .clock import Clock
from .units import compact, dollars, duration
from .words import counted

DOLLARS = "$"
NODE_HOURS = "node-hours"
MANY = 1000.0
"""Trials that may be asked at a time where nothing limits them."""


@dataclass(frozen=True)
class Budget:
    """Limits of a study; None means no limit of that kind.

    Attributes:
        trials: search trials that may be asked.
        wall_s: seconds by the clock on the wall, everything included.
        run_s: seconds during which HPL was really running.
        unit: what the wall time was asked for in, NODE_HOURS or DOLLARS, or nothing for a time.
        hourly: so many of that unit make an hour of wall time.
    """

    trials: int | None = None
    wall_s: float | None = None
    run_s: float | None = None
    unit: str = ""
    hourly: float = 1.0

    @property
    def timed(self) -> bool:
        """Whether time is limited in some way."""
        return self.whole_s is not None

    @property
    def whole_s(self) -> float | None:
        """The tightest limit in time; None where time is not limited."""
        return min((limit for limit in (self.wall_s, self.run_s) if limit is not None), default=None)

    def too_small(self, run_s: float, runs: float) -> str | None:
        """The sentence why not even one run fits, or None.

        Args:
            run_s: its seconds.
            runs: how many of them a search should have room for.
        """
        if self.whole_s is None or run_s <= self.whole_s:
            return None
        field = "budget" if self.whole_s == self.wall_s else "run_time"
        return (
            f"one run takes about {duration(run_s)}, more than the budget ({self}) allows: "
            f"a search needs ⟦{field}⟧ {compact(runs * run_s)} or more"
        )

    def __str__(self) -> str:
        parts = []
        if self.trials is not None:
            parts.append(counted(self.trials, "trial"))
        if self.wall_s is not None:
            time = f"{duration(self.wall_s)} of wall time"
            parts.append(f"{self.amount(self.wall_s)} = {time}" if self.unit else time)
        if self.run_s is not None:
            parts.append(f"{duration(self.run_s)} of HPL runs")
        return ", ".join(parts) or "no limit"

    def amount(self, wall_s: float) -> str:
        """Some of the wall time in the unit that was asked for."""
        if not self.unit:
            return duration(wall_s)
        units = wall_s / 3600.0 * self.hourly
        if self.unit == DOLLARS:
            return dollars(units)
        return f"{units:.3g} {self.unit}" if units < 100 else f"{units:.0f} {self.unit}"


@dataclass
class Meter:
    """Adds up what is spent against a budget.

    Args:
        budget: the limits.
        clock: real or simulated.
        spent_wall_s: wall seconds spent by earlier sessions of the same study.
    """

    budget: Budget
    clock: Clock
    spent_wall_s: float = 0.0
    trials: int = 0
    run_s: float = 0.0
    _started_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_s = self.clock.now_s()

    def charge(self, cost_s: float, *, trial: bool) -> None:
        """Count one run of `cost_s` seconds; `trial` says whether it was a search trial."""
        self.run_s += cost_s
        self.trials += trial

    @property
    def wall_s(self) -> float:
        """Wall seconds spent so far, earlier sessions included."""
        return self.spent_wall_s + self.clock.now_s() - self._started_s

    def remaining_s(self) -> float | None:
        """Seconds left by the tightest limit in time; None where time is not limited."""
        left = []
        if self.budget.wall_s is not None:
            left.append(self.budget.wall_s - self.wall_s)
        if self.budget.run_s is not None:
            left.append(self.budget.run_s - self.run_s)
        return min(left) if left else None

    def spent(self) -> float | None:
        """The part of the budget that is spent, by the tightest limit, at most 1; None where nothing is limited."""
        remaining_s = self.remaining_s()
        parts = [] if remaining_s is None else [self.wall_s / (self.wall_s + max(0.0, remaining_s))]
        if self.budget.trials is not None:
            parts.append(min(1.0, self.trials / max(1, self.budget.trials)))
        return max(parts, default=None)

    def left(self) -> str | None:
        """What the tightest limit in time leaves, in the unit that was asked for, and trials, as long as there are any.

        None where nothing is limited, or only trials were and all of them are done.
        """
        parts = []
        remaining_s = self.remaining_s()
        if remaining_s is not None:
            by_runs = self.budget.run_s is not None and remaining_s == self.budget.run_s - self.run_s
            parts.append(duration(max(0.0, remaining_s)) if by_runs else self.budget.amount(max(0.0, remaining_s)))
        trials = 0 if self.budget.trials is None else self.budget.trials - self.trials
        if trials > 0:
            parts.append(counted(trials, "trial"))
        return ", ".join(parts) or None

    def out_of_trials(self, running: int = 0) -> str | None:
        """The sentence why no further search trial may start, or None; time is not looked at.

        Args:
            running: trials under way.
        """
        if self.budget.trials is not None and self.trials + running >= self.budget.trials:
            return "the one trial is done" if self.budget.trials == 1 else f"all {self.budget.trials} trials are done"
        return None

    def last(self, full_s: float, reserved_runs: float, running: int = 0) -> bool:
        """Whether the next trial is the last but a few seconds: what it finds can only be confirmed, not followed up.

        Args:
            full_s: seconds of a full run.
            reserved_runs: full runs that must still follow, the next one included.
            running: trials under way.
        """
        if self.out_of_trials(running + 1):
            return True
        remaining_s = self.remaining_s()
        return remaining_s is not None and remaining_s < full_s * (reserved_runs + 1.0)

    def ends_by_trials(self, full_s: float, reserved_runs: float, running: int = 0) -> bool:
        """Whether all trials that are left may be full runs: a cheaper one leaves no room for more.

        Args:
            full_s: seconds of a full run.
            reserved_runs: full runs that must still follow, the next one included.
            running: trials under way.
        """
        if self.budget.trials is None:
            return False
        remaining_s, left = self.remaining_s(), self.budget.trials - self.trials - running
        return remaining_s is None or remaining_s >= full_s * (left - 1 + reserved_runs)

    def room(self, full_s: float, reserved_runs: float, running: int = 0) -> int:
        """Cheap trials that fit besides the next one, each taken to cost as much as a full run.

        Args:
            full_s: seconds of a full run, above zero.
            reserved_runs: full runs that must still follow, the last search trial excluded.
            running: trials under way.
        """
        fitting = [] if self.budget.trials is None else [float(self.budget.trials - self.trials - running - 2)]
        remaining_s = self.remaining_s()
        if remaining_s is not None:
            fitting.append(remaining_s / full_s - reserved_runs - 2)
        return max(0, int(min([*fitting, MANY])))

    def out_of_time(self, run_s: float, runs: float = 1.0) -> str | None:
        """The sentence why a run does not fit any more, or None; trials are not looked at.

        Args:
            run_s: its seconds.
            runs: how many like it must still fit, itself included.
        """
        remaining_s = self.remaining_s()
        if remaining_s is not None and remaining_s < run_s * runs:
            need = f"and {counted(round(runs - 1), 'confirming run')} need" if runs >= 1.5 else "needs"
            return f"another run {need} {duration(run_s * runs)}, more than is left"
        if remaining_s is not None and remaining_s <= 0:
            return f"the budget ({self.budget}) is used up"
        return None
