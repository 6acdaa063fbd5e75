"""A document that is wrong, with the place in it."""

import re
from collections.abc import Callable
from typing import TypeVar

from runners.toml_file import ClusterFileError
from search_spaces.errors import SpaceError

from ...asks.registry import in_keys, key_of
from ...errors import TunerError

_OPTION = re.compile(r"--([a-z-]+)(?: ([^\s:]+(?: = [^:]*)?))?: ")
_NAMED = re.compile(r"--[a-z-]+")
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
    """Read something as the command line does, with errors that name a place in the document.

    Raises:
        WrongDocumentError: it cannot be read.
    """
    try:
        return read()
    except (TunerError, SpaceError, ClusterFileError) as error:
        raise in_document(error) from error


def in_document(error: Exception) -> WrongDocumentError:
    """The error of a document for an error of the command line, whose sentence names an option."""
    said = str(error)
    found, named = _OPTION.match(said), _NAMED.match(said)
    if found is None:
        return WrongDocumentError(key_of(named[0]) if named else "document", in_keys(said))
    path = key_of(f"--{found[1]}")
    if path == "set" and found[2]:
        path = f"set.{found[2].partition(' ')[0].partition('=')[0]}"
    return WrongDocumentError(path, in_keys(said[found.end() :]))
