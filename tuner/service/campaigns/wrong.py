"""A document that is wrong, with the place in it."""

from collections.abc import Callable
from typing import TypeVar

from hpl.errors import AskedError
from runners.toml_file import ClusterFileError
from search_spaces.errors import SpaceError

from ...asks.registry import key_of
from ...errors import TunerError
from ...words import named

T = TypeVar("T")


class WrongDocumentError(Exception):
    """Something in a document is wrong.

    Attributes:
        path: its place: budget, set.NB.
        sentence: what is wrong with it.
    """

    def __init__(self, path: str, sentence: str) -> None:
        super().__init__(f"{path}: {sentence}")
        self.path = path
        self.sentence = sentence


def read_as_document(read: Callable[[], T]) -> T:
    """Read something as a use case does, with errors that name a place in the document.

    Raises:
        WrongDocumentError: it cannot be read.
    """
    try:
        return read()
    except (TunerError, SpaceError, ClusterFileError) as error:
        raise in_document(error) from error


def in_document(error: Exception) -> WrongDocumentError:
    """The error of a document for an error of a use case."""
    if isinstance(error, AskedError) and error.field:
        return WrongDocumentError(key_of(error.field), named(error.sentence, key_of))
    return WrongDocumentError("document", named(str(error), key_of))
