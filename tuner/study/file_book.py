"""Where the trials of `hpltune run` are recorded: a study in the store that has neither engine nor budget."""

from dataclasses import dataclass
from pathlib import Path

from results.record import TrialRecord
from results.store.store import Store

from .run_folders import trial_folder


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
