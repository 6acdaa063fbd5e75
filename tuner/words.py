"""Words for people: counts with their noun, lists with an "and", names of fields, no text that steers a terminal."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but for the tab and the end of a line, and those that turn the direction of writing."""
_FIELD = re.compile(r"⟦([A-Za-z][a-z_]*(?:\.[A-Za-z0-9_.]+)?)⟧")
"""A field in a sentence, between brackets that nobody writes in the name of a study or a file."""
_COMMAND = re.compile(r"\Ahpltune .*\Z|`hpltune [^`]*`", re.DOTALL)
OPTIONS = {"reference": "no-reference"}
"""Options of the command line that are not called as their field: these take away what is there without them."""
T = TypeVar("T")


def option(field: str) -> str:
    """The option of the command line for a field of what is asked for: `--set NB` for set.NB."""
    name, _, part = field.partition(".")
    return f"--{OPTIONS.get(name, name.replace('_', '-'))} {part}".rstrip()


def named(text: str, name_of: Callable[[str], str]) -> str:
    """A sentence with a face's names of the fields that stand in it as ⟦budget⟧; a command has options in every face.

    Args:
        name_of: what the face calls a field.
    """
    if "⟦" not in text:  # a page has long texts without fields
        return text
    return _FIELD.sub(lambda found: name_of(found[1]), _COMMAND.sub(lambda found: with_options(found[0]), text))


def with_options(text: str) -> str:
    """A sentence as the command line says it: ⟦budget⟧ becomes `--budget`."""
    return _FIELD.sub(lambda found: option(found[1]), text)


def all_with_options(told: T) -> T:
    """A report, its facts or another value, whose sentences are as the command line says them."""
    found: Any = told
    match told:
        case str():
            found = with_options(told)
        case Mapping():
            found = {name: all_with_options(value) for name, value in told.items()}
        case list() | tuple():
            found = type(told)(map(all_with_options, told))
        case _ if is_dataclass(told) and not isinstance(told, type):
            values = {each.name: getattr(told, each.name) for each in fields(told)}
            found = replace(told, **{name: all_with_options(value) for name, value in values.items()})
    return cast(T, found)


def counted(count: int, noun: str) -> str:
    """A number with its noun, which takes an s unless there is one of it: "1 kernel", "12 kernels"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: "atlas", "atlas and blis", "atlas, blis and mkl"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def printable(text: str) -> str:
    r"""Text with escapes for what would steer a terminal: colours, titles, a cleared screen, as in `\x1b[2J`.

    Text of a node, a file or a database may hold such; a tab and the end of a line stay.
    """
    return _STEERING.sub(lambda found: ascii(found.group())[1:-1], text)
