"""A parameter of a space with its values, which may depend on another parameter."""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass

from hpl.params import Scalar

from ..errors import SpaceError
from .dimension import Dimension, Point, dimension, shown

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
                raise SpaceError(f"{self.name} = {shown(value)}: expected {known.expected}")
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
