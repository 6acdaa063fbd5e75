"""What every sitting of a study has and does, on machines and on virtual clusters."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from results.record import Kind, TrialRecord, TrialState
from results.stats.ranking import Ranked, rank
from results.store.store import Store
from search_spaces.dimension import Point
from search_spaces.space import SearchSpace

from ..budget import Meter
from ..engines.base import Engine
from ..engines.fidelity import FULL, Ladder
from ..events import Listener, Notice, PhaseStarted, TrialEnded
from ..stopping import StopRequest
from ..trial.varying_label import legend
from .launch_worker import KINDS
from .objective import Objective
from .run_folders import study_folder
from .shootout import libraries_of, with_rivals

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""
SEARCHED = frozenset({*KINDS.values(), Kind.GIVEN_UP})
"""Kinds of trials that an engine asked for."""
RANKED = frozenset({Kind.SEARCH, Kind.CONFIRMATION})
"""Kinds of trials whose rates are compared."""
STOPPED = "stopped on request"
NOTHING_LEFT = "the engine expects no faster combination"


@dataclass(frozen=True)
class StudyContext:
    """Where studies are kept, how they are watched, and the folder below which their trials run."""

    store: Store
    listener: Listener
    stop: StopRequest
    runs: Path


@dataclass(kw_only=True)
class StudySession(ABC):
    """The work of this process on a study.

    Attributes:
        ladder: how much of a full run the engine may ask for.
        expected_s: seconds the next run will probably take, None while unknown; learnt from finished runs.
        each_blas: libraries are compared, so that the best of each is confirmed.
    """

    bench: StudyContext
    study: str
    space: SearchSpace
    meter: Meter
    objective: Objective
    ladder: Ladder = (FULL,)
    expected_s: float | None = None
    best_gflops: float | None = None
    each_blas: bool = False
    _best: dict[str, tuple[float, str]] = field(default_factory=dict, init=False)
    _ran: set[tuple[Kind, str, float]] = field(default_factory=set, init=False)

    @property
    def stopped(self) -> bool:
        """Whether the user wants nothing more to be started."""
        return self.bench.stop.requested

    def say(self, sentence: str) -> None:
        """Show the user a sentence."""
        self.bench.listener(Notice(sentence))

    def records(self, kinds: Collection[Kind] | None = None) -> Sequence[TrialRecord]:
        """The study's trials of these kinds, or all, in the order they were begun."""
        return self.bench.store.records(self.study, kinds=kinds)

    def folder(self, number: int) -> Path:
        """Where a trial runs."""
        return self.bench.runs / study_folder(self.study) / f"{number:05d}"

    def ranking(self) -> Sequence[Ranked]:
        """The study's configurations, best first, by what one more run of each should give."""
        return self.objective.ranked(rank(self.records(RANKED)))

    @property
    def largest_front(self) -> int:
        """Most configurations of which none beats another: one for each worth of a GFLOPS; 1 of one objective."""
        against = self.objective.against
        return len(against.worths(self.space)) if against else 1

    @property
    def most_finalists(self) -> int:
        """Configurations that `confirm` may have to run."""
        return FINALISTS + (len(libraries_of(self.space)) - 1 if self.each_blas else 0)

    def confirm(self, repeats: int) -> Sequence[Ranked]:
        """Run each of the best so often again, interleaved so that drift hits all alike, and rank anew."""
        ranking = self.ranking()
        finalists = self.objective.finalists(ranking, FINALISTS)
        if self.each_blas:
            finalists = with_rivals(self.objective, finalists, ranking)
        if finalists and repeats and not self.meter.out_of_time(self.expected_s or 0.0):
            self.bench.listener(PhaseStarted("confirmation", len(finalists) * repeats))
        for turn, finalist in product(range(repeats), finalists):
            if self.stopped or self.meter.out_of_time(self.expected_s or 0.0):
                break
            self._confirm_once(finalist.params, finalist.runs + turn)
        return self.ranking()

    @abstractmethod
    def _confirm_once(self, params: Point, before: int) -> None:
        """Run a complete point that ran so often before."""

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Store what came of a trial, charge the budget, and tell the display."""
        self.bench.store.finish(record)
        self.meter.charge(record.cost_s or 0.0, trial=counts(record))
        self._learn(record)
        ended = TrialEnded(
            record,
            best=", ".join(told for _, told in self._best.values()) or None,
            spent=self.meter.spent(),
            left=self.meter.left(),
            again=self._runs_again(record),
        )
        self.bench.listener(ended)
        return record

    def _runs_again(self, record: TrialRecord) -> bool:
        """Whether the search ran the same before, as much of the same configuration; it has now."""
        same = (record.kind, record.key, record.part)
        again = record.kind in SEARCHED and same in self._ran
        self._ran.add(same)
        return again

    @abstractmethod
    def _learn(self, record: TrialRecord) -> None:
        """Take a trial that has ended into account."""

    def _note_best(self, record: TrialRecord) -> bool:
        """Whether a trial has a rate that is compared; the highest is kept, and the best by each objective."""
        compared = record.ranked and record.kind in RANKED
        if compared:
            gflops = record.gflops or 0.0
            self.best_gflops = max(self.best_gflops or 0.0, gflops)
            for objective in filter(None, (self.objective, self.objective.against)):
                worth, best = objective.worth(record.params, gflops), self._best.get(objective.name)
                if best is None or worth > best[0]:
                    self._best[objective.name] = (worth, objective.told(record))
        return compared

    def take_for_best(self, records: Sequence[TrialRecord]) -> None:
        """Forget the best so far; the best of these is it."""
        self.best_gflops = None
        self._best.clear()
        for record in records:
            self._note_best(record)

    def explain(self) -> None:
        """Say what the names of the trials mean, and where a front can have one configuration only."""
        sentence = legend(self.space)
        if sentence:
            self.say(sentence)
        against = self.objective.against
        if against and self.largest_front == 1:
            self.say(
                "Every configuration uses the same nodes and network, so the fastest one is also the best by "
                f"{against.unit}: the study searches for the fastest."
            )

    def hear(self, engine: Engine) -> None:
        """Show the user what an engine has to say."""
        for remark in engine.take_remarks():
            self.say(remark)

    def end(self) -> None:
        """Say in the store how the sitting came to its end."""
        self.bench.store.end_study(self.study, "interrupted" if self.stopped else "complete")


def how_it_ended(reason: str, engine: Engine) -> str:
    """Why a search ended, with what an engine that means to ask a certain number of configurations did not come to."""
    left = engine.unasked()
    return f"{reason}; {left} of {left + len(engine.told)} configurations were not run" if left else reason


def counts(record: TrialRecord) -> bool:
    """Whether a trial is one of those that a budget of trials allows."""
    return record.kind in SEARCHED and is_conclusive(record)


def is_conclusive(record: TrialRecord) -> bool:
    """Whether a trial that does not run says something of its configuration.

    One that the user ended does not, nor one whose end was not seen because hpltune was killed.
    """
    return record.state is not TrialState.CANCELLED and record.ended_at is not None
