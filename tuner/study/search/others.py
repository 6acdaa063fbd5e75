"""What other processes that work, or have worked, on the same study have begun and found."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from results.record import TrialRecord, TrialState

from ...engines.base import Engine
from ...engines.fidelity import Question
from ...trial.ladder import outcomes_of, rung_of
from ...words import counted
from ..kinds import SEARCHED, is_conclusive
from ..ledger import Ledger
from ..session import StudySession


@dataclass
class OtherProcesses:
    """Tells an engine of the trials of other processes, each when it begins and when it has ended."""

    session: StudySession
    ledger: Ledger
    _expected: set[int] = field(default_factory=set, init=False)

    def hear(self, engine: Engine) -> int:
        """Tell an engine what is new.

        Returns:
            Trials that the others are running.
        """
        if not self.ledger.is_shared():
            return 0
        with self.ledger.lock:
            records = self._new_records()
            if any(record.state is TrialState.RUNNING for record in records) and self._fail_abandoned_trials():
                records = self._new_records()
        for record, outcome in zip(records, outcomes_of(records), strict=True):
            question = Question(dict(record.params), rung_of(record))
            if record.state is TrialState.RUNNING:
                if record.number not in self._expected:
                    engine.expect(question)
                    self._expected.add(record.number)
                continue
            with self.ledger.lock:
                self.ledger.count([record])
                self.ledger.incumbent.note(record)
            if is_conclusive(record):
                engine.tell(question.params, self.session.objective.outcome(record.params, outcome))
            else:
                engine.release(question)
        return sum(record.state is TrialState.RUNNING for record in records)

    def _new_records(self) -> Sequence[TrialRecord]:
        return [record for record in self.session.records(SEARCHED) if record.number not in self.ledger.known]

    def _fail_abandoned_trials(self) -> bool:
        """End the trials of processes that were killed; whether there were any."""
        store, study, known = self.session.context.store, self.session.study, self.ledger.known
        if not store.left_behind(study, known):
            return False
        left = store.abandon_running(study, "the hpltune that ran this trial was killed", known)
        if left:  # and no other was faster
            self.session.say(f"{counted(left, 'trial')} left behind by a hpltune that was killed.")
        return True
