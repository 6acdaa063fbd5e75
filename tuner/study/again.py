"""Runs of HPL that were disturbed run again, while their configuration can still win and the budget allows it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from results.record import TrialRecord

from ..engines.outcomes import FULL, Question
from ..words import counted

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


def run_again(
    first: TrialRecord,
    trial: Callable[[], TrialRecord | None],
    allowed: Callable[[], bool],
    load: SteadyLoad,
    best_gflops: float | None = None,
) -> TrialRecord:
    """Run a configuration again until a run was quiet or can no longer win, at most MOST_IN_A_ROW times.

    Args:
        first: its run so far.
        trial: runs it; None where that did not happen.
        allowed: whether the budget has room for one more run.
        load: of the machine, which hears of each run; nothing runs again while it lasts.
        best_gflops: as of `may_win`.

    Returns:
        The last run.
    """
    last = first
    load.hear(last)
    for _ in range(MOST_IN_A_ROW):
        if not may_win(last, best_gflops) or not allowed() or load.lasts(last):
            break
        load.say(again_sentence(last))
        after = trial()
        if after is None:
            break
        last = after
        load.hear(last)
    return last


def extra_runs(repeats: int) -> int:
    """Return how many runs more than was asked for may replace disturbed ones; none of a single run.

    Who asks for one run may have hours for one, not for two.
    """
    return math.ceil(EXTRA_PART * repeats) if repeats > 1 else 0


def extra_sentence(disturbed: Sequence[TrialRecord], runs: int, more: int) -> str:
    """Say that more runs follow than were asked for."""
    verb = "was" if len(disturbed) == 1 else "were"
    return (
        f"{len(disturbed)} of {counted(runs, 'run')} {verb} disturbed, "
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
