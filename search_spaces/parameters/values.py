"""Reads values as people write them: in TOML, and as texts after `--set`."""

from collections.abc import Mapping
from typing import Any

from hpl.params import Scalar

from ..errors import SpaceError
from .dimension import FREE, MPI, Settings, dimension
from .parameter import integers

RANGE_KEYS = ("low", "high", "step", "log")


def values(entry: Any) -> tuple[Scalar, ...]:
    """Return the values of a TOML entry: a single value, a list, or a range.

    Raises:
        SpaceError: the entry is none of these.
    """
    if isinstance(entry, dict):
        return _range(entry)
    listed = entry if isinstance(entry, list) else [entry]
    for value in listed:
        if not isinstance(value, Scalar):
            raise SpaceError(f"expected texts or numbers, not {value}")
    return tuple(listed)


def converted(name: str, text: str, settings: Settings | None = None) -> Scalar:
    """Convert a text to a value of the parameter; unknown settings keep their digits as written.

    Raises:
        SpaceError: there is no such parameter.
    """
    known = dimension(name, settings)
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if known.accepts(value) and (known not in (FREE, MPI) or str(value) == text):
            return value
    return text


def _range(entry: Mapping[str, Any]) -> tuple[int, ...]:
    unknown = [key for key in entry if key not in RANGE_KEYS]
    if unknown or "low" not in entry or "high" not in entry:
        raise SpaceError(f"expected a value, a list, or a table with low and high (step, log), not {dict(entry)}")
    low, high, step, log = entry["low"], entry["high"], entry.get("step", 1), entry.get("log", False)
    if any(isinstance(bound, bool) or not isinstance(bound, int) for bound in (low, high, step)):
        raise SpaceError("low, high and step must be whole numbers")
    if not isinstance(log, bool):
        raise SpaceError(f"log must be true or false, not {log}")
    if log and "step" in entry:
        raise SpaceError("log = true doubles each value, so a step beside it has no meaning: keep one of them")
    return integers(low, high, step, log=log)
