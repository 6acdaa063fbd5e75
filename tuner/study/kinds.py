"""Which kinds of trials a study searches, ranks and counts."""

from results.record import Kind, TrialRecord, TrialState

from ..engines.fidelity import Fidelity

KINDS = {Fidelity.SMALL: Kind.SMALL, Fidelity.PREFIX: Kind.PREFIX, Fidelity.FULL: Kind.SEARCH}
"""What a trial is called that an engine asked for."""
SEARCHED = frozenset({*KINDS.values(), Kind.GIVEN_UP})
"""Kinds of trials that an engine asked for."""
COUNTED = SEARCHED | {Kind.REFERENCE}
"""Kinds of trials that a budget of trials limits."""
RANKED = frozenset({Kind.SEARCH, Kind.REFERENCE, Kind.CONFIRMATION})
"""Kinds of trials whose rates are compared."""


def is_compared(record: TrialRecord) -> bool:
    """Whether a trial has a rate that is compared."""
    return record.ranked and record.kind in RANKED


def counts(record: TrialRecord) -> bool:
    """Whether a trial is one of those that a budget of trials allows."""
    return record.kind in COUNTED and is_conclusive(record)


def is_conclusive(record: TrialRecord) -> bool:
    """Whether a trial that does not run says something of its configuration.

    One that the user ended does not, nor one whose end was not seen because hpltune was killed.
    """
    return record.state is not TrialState.CANCELLED and record.ended_at is not None
