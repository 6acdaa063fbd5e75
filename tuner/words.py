"""Words for people: counts with their noun, lists with an "and", and text of others without what steers a terminal."""

import re
from collections.abc import Sequence

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but for the tab and the end of a line, and those that turn the direction of writing."""


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
