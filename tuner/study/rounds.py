"""The one loop of rounds, in which each competitor runs once a round, and which disturbed runs run again."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Self

from results.record import TrialRecord

from ..budget import Meter
from ..engines.outcomes import FULL, Question
from ..events import PhaseStarted
from ..trial.launch import LaunchOutcome
from ..words import counted
from .session import StudyContext

MOST_FAILURES = 2
"""Failed runs in a row with which a competitor is out."""
MOST_IN_A_ROW = 2
"""Times that a configuration runs again at once: what disturbs a machine for longer is not waited for."""
STEADY = 4
"""Disturbed runs in a row after which none is repeated: more runs would meet the same load."""
EXTRA_PART = 1 / 3
"""Of the runs that a user asked for, so many more run in place of disturbed ones, at least one."""


def may_win(record: TrialRecord, best_gflops: float | None = None) -> bool:
    """Whether a run was disturbed, and may be faster than the best without that.

    Args:
        best_gflops: of the incumbent; None where any rate matters.
    """
    if record.disturbed is None or not record.ranked or record.gflops is None:
        return False
    return best_gflops is None or record.disturbed.most_gflops(record.gflops) >= best_gflops


def again_sentence(record: TrialRecord) -> str:
    """Say why a configuration runs again."""
    return f"Trial {record.number} was disturbed ({record.disturbed}) and may still win: it runs again."


def doubted_sentence(number: int, slower: float) -> str:
    """Say why a configuration runs again though nothing showed that its run was disturbed.

    Args:
        number: of its trial.
        slower: by which part of what the engine expects.
    """
    return (
        f"Trial {number} was {100 * slower:.0f} % slower than all other runs let expect. If something disturbed it, "
        "its configuration may still win: it runs once more."
    )


@dataclass
class SteadyLoad:
    """Notices that a machine is loaded all the time, so that to repeat disturbed runs gains nothing.

    Attributes:
        say: tells the user, once.
    """

    say: Callable[[str], None]
    _in_a_row: int = field(default=0, init=False)
    _said: bool = field(default=False, init=False)

    def hear(self, record: TrialRecord) -> None:
        """Take in a run; one of which nobody knows whether it was disturbed tells nothing."""
        if record.disturbed is not None:
            self._in_a_row += 1
        elif record.undisturbed:
            self._in_a_row = 0

    def lasts(self, record: TrialRecord) -> bool:
        """Whether the last STEADY runs were all disturbed, of which `record` is the last."""
        if self._in_a_row < STEADY:
            return False
        if not self._said:
            self.say(
                f"The last {counted(self._in_a_row, 'run')} were all disturbed, trial {record.number} because "
                f"{record.disturbed}: the machine is loaded all the time, and no disturbed run is repeated "
                "while that lasts."
            )
        self._said = True
        return True


@dataclass(frozen=True)
class Competitor:
    """What runs once a round.

    Attributes:
        name: tells it from the others.
        run: runs it once.
        expected_s: seconds that a run should take, at least.
    """

    name: str
    run: Callable[[], LaunchOutcome]
    expected_s: float = 0.0

    @classmethod
    def of(cls, name: str, trial: Callable[[], TrialRecord], expected_s: float) -> Self:
        """A competitor whose runs are trials of a study each."""
        return cls(name, lambda: LaunchOutcome({0: trial()}), expected_s)


class End(Enum):
    """What ended rounds: their rule or what befell a run, the user, the budget, or a load that stays."""

    OVER = auto()
    STOPPED = auto()
    TIME = auto()
    LOAD = auto()


@dataclass
class RoundsResult:
    """What rounds gave.

    Attributes:
        records: of all runs.
        begun: rounds that were begun.
        turns: of competitors; a run at once in place of a disturbed one is none.
        took_s: seconds of the last run of each competitor, by its name.
        failed: failures in a row of each.
        out: why a competitor takes part no more.
        end, why: what ended them, and the sentence about it; "" where all ran.
    """

    records: list[TrialRecord] = field(default_factory=list)
    begun: int = 0
    turns: int = 0
    took_s: dict[str, float] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    out: dict[str, str] = field(default_factory=dict)
    end: End = End.OVER
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Competitors that run in rounds, one run at a time. A disturbed run is repeated at once if the rest still fits.

    Attributes:
        order: who runs in the next round, of those that are left.
        ends: the sentence why no further round follows, "" where all ran; None where one does.
        phase: what the display hears when the first run begins.
        load: of the machine, as it hears of all runs; nothing is repeated while it lasts.
        apart: a run begins if it alone fits into the budget, and none begins while the load lasts. Without this a round
            begins if all of it fits.
        least: competitors that must be left.
        best_gflops: as of `may_win`.
    """

    competitors: Sequence[Competitor]
    order: Callable[[RoundsResult, Sequence[Competitor]], Sequence[Competitor]]
    ends: Callable[[RoundsResult, Sequence[Competitor]], str | None]
    meter: Meter
    context: StudyContext
    phase: PhaseStarted
    load: SteadyLoad
    apart: bool = False
    least: int = 1
    best_gflops: float | None = None

    def play(self) -> RoundsResult:
        """Run rounds until their rule, the budget or the user ends them.

        Raises:
            TunerError, RunnerError, ResultsError: as what runs the competitors.
        """
        played = RoundsResult()
        while True:
            left = [one for one in self.competitors if one.name not in played.out]
            ended = self._stopped() or self._over(played, left) or self._round(played, self.order(played, left))
            if ended:
                return replace(played, end=ended[0], why=ended[1])

    def _stopped(self) -> tuple[End, str] | None:
        return (End.STOPPED, "you asked for it") if self.context.stop.requested else None

    def _over(self, played: RoundsResult, left: Sequence[Competitor]) -> tuple[End, str] | None:
        why = self.ends(played, left)
        if why is None and len(left) < self.least:
            why = "; ".join(f"{name}: {reason}" for name, reason in played.out.items())
        return None if why is None else (End.OVER, why)

    def _round(self, played: RoundsResult, turns: Sequence[Competitor]) -> tuple[End, str] | None:
        """Run a round; what ends all rounds, or None."""
        for place, competitor in enumerate(turns):
            if competitor.name in played.out:
                continue
            rest = [one for one in turns[place:] if one.name not in played.out]
            rest_s = [max(one.expected_s, played.took_s.get(one.name, 0.0)) for one in rest]
            why = self.meter.out_of_time(rest_s[0] if self.apart else sum(rest_s)) if self.apart or not place else None
            if ended := self._stopped() or (why and (End.TIME, why)):
                return ended
            if not played.turns:
                self.context.listener(self.phase)
            played.begun += not place
            played.turns += 1
            done = self._turn(competitor, sum(rest_s), played)
            if done.event:
                return End.OVER, done.why
            if self.apart and len(rest_s) > 1 and self.load.lasts(done.in_order[-1]):
                return End.LOAD, "on a loaded machine more runs would confirm luck"
        return None

    def _turn(self, competitor: Competitor, rest_s: float, played: RoundsResult) -> LaunchOutcome:
        """Run a competitor, and again at once while its run was disturbed, may win, and the rest of the round fits.

        Who fails MOST_FAILURES times in a row is out.
        """
        name = competitor.name
        for again in range(MOST_IN_A_ROW + 1):
            done = competitor.run()
            ran = done.in_order
            played.records += ran
            for record in ran:
                self.load.hear(record)
            played.took_s[name] = max((record.cost_s or 0.0 for record in ran), default=0.0)
            disturbed = [record for record in ran if may_win(record, self.best_gflops)]
            may_repeat = again < MOST_IN_A_ROW and not done.event and not self._stopped()
            if not disturbed or not may_repeat or self.meter.out_of_time(rest_s) or self.load.lasts(disturbed[-1]):
                break
            self.load.say(again_sentence(disturbed[0]))
        played.failed[name] = 0 if any(record.ranked for record in ran) else played.failed[name] + 1
        if played.failed[name] == MOST_FAILURES and ran:
            played.out[name] = f"its best configuration failed {MOST_FAILURES} times in a row: {ran[-1].reason}"
        return done


def extra_runs(repeats: int) -> int:
    """Return how many runs more than was asked for may replace disturbed ones; none of a single run.

    Who asks for one run may have hours for one, not for two.
    """
    return math.ceil(EXTRA_PART * repeats) if repeats > 1 else 0


def extra_sentence(disturbed: Sequence[TrialRecord], runs: int, more: int) -> str:
    """Say that more runs follow than were asked for."""
    return (
        f"{len(disturbed)} of {counted(runs, 'run')} {'was' if len(disturbed) == 1 else 'were'} disturbed, "
        f"trial {disturbed[-1].number} because {disturbed[-1].disturbed}: "
        f"{'one more run follows' if more == 1 else f'at most {more} more runs follow'}."
    )


@dataclass
class FullRuns:
    """The full runs of a search as far as they decide what runs again: what was disturbed and may still win.

    Attributes:
        load: of the machine; nothing runs again while it lasts.
        asked: one was asked for in this session.
    """

    load: SteadyLoad
    asked: bool = False
    _waiting: list[tuple[Question, TrialRecord]] = field(default_factory=list, init=False)
    _quiet: set[str] = field(default_factory=set, init=False)
    _runs: dict[str, int] = field(default_factory=dict, init=False)

    def note(self, question: Question, record: TrialRecord, best_gflops: float | None) -> None:
        """Take in a trial that has ended.

        Args:
            best_gflops: of the incumbent.
        """
        if question.rung != FULL or not record.ranked:
            return
        self.load.hear(record)
        if record.undisturbed:
            self._quiet.add(record.key)
        runs = self._runs.get(record.key, 0)
        may = record.key not in self._quiet and runs < MOST_IN_A_ROW and may_win(record, best_gflops)
        if may and not self.load.lasts(record):
            self._runs[record.key] = runs + 1
            self._waiting.append((question, record))

    def take(self, under_way: Iterable[Question], best_gflops: float | None) -> list[Question]:
        """Return the next question that is to run again and does not run now, or nothing; say why it runs."""
        self._waiting = [one for one in self._waiting if may_win(one[1], best_gflops)]
        running = [dict(one.params) for one in under_way]
        for place, (question, record) in enumerate(self._waiting):
            if dict(question.params) not in running:
                del self._waiting[place]
                self.load.say(again_sentence(record))
                return [Question(dict(question.params))]
        return []
