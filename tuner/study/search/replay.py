"""Tells an engine what a study has found so far."""

from collections.abc import Sequence

from results.record import TrialRecord

from ...engines.base import Engine
from ...trial.ladder import outcomes_of
from ..kinds import is_conclusive
from ..objective import Objective


def replay_records(engine: Engine, records: Sequence[TrialRecord], objective: Objective) -> None:
    """Rebuild an engine from the store: the records are the only state a study has.

    Nothing is known of a trial that the user ended, or whose end was not seen because hpltune was killed.
    """
    for record, outcome in zip(records, outcomes_of(records), strict=True):
        if is_conclusive(record):
            engine.tell(record.params, objective.outcome(record.params, outcome))
