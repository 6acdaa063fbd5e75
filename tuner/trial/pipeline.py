"""The one way of a trial: plan it, commit that it runs, run it, judge it, commit what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from hpl.errors import HplError
from results.record import Invalidity, TrialRecord, TrialState
from runners.errors import RunnerError

from ..stopping import Stopping
from .evaluate import Evaluator, LaunchResult
from .judge import Failure
from .plan import PlanError, TrialPlan, plan
from .records import finished, not_reached, rejected

T = TypeVar("T")
P_co = TypeVar("P_co", bound=TrialPlan, covariant=True)

NO_STUDY = ""
"""The study of a trial that only memory keeps."""


class TrialBook(Protocol):
    """Where trials are recorded: a study in a store, or memory."""

    def begin(self, record: TrialRecord) -> int | None:
        """Commit that a trial runs, and return its number; None where somebody else runs it."""

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Commit what came of a trial, and return it."""

    def folder(self, number: int) -> Path:
        """Where a trial runs."""


@dataclass(frozen=True)
class Planned(Generic[P_co]):
    """A trial that is begun in its book, and the plan of it alone."""

    begun: TrialRecord
    plan: P_co


@dataclass
class MemoryBook:
    """Trials of no study: their records are kept as long as the process lives.

    Attributes:
        runs: folder below which they run.
        records: those that ended, by their numbers.
    """

    runs: Path
    records: dict[int, TrialRecord] = field(default_factory=dict)
    begun: int = 0

    def begin(self, record: TrialRecord) -> int:
        """Count a trial, and return its number."""
        del record
        self.begun += 1
        return self.begun

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Keep a record."""
        self.records[record.number] = record
        return record

    def folder(self, number: int) -> Path:
        """Where a trial runs."""
        return self.runs / str(number)


def planned(make: Callable[[], T]) -> T | Failure:
    """A plan, or why there is none."""
    try:
        return make()
    except (PlanError, HplError) as error:
        return Failure(Invalidity.CONSTRAINTS, str(error))


def begin(book: TrialBook, record: TrialRecord, asked: P_co | Failure) -> Planned[P_co] | TrialRecord:
    """Commit that a trial runs, before anything of it is started.

    Args:
        record: a new one, which the book gives its number.

    Returns:
        The trial, or the record of one that does not run: it cannot be planned, or somebody else runs it. That of the
        latter has no number and is not committed.
    """
    number = book.begin(record)
    begun = replace(record, number=number or 0)
    if number is None:
        return not_reached(begun)
    return book.commit(rejected(begun, asked)) if isinstance(asked, Failure) else Planned(begun, asked)


def launched(start: Callable[[], T]) -> T | Failure:
    """What starting a launch gives, or why it does not start."""
    try:
        return start()
    except RunnerError as error:
        return Failure(Invalidity.RUNTIME, str(error))


def records_of(
    trials: Sequence[Planned[TrialPlan]], shared: TrialPlan, result: LaunchResult, directory: Path
) -> list[TrialRecord]:
    """The records of the trials of a launch, whatever their verdicts; they are not committed yet.

    Args:
        trials: in the order in which HPL runs them.
        shared: the plan of the launch.
    """
    return [
        replace(finished(one.begun, shared, result, directory, index), hpl_dat=one.plan.hpl_dat)
        for index, one in enumerate(trials)
    ]


def set_aside(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Records of a launch that says nothing of its configurations and is repeated."""
    return [replace(record, state=TrialState.CANCELLED, invalidity=None) for record in records]


def run_alone(
    evaluator: Evaluator, book: TrialBook, record: TrialRecord, limit_s: float, stop: Stopping
) -> TrialRecord:
    """Run a complete point in full in a launch of its own, and commit what came of it.

    Args:
        record: a new one.
        limit_s: seconds after which the run is ended.
    """
    trial = begin(book, record, planned(lambda: plan(record.params, evaluator.site)))
    if isinstance(trial, TrialRecord):
        return trial
    directory = book.folder(trial.begun.number)
    result = launched(lambda: evaluator.evaluate(trial.plan, directory, limit_s, lambda _: None, stop))
    if isinstance(result, Failure):
        return book.commit(rejected(trial.begun, result))
    (ended,) = records_of([trial], trial.plan, result, directory)
    return book.commit(ended)
