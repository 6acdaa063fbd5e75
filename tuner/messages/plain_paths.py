"""Sentences for people elsewhere: with keys of documents, and without the folders of the service's machine."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..asks.registry import key_of
from ..words import named

_WORD = re.compile(r"[^\s:;,()'\"`]+")
"""What a path can be part of; each letter is looked at once, however long a text of strangers is."""
_BEGIN = re.compile(r"(?<![\w/.])(?:~|/(?=[^/]))")
_SERVER = re.compile(r"postgres[a-z+]*://[^\s,;\"']+|at \"[^\"]*\"(?: \([^)]*\))?, port \d+")
"""Where a database is, in our words and in those of its library: an address may have a name and a password."""
OWN = "/api/"
"""How addresses of the service begin, which are no paths of its machine."""


def without_paths(text: str) -> str:
    """A text in which absolute paths are only the names of their files: /home/ada/HPL.dat becomes …/HPL.dat.

    Fields stand in it as a document has them, and the addresses of databases do not.
    """
    return "".join(_pieces(_SERVER.sub("…", named(text, key_of))))


def facts_without_paths(facts: Any) -> Any:
    """Facts for scripts whose texts have no absolute paths."""
    match facts:
        case str():
            return without_paths(facts)
        case Mapping():
            return {name: facts_without_paths(value) for name, value in facts.items()}
        case list() | tuple():
            return [facts_without_paths(value) for value in facts]
        case _:
            return facts


def _pieces(text: str) -> Iterator[str]:
    done = 0
    for found in _WORD.finditer(text):
        word, after = found[0], text[found.start() - 1 : found.start()]
        last = word.rfind("/")
        begin = next(
            (
                one.start()
                for one in _BEGIN.finditer(word)
                if not (one.start() == 0 and after == ":") and not word.startswith(OWN, one.start())
            ),
            last,
        )
        if begin < last:
            yield text[done : found.start() + begin]
            yield f"…{word[last:]}"
            done = found.end()
    yield text[done:]
