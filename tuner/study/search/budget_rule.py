"""When a search has used up its budget, and what still fits."""

from collections.abc import Callable
from dataclasses import dataclass

from results.record import TrialRecord, TrialState

from ...budget import Meter


@dataclass
class FailuresInARow:
    """Counts the trials that failed one after the other."""

    count: int = 0

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        self.count = self.count + 1 if record.state is TrialState.FAILED else 0


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """How far a search is when it asks for the next trial.

    Attributes:
        full_s: seconds of a full run; 0 while unknown.
        repeats: full runs that the next question may need.
        running: trials under way, of which the budget does not know yet.
        without_result: no rate is compared yet.
        full_asked: a full run was asked for in this session.
    """

    full_s: float
    repeats: int = 1
    running: int = 0
    without_result: bool = False
    full_asked: bool = False


@dataclass(frozen=True, kw_only=True)
class BudgetRule:
    """When a search has used up its budget.

    On a machine the first trial is always allowed, and until there is a result no time is reserved for later runs. On a
    virtual cluster a full run is always asked before time refuses.

    Attributes:
        reserved_runs: full runs that must still fit after the search; a function where what was found decides.
        exact: each run comes out the same again, so that a cheap one saves nothing but time.
        virtual_clock: time passes only when a trial has ended, so those under way will still take theirs.
        wanted_runs: full runs that a search should have room for: told where not even one fits. None tells nothing.
        failures, most_failures: so many failures in a row end a search that only time limits.
    """

    meter: Meter
    reserved_runs: float | Callable[[], float]
    virtual_clock: bool = False
    exact: bool = False
    wanted_runs: float | None = None
    failures: FailuresInARow | None = None
    most_failures: int = 20

    def out_of_trials(self, now: SearchState) -> str | None:
        """The sentence why no trial is left, or None; time is not looked at."""
        if self.failures and self.failures.count >= self.most_failures and self.meter.budget.trials is None:
            return f"the last {self.failures.count} simulations failed, and failures use up no budget"
        return self.meter.out_of_trials(now.running)

    def must_wait(self, now: SearchState) -> bool:
        """Whether a trial that is under way must tell first what a run takes."""
        return self.virtual_clock and now.running > 0 and not now.full_s and self.meter.budget.timed

    def out_of_time(self, now: SearchState) -> str | None:
        """The sentence why the time that is left is too short, or None."""
        if self.virtual_clock:
            over = self.meter.out_of_time(now.full_s, self._following_runs(now)) if now.full_asked else None
            return over and (self.meter.budget.too_small(now.full_s, self.wanted_runs or 1.0) or over)
        nothing_yet = now.without_result and not now.running
        if nothing_yet and not self.meter.trials:
            return None
        return self.meter.out_of_time(now.full_s, 1.0 if nothing_yet else self._following_runs(now))

    def is_last(self, now: SearchState) -> bool:
        """Whether what is asked next can only be confirmed, not followed up: it has to be a full run."""
        return self.meter.last(now.full_s, self._following_runs(now), now.running)

    def counts_only(self, now: SearchState) -> bool:
        """Whether trials run out before the time does, so that a full run tells more and costs no more."""
        return (
            self.exact
            and now.full_s > 0
            and self.meter.ends_by_trials(now.full_s, self._following_runs(now), now.running)
        )

    def room(self, now: SearchState) -> int:
        """Cheap trials that fit beside the next one."""
        return self.meter.room(now.full_s, self._following_runs(now), now.running) if now.full_s else 0

    def _following_runs(self, now: SearchState) -> float:
        """Full runs that must still fit, the next one included."""
        reserved = self.reserved_runs() if callable(self.reserved_runs) else self.reserved_runs
        return now.repeats + reserved + (now.running if self.virtual_clock else 0)
