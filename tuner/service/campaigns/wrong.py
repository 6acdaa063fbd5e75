"""A document that is wrong, with the place in it."""

import re
from collections.abc import Callable
from typing import TypeVar

from runners.toml_file import ClusterFileError
from search_spaces.errors import SpaceError

from ...errors import TunerError

KEYS = {"xhpl": "program", "rpeak": "rpeak_gflops", "power": "power_w", "price": "price_usd", "study": "name"}
"""Keys of a document whose option of the command line has another name."""
_OPTION = re.compile(r"--([a-z-]+)(?: ([^\s:]+(?: = [^:]*)?))?: ")
_NAMED = re.compile(r"--([a-z-]+)")
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
        return WrongDocumentError(_key(named[1]) if named else "document", _without_options(said))
    path = _key(found[1])
    if path == "set" and found[2]:
        path = f"set.{found[2].partition(' ')[0].partition('=')[0]}"
    return WrongDocumentError(path, _without_options(said[found.end() :]))


def _without_options(sentence: str) -> str:
    """A sentence with keys of a document in place of options: `--run-time` becomes run_time."""
    return re.sub(r"--([a-z][a-z-]*)", lambda found: _key(found[1]), sentence)


def _key(option: str) -> str:
    return KEYS.get(option, option.replace("-", "_"))
