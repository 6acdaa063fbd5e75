"""Errors of what was asked for, of plans and of engines; and all errors that say in a sentence what is wrong."""

from hpl.errors import AskedError, HplError
from results.errors import ResultsError
from runners.errors import RunnerError
from search_spaces.errors import SpaceError


class TunerError(Exception):
    """What is wrong, as one sentence for the user."""


class UsageError(TunerError, AskedError):
    """What the user asked for cannot be used: the value of a field, fields that exclude each other, or a file."""


class NotReadyError(TunerError):
    """Nodes of a cluster are not ready for a study."""


class NodesLostError(TunerError):
    """Nodes of a running study no longer answer, or were away too often.

    Attributes:
        nodes: their names.
    """

    def __init__(self, nodes: tuple[str, ...], why: str = "") -> None:
        super().__init__(why or f"node {', '.join(nodes)} does not answer any more")
        self.nodes = nodes


OUR_ERRORS = (TunerError, HplError, ResultsError, RunnerError, SpaceError)
"""The bases of all errors that are raised on purpose: each says in a sentence what is wrong."""
