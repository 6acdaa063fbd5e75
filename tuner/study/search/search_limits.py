"""How long a launch of a search should and may take, and what it must reach; learnt from every trial of the study."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from hpl.witness import parse_panels
from results.record import Invalidity, Kind, TrialRecord

from ...engines.outcomes import Rung
from ...trial.early_stopping import EarlyStopping, updated
from ...trial.ladder import takes_s
from ...trial.launch import LaunchLimits
from ...units import duration
from ..ledger import Incumbent
from ..names import is_compared
from ..session import StudySession

PATIENCE = 5.0
"""A launch is given so many times what it should take: estimates may be wrong by three, and configurations differ."""
LEAST_PATIENCE = 3.0
"""So many times where that is more than LEFT_SHARE of the time left."""
LEFT_SHARE = 1 / 3
"""Of the time left, what a launch may take that takes long: others must still be able to follow it."""
SPARE_S = 5.0
"""Every launch is given so long, unless `unknown_s` is less: what starting, ending and a busy machine may take."""
UNKNOWN_S = 60.0
"""A launch of which nothing is known yet gets this, or the part of the budget that follows where that is more."""
UNKNOWN_SHARE = 0.1
RAISED = 2
"""Runs in full that are ended, before one came to its end, each make what follows be expected to take as long."""
TELLING = 2.0
"""So many times what it should take a run has been given that is ended; less was given before that was raised."""


class RunTime(Protocol):
    """What a search knows of the time that its full runs take."""

    @property
    def full_s(self) -> float:
        """Seconds of a full run; 0 while nothing has told."""


@dataclass
class RunTimeEstimate:
    """The time of runs on a real machine.

    Attributes:
        expected_s: seconds the next full run will probably take; None while unknown.
        starting_s: what a launch takes beside HPL's own time.
    """

    expected_s: float | None = None
    starting_s: float = 0.0
    _outlasted: list[float] = field(default_factory=list, init=False)

    @property
    def full_s(self) -> float:
        """Seconds of a full run; 0 while nothing has told."""
        return self.expected_s or 0.0

    def should_take_s(self, rung: Rung) -> float | None:
        """Seconds that a launch of one run should take; None while no run has told."""
        if self.expected_s is None:
            return None
        starting_s = min(self.starting_s, self.expected_s)
        return takes_s(rung, self.expected_s - starting_s, starting_s)

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended; one that was disturbed took longer than others will."""
        if is_compared(record) and not (record.disturbed and self.expected_s is not None):
            cost_s = record.cost_s or 0.0
            known_s = None if self._outlasted else self.expected_s
            self.expected_s = cost_s if known_s is None else 0.5 * (known_s + cost_s)
            self._outlasted.clear()

    def raise_to(self, cost_s: float, fits: Callable[[float], bool]) -> bool | None:
        """Expect the next run to take at least as long as one that was ended, while none in full came to its end.

        The estimate may be wrong, or the configuration: after RAISED such runs, and where the budget has no room for
        longer ones, it is taken to be the latter.

        Args:
            cost_s: after which it was ended; what was begun before the estimate was last raised tells nothing.
            fits: whether the budget has room for a run of so many seconds.

        Returns:
            Whether it expects longer runs now; None where the run tells nothing.
        """
        if self.expected_s is None or cost_s < TELLING * self.expected_s or len(self._outlasted) > RAISED:
            return None
        self._outlasted.append(self.expected_s)
        raised = len(self._outlasted) <= RAISED and fits(cost_s)
        self.expected_s = cost_s if raised else self._outlasted[0]
        return raised


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """What is known of the limits of launches on a real machine.

    Attributes:
        unknown_s: seconds after which a launch is ended of which it is not known yet what it should take.
        every_rate: no run is stopped early, because each rate is wanted.
    """

    session: StudySession
    incumbent: Incumbent
    run_time: RunTimeEstimate
    early_stopping: EarlyStopping
    unknown_s: float
    every_rate: bool = False

    def of_launch(self, rung: Rung, runs: int, key: str | None, full_s: float | None = None) -> LaunchLimits:
        """The limits of a launch that begins now, as `Limits` has them."""
        expected_s = (self.run_time if full_s is None else RunTimeEstimate(full_s)).should_take_s(rung)
        bar = None if key is None or self.every_rate else self.incumbent.lower_bound(self.session, key)
        return LaunchLimits(
            limit_s=self._limit_s(None if expected_s is None else expected_s * runs),
            expected_s=expected_s,
            early_stopping=self.early_stopping,
            must_reach_gflops=bar,
        )

    def of_session(self, session: StudySession) -> Self:
        """The same for another session of the study, with a budget of its own."""
        return replace(self, session=session)

    def _limit_s(self, expected_s: float | None) -> float:
        return limit_s(expected_s, self.session.meter.remaining_s(), self.unknown_s)

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended; what was ended by its limit may have been given too little."""
        self.run_time.learn(record)
        if record.kind is not Kind.SEARCH:
            return
        if record.ranked and record.gflops and record.disturbed is None:
            self.early_stopping.learn(updated(parse_panels(record.errors_text), record.hpl), record.gflops)
        if record.invalidity is Invalidity.TIMEOUT and self.incumbent.gflops is None:
            raised = self.run_time.raise_to(record.cost_s or 0.0, self._fits)
            if raised is not None and self._fits(self.run_time.full_s):
                given_s = self._limit_s(self.run_time.expected_s)
                self.session.say(outlasted_sentence(self.session.space.largest_n, given_s, raised=raised))

    def _fits(self, run_s: float) -> bool:
        return self.session.meter.out_of_time(run_s) is None


def unknown_limit_s(budget_s: float) -> float:
    """The limit of a launch of which nothing is known yet, but for what is left of the budget."""
    return max(UNKNOWN_S, UNKNOWN_SHARE * budget_s)


def limit_s(expected_s: float | None, left_s: float | None, unknown_s: float) -> float:
    """Seconds after which a launch is ended.

    What is left of the budget is overrun by no more than the launch was expected to take, but for SPARE_S.

    Args:
        expected_s: what it should take, start included; None where that is not known, which gives it `unknown_s`.
        left_s: of the budget; None where time is not limited.
    """
    patient_s = unknown_s if expected_s is None else PATIENCE * expected_s + SPARE_S
    if left_s is not None:
        usual_s = expected_s or 0.0
        patient_s = min(patient_s, max(LEFT_SHARE * left_s, LEAST_PATIENCE * usual_s), max(0.0, left_s) + usual_s)
    return max(patient_s, min(SPARE_S, unknown_s))


def outlasted_sentence(N: int, limit_s: float, *, raised: bool) -> str:
    """What the user is told of a run in full that was ended, while none came to its end.

    Args:
        limit_s: what the next one is given.
        raised: that is more than this one had.
    """
    so = f"so the next may take up to {duration(limit_s)}" if raised else f"and the next gets {duration(limit_s)}"
    why = f"No run of N={N} has finished yet, {so}."
    return f"{why} If all are that slow, choose a smaller N with ⟦set⟧ N=…, or a longer ⟦budget⟧."
