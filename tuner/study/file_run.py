"""Measures an HPL.dat as it is: one launch of all its configurations, and a record of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from results.store.store import Store

from ..events import Listener, TrialEnded, TrialStarted
from ..stopping import Stopping
from ..trial.evaluate import Evaluator
from ..trial.judge import Failure
from ..trial.launch import LaunchLimits, LaunchOutcome
from ..trial.launching import Launching, PlannedTrial
from ..trial.plan import TrialPlan, label
from ..trial.records import started
from .names import trial_folder

SHOWN_RUNS = 20
"""Of a file with more runs only so many get a line each, and those that do not count; all are stored."""


@dataclass(frozen=True)
class FileBook:
    """The trials of a study that only measures a file.

    Attributes:
        runs: folder below which studies have theirs.
    """

    store: Store
    study: str
    runs: Path

    def begin(self, record: TrialRecord) -> int:
        """Commit that a trial runs, and return its number."""
        return self.store.begin(record)

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Commit what came of a trial, and return it."""
        self.store.finish(record)
        return record

    def folder(self, number: int) -> Path:
        """Where a trial runs."""
        return trial_folder(self.runs, self.study, number)


@dataclass(frozen=True)
class ShownFileBook(FileBook):
    """The book of one file, which shows each of its runs when it has ended."""

    plan: TrialPlan
    listener: Listener

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Commit what came of a trial, and show it."""
        super().commit(record)
        if record.hpl is not None:
            if record.ranked and self.plan.runs.index(record.hpl) >= SHOWN_RUNS:
                return record
            self.listener(TrialStarted(record.number, label(replace(self.plan, runs=(record.hpl,))), None))
        if record.hpl is not None or record.state is TrialState.FAILED:
            self.listener(TrialEnded(record))
        return record


@dataclass(frozen=True)
class FileRun:
    """An HPL.dat and where it is measured.

    Attributes:
        plan: of the whole file.
        walltime_s: seconds after which a launch is ended.
        kind: of its trials.
        words: what else tells its configurations from others of the study.
    """

    plan: TrialPlan
    book: FileBook
    evaluator: Evaluator
    walltime_s: float
    listener: Listener
    stop: Stopping
    kind: Kind = Kind.RUN
    words: Mapping[str, Scalar] = field(default_factory=dict)

    @cached_property
    def launching(self) -> Launching[TrialPlan]:
        """What launches the file."""
        book = ShownFileBook(self.book.store, self.book.study, self.book.runs, self.plan, self.listener)
        return Launching(sites=[self.evaluator], book=book, listener=self.listener, stop=self.stop, whole_file=True)

    def measure(self) -> LaunchOutcome:
        """Launch the file, again where it was not to blame for its end.

        Returns:
            The records of the last launch, and what befell it.

        Raises:
            TunerError: no run can be started here; the trials stay RUNNING.
            results.errors.ResultsError: the store cannot be written.
        """
        self.start()
        return self.launching.next()

    def start(self, expected_s: float | None = None) -> None:
        """Begin to launch the file, which will probably take so many seconds."""
        limits = LaunchLimits(limit_s=self.walltime_s, expected_s=expected_s)
        trials = {place: self._trial(run.words()) for place, run in enumerate(self.plan.runs)}
        self.launching.start(trials, lambda _: limits)

    def _trial(self, words: dict[str, Scalar]) -> PlannedTrial[TrialPlan | Failure]:
        """One of the file's configurations, with what the file does not say of it in the words of a space."""
        plan = self.plan
        layout = f"{plan.ranks}x{plan.threads}"
        launched = {"blas": plan.blas, "kernel": plan.kernel, "layout": layout, **plan.launch.words(), **plan.settings}
        params = {**words, **launched, **self.words}
        return PlannedTrial(started(self.book.study, params, self.kind, key_of(params)), plan)


def key_of(params: dict[str, Scalar]) -> str:
    """The identity of a configuration that no space has: all that it is."""
    return " ".join(f"{name}={value}" for name, value in params.items())
