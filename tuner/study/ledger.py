"""The trials of a study as this process begins, pays and tells them, from any thread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock

from results.record import Kind, TrialRecord, TrialState

from ..budget import Meter
from ..events import TrialEnded
from .incumbent import Incumbent
from .kinds import COUNTED, SEARCHED, counts
from .run_folders import trial_folder
from .session import StudyContext


@dataclass(kw_only=True)
class Ledger:
    """Commits trials, charges the budget for each once, and tells the display.

    Attributes:
        joinable: other processes may work on the study.
        told_clock: the clock only moves by what trials cost.
        whole: meter of the budget of which this ledger has a share: what is spent counts there too, and the display
            tells what is left of it; None where there is no other.
        learners: hear of each trial after it is committed, before the next is.
        lock: whoever reads or changes what trials have told holds it.
        known: numbers of the trials that were begun here, or counted.
    """

    context: StudyContext
    study: str
    meter: Meter
    incumbent: Incumbent
    joinable: bool = True
    told_clock: bool = False
    whole: Meter | None = None
    learners: Sequence[Callable[[TrialRecord], None]] = ()
    lock: RLock = field(default_factory=RLock, init=False)
    known: set[int] = field(default_factory=set, init=False)
    _others_seen: bool = field(default=False, init=False)
    _ran: set[tuple[Kind, str, float]] = field(default_factory=set, init=False)

    def begin(self, record: TrialRecord) -> int | None:
        """Store that a trial runs, and return its number.

        Returns:
            None where somebody else of this study began it, or the budget's last trial, before.
        """
        with self.lock:
            number = (
                self.context.store.begin_first(record, self.known, COUNTED, self.meter.budget.trials)
                if self.joinable and record.kind in SEARCHED
                else self.context.store.begin(record)
            )
            if number is None:
                self._others_seen = True
            else:
                self.known.add(number)
        return number

    def is_shared(self) -> bool:
        """Whether other processes work on the study, or did since this session began."""
        self._others_seen = self._others_seen or bool(self.context.store.others(self.study))
        return self._others_seen

    def folder(self, number: int) -> Path:
        """Where a trial runs."""
        return trial_folder(self.context.runs, self.study, number)

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Store what came of a trial, charge the budget, tell the display, and let others learn."""
        with self.lock:
            if self.told_clock:
                self.meter.clock.sleep(record.cost_s or 0.0)
            self.context.store.finish(record)
            for meter in filter(None, (self.meter, self.whole)):
                meter.charge(record.cost_s or 0.0, trial=counts(record))
            self.incumbent.note(record)
            shown = self.whole or self.meter
            ended = TrialEnded(
                record,
                best=self.incumbent.told,
                spent=shown.spent(),
                left=shown.left(),
                again=self._runs_again(record),
            )
            self.context.listener(ended)
            self._learn(record)
        return record

    def remember(self, record: TrialRecord) -> None:
        """Learn from a trial of an earlier session, which is counted already."""
        with self.lock:
            self.incumbent.note(record)
            self._learn(record)

    def _learn(self, record: TrialRecord) -> None:
        for learn in self.learners:
            learn(record)

    def count(self, records: Sequence[TrialRecord]) -> None:
        """Charge the budget for trials of earlier times and of others that have ended, each once."""
        with self.lock:
            for record in records:
                if record.number in self.known or record.state is TrialState.RUNNING:
                    continue
                self.known.add(record.number)
                self._runs_again(record)
                self.meter.charge(record.cost_s or 0.0, trial=counts(record))

    def _runs_again(self, record: TrialRecord) -> bool:
        """Whether the search ran the same before, as much of the same configuration; it has now."""
        same = (record.kind, record.key, record.part)
        again = record.kind in SEARCHED and same in self._ran
        self._ran.add(same)
        return again
