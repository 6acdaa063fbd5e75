"""Reads the text of a cluster file as a table of bounded size, depth and numbers.

`search_spaces/toml_text.py` does the same: the two folders are siblings that never import each other.
"""

import tomllib
from pathlib import Path
from typing import Any

LARGEST_BYTES = 2**20
"""Most bytes of a file: a thousand nodes with a line each take only some tens of kilobytes."""
DEEPEST = 50
"""Most tables and lists inside each other; a deeper text is no description of a cluster."""


class ClusterTomlError(ValueError):
    """A text is no TOML or too large; the message says what is wrong, without the file's name."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text.

    Raises:
        ClusterTomlError: the text is no TOML, is nested too deeply, or has a whole number of more than 64 bits.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClusterTomlError(str(error)) from error
    except RecursionError as error:
        raise ClusterTomlError(f"tables or lists are more than {DEEPEST} deep") from error
    except ValueError as error:  # int() refuses texts of thousands of digits
        raise ClusterTomlError("a whole number is larger than 64 bits") from error
    _check(table)
    return table


def _check(table: dict[str, Any]) -> None:
    left: list[tuple[object, int]] = [(table, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ClusterTomlError("a whole number is larger than 64 bits")
        within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if within and depth > DEEPEST:
            raise ClusterTomlError(f"tables or lists are more than {DEEPEST} deep")
        left += [(each, depth + 1) for each in within]


def read_toml(file: Path) -> str:
    """Read the text of a file.

    Raises:
        OSError: the file cannot be read.
        ClusterTomlError: the file is too large or not UTF-8.
    """
    with file.open("rb") as opened:
        read = opened.read(LARGEST_BYTES + 1)
    if len(read) > LARGEST_BYTES:
        raise ClusterTomlError(f"the file is larger than {LARGEST_BYTES / 2**20:g} MiB")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ClusterTomlError("it is not UTF-8 text") from error
