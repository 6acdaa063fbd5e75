"""Converts figures, texts and times to forms that all databases and text files can store, and back."""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

_LONGEST, _MOST = 4000, 1000
"""Characters of a text, and members of a list or an object, that are read from JSON; the rest is left out."""


def finite_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return named figures without what is no finite number, as in a damaged row."""
    return {
        name: figure
        for name, figure in figures.items()
        if isinstance(figure, float | int) and abs(figure) <= sys.float_info.max
    }


def finite(figure: float | None) -> float | None:
    """Return the figure, or None if it is infinite or NaN."""
    return figure if figure is not None and math.isfinite(figure) else None


def unicode_text(text: str) -> str:
    r"""Replace characters that not every database can store by escapes: `\udc80` (odd file names), `\x00` (garbage)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", r"\x00")


def time_text(moment: datetime) -> str:
    """UTC in a fixed width, so that text sorts as time does."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment_of(text: str | None) -> datetime | None:
    """Read a time that `time_text` wrote; None where there is none."""
    return datetime.fromisoformat(text) if text else None


def typed(kind: Any, value: Any) -> Any:
    """Read a value of a type from JSON: a dataclass, tuple, mapping, time, text, number or flag, or one or none of it.

    A damaged field of a dataclass, or member of a list or a mapping, is as if it were not there. Of too many members
    the first are left out: the newest stand last.

    Raises:
        ValueError: it is of another type, or lacks a field.
    """
    of, parts, found = get_origin(kind), get_args(kind), value
    if of is UnionType and NoneType in parts:
        found = None if value is None else typed(parts[0], value)
    elif isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
        hints = _hints(kind)
        try:
            found = kind(**dict(_whole((name, hints[name], one) for name, one in value.items() if name in hints)))
        except TypeError as error:
            raise ValueError("it lacks a field") from error
    elif of is tuple and isinstance(value, list | tuple) and parts[1] is ...:
        found = tuple(one for _, one in _whole(("", parts[0], one) for one in value[-_MOST:]))
    elif of is tuple and isinstance(value, list | tuple):
        found = tuple(typed(part, one) for part, one in zip(parts, value, strict=True))
    elif of is Mapping and isinstance(value, Mapping):
        members = ((str(name), parts[1], one) for name, one in [*value.items()][-_MOST:])
        found = dict(_whole(members, each=get_origin(parts[1]) is not UnionType))
    elif kind is datetime:
        found = datetime.fromisoformat(str(value)).astimezone(UTC)
    elif kind is float and type(value) in {int, float} and abs(value) <= sys.float_info.max:
        found = float(value)
    elif kind is not object and (kind is float or type(value) not in (parts if of is UnionType else (kind,))):
        raise ValueError("it is of another type")
    return found[:_LONGEST] if isinstance(found, str) else found


def _whole(values: Iterable[tuple[str, Any, Any]], *, each: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of those that are of their types.

    Args:
        each: counts alone; a configuration without one of its values would be another one.

    Raises:
        ValueError, OverflowError: one is of another type, where not each counts alone.
    """
    for name, kind, value in values:
        with suppress(*((ValueError, OverflowError) if each else ())):
            yield name, typed(kind, value)


_hints = cache(get_type_hints)
