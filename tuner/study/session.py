"""A study while it is worked on: where it is kept, who watches it, and what is searched."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from results.record import Kind, TrialRecord
from results.stats.ranking import Ranked, rank
from results.store.store import Store
from search_spaces.space import SearchSpace

from ..budget import Meter
from ..events import Listener, Notice
from ..stopping import StopRequest
from ..trial.plan import legend
from .names import RANKED, study_folder
from .objective import Objective

T = TypeVar("T", Ranked, TrialRecord)
MEASURED_FRONT = 4
"""Configurations for whose confirmation the budget has room, where what each draws is only known once it ran."""


@dataclass(frozen=True)
class StudyContext:
    """Where studies are kept, how they are watched, and the folder below which their trials run."""

    store: Store
    listener: Listener
    stop: StopRequest
    runs: Path

    def say(self, sentence: str, *, caution: bool = False, detail: bool = False) -> None:
        """Show the user a sentence; a caution is kept with the study."""
        self.listener(Notice(sentence, caution, detail))


@dataclass(frozen=True, kw_only=True)
class StudySession:
    """The work of this process on a study, as far as it does not change while the study is searched.

    Attributes:
        study: its name.
        number: of this session among those of the study.
        shrunk: nodes were lost, so that some configurations that were measured cannot be run any more.
        blas: only trials of this library are looked at, as if the study had no others; None for all.
    """

    context: StudyContext
    study: str
    space: SearchSpace
    objective: Objective
    meter: Meter
    number: int = 0
    shrunk: bool = False
    blas: str | None = None

    @property
    def stopped(self) -> bool:
        """Whether the user wants nothing more to be started."""
        return self.context.stop.requested

    def say(self, sentence: str, *, detail: bool = False) -> None:
        """Show the user a sentence."""
        self.context.say(sentence, detail=detail)

    def records(self, kinds: Collection[Kind] | None = None) -> Sequence[TrialRecord]:
        """The study's trials of these kinds, or all, in the order they were begun."""
        records = self.context.store.records(self.study, kinds=kinds)
        if self.blas is None:
            return records
        return [record for record in records if record.params.get("blas") == self.blas]

    @property
    def folder(self) -> Path:
        """Below which its trials run."""
        return self.context.runs / study_folder(self.study)

    def ranking(self) -> Sequence[Ranked]:
        """The configurations that can be run now, best first, by what one more run of each should give."""
        return self.runnable(self.objective.ranked(rank(self.records(RANKED))))

    def runnable(self, found: Sequence[T]) -> Sequence[T]:
        """Of some configurations, or runs of them, those that can be run now."""
        if not self.shrunk:
            return found
        return [entry for entry in found if self.space.why_not(entry.params) is None]

    @property
    def largest_front(self) -> int:
        """Most configurations of which none beats another: one for each worth of a GFLOPS; 1 of one objective."""
        against = self.objective.against
        if against and against.by_measured_power:
            return min(MEASURED_FRONT, len(self.space))
        return len(against.worths(self.space)) if against else 1

    def explain(self) -> None:
        """Say what the names of the trials mean, and where a front can have one configuration only."""
        sentence = legend(self.space)
        if sentence:
            self.say(sentence, detail=True)
        against = self.objective.against
        if against and self.largest_front == 1:
            self.say(
                "Every configuration uses the same nodes and network, so the fastest one is also the best by "
                f"{against.unit}: the study searches for the fastest."
            )

    def end(self) -> None:
        """Say in the store how the session came to its end."""
        self.context.store.end_study(self.study, "interrupted" if self.stopped else "complete")
