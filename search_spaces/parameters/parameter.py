"""A parameter of a space with its values, which may depend on another parameter, and how people write values."""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Any

from hpl.params import Scalar

from ..errors import SpaceError
from .dimension import FREE, MPI, Dimension, Point, Settings, dimension, shown

RANGE_KEYS = ("low", "high", "step", "log")
MOST_VALUES = 10_000
"""A range with more values is a mistake, and its list would fill the memory."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a space: a name with its values in the order in which they are tried.

    Attributes:
        values: the legal values; with `by` those of every case.
        by: the parameter on which the values depend, or None.
        cases: with `by`: the legal values for each value of it; without values the parameter is absent.
        known: what is known of the parameter; None looks it up.

    Raises:
        SpaceError: there is no value, a value is repeated, or the dimension does not accept a value.
    """

    name: str
    values: tuple[Scalar, ...]
    by: str | None = None
    cases: Mapping[Scalar, tuple[Scalar, ...]] | None = None
    known: InitVar[Dimension | None] = None

    def __post_init__(self, known: Dimension | None) -> None:
        known = known or dimension(self.name)
        if not self.values:
            raise SpaceError(f"{self.name} has no value: expected {known.expected}")
        for value in self.values:
            if not known.accepts(value):
                raise SpaceError(f"{self.name} = {shown(value)}: {known.instead_of(value)}")
        if len(set(self.values)) < len(self.values):
            raise SpaceError(f"{self.name} names a value twice")

    @classmethod
    def depending(
        cls, name: str, by: str, cases: Mapping[Scalar, tuple[Scalar, ...]], known: Dimension | None = None
    ) -> "Parameter":
        """Make a parameter whose values depend on another's."""
        values = tuple(dict.fromkeys(value for case in cases.values() for value in case))
        return cls(name, values, by, dict(cases), known)

    def values_in(self, point: Point) -> tuple[Scalar, ...]:
        """Return the legal values in a point; empty if the parameter is absent there."""
        if self.by is None or self.cases is None:
            return self.values
        return self.cases[point[self.by]] if point.get(self.by) in self.cases else ()

    def why_not(self, point: Point) -> str | None:
        """Return the fault of a point's value, or None; it may be absent where no value is legal."""
        if self.by is not None and self.by not in point and self.name in point:
            return f"it depends on {self.by}, which the point does not give"
        legal = self.values_in(point)
        listed = ", ".join(map(str, legal))
        if self.name not in point:
            return f"no value is given; valid are {listed}" if legal else None
        if point[self.name] in legal:
            return None
        if self.by is not None:
            return f"{point[self.name]} does not go with {self.by} = {point[self.by]} ({listed or 'none'})"
        return f"{point[self.name]} is not among {listed}"


def integers(low: int, high: int, step: int = 1, *, log: bool = False) -> tuple[int, ...]:
    """List the whole numbers of a range, both ends included; with `log` each is twice the one before.

    Raises:
        SpaceError: the range is empty, the step is below 1, or there are more than MOST_VALUES values.
    """
    if low > high or step < 1 or (log and low < 1):
        raise SpaceError(f"the range from {low} to {high} in steps of {step} is empty")
    if not log and (high - low) // step >= MOST_VALUES:
        raise SpaceError(f"the range from {low} to {high} in steps of {step} has more than {MOST_VALUES} values")
    if not log:
        return tuple(range(low, high + 1, step))
    powers = [low]
    while powers[-1] * 2 <= high:
        powers.append(powers[-1] * 2)
    return tuple(powers)


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
