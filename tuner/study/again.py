"""Runs of HPL that were disturbed run again, while their configuration can still win and the budget allows it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from results.record import TrialRecord

from ..engines.outcomes import FULL, Question
from ..words import counted

MOST_IN_A_ROW = 2
"""Times that a configuration runs again at once: what disturbs a machine for longer is not waited for."""
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


def run_again(
    first: TrialRecord,
    trial: Callable[[], TrialRecord | None],
    allowed: Callable[[], bool],
    say: Callable[[str], None],
    best_gflops: float | None = None,
) -> TrialRecord:
    """Run a configuration again until a run was quiet or can no longer win, at most MOST_IN_A_ROW times.

    Args:
        first: its run so far.
        trial: runs it; None where that did not happen.
        allowed: whether the budget has room for one more run.
        say: tells the user why.
        best_gflops: as of `may_win`.

    Returns:
        The last run.
    """
    last = first
    for _ in range(MOST_IN_A_ROW):
        if not may_win(last, best_gflops) or not allowed():
            break
        say(again_sentence(last))
        after = trial()
        if after is None:
            break
        last = after
    return last


def extra_runs(repeats: int) -> int:
    """Return how many runs more than was asked for may replace disturbed ones; none of a single run.

    Who asks for one run may have hours for one, not for two.
    """
    return math.ceil(EXTRA_PART * repeats) if repeats > 1 else 0


def extra_sentence(disturbed: Sequence[TrialRecord], runs: int, more: int) -> str:
    """Say that more runs follow than were asked for."""
    verb = "was" if len(disturbed) == 1 else "were"
    why = disturbed[-1].disturbed
    return (
        f"{len(disturbed)} of {counted(runs, 'run')} {verb} disturbed, the last one because {why}: "
        f"{'one more run follows' if more == 1 else f'at most {more} more runs follow'}."
    )


@dataclass
class FullRuns:
    """The full runs of a search as far as they decide what runs again: what was disturbed and may still win.

    Attributes:
        say: tells the user why.
        asked: one was asked for in this session.
    """

    say: Callable[[str], None]
    asked: bool = False
    _waiting: list[Question] = field(default_factory=list, init=False)
    _quiet: set[str] = field(default_factory=set, init=False)
    _runs: dict[str, int] = field(default_factory=dict, init=False)

    def note(self, question: Question, record: TrialRecord, best_gflops: float | None) -> None:
        """Take in a trial that has ended.

        Args:
            best_gflops: of the incumbent.
        """
        if question.rung != FULL or not record.ranked:
            return
        if record.disturbed is None:
            self._quiet.add(record.key)
            return
        runs = self._runs.get(record.key, 0)
        if record.key not in self._quiet and runs < MOST_IN_A_ROW and may_win(record, best_gflops):
            self._runs[record.key] = runs + 1
            self._waiting.append(question)
            self.say(again_sentence(record))

    def take(self, under_way: Iterable[Question]) -> list[Question]:
        """Return the next question that is to run again and does not run now, or nothing."""
        running = [dict(one.params) for one in under_way]
        for question in self._waiting:
            if dict(question.params) not in running:
                self._waiting.remove(question)
                return [Question(dict(question.params))]
        return []
