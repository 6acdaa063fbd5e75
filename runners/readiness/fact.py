"""A fact of a node: how it is asked, how a person can see it, and how its values are compared."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

UNREADABLE = "not readable"
"""How the values of facts begin that a node could not tell as a figure."""
_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)(?:\s*[^\d±]*±\s*(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class SameText:
    """How the values of a fact are compared; by itself it says that all should be the same text.

    Attributes:
        must: that text, whatever other nodes say; "" for that of the majority.
    """

    must: str = field(default="", kw_only=True)

    def usual(self, values: Sequence[str]) -> str | None:
        """Return the value of the majority in words, or what every value must be; None where there is no majority."""
        often = self.must or max(sorted(set(values)), key=values.count, default="")
        return often if self.must or 2 * values.count(often) > len(values) else None

    def fits(self, value: str, usual: str) -> bool:
        """Return whether a value is as usual."""
        return value == usual


@dataclass(frozen=True)
class NearNumber(SameText):
    """All values should be the same number, up to a tolerance.

    Attributes:
        percent: of the usual value that is tolerated.
    """

    percent: float

    def usual(self, values: Sequence[str]) -> str | None:
        """Return the value in the middle, if more than half of the nodes are near it."""
        middle = median(number(value) for value in values)
        often = min(values, key=lambda value: (abs(number(value) - middle), value))
        return often if 2 * sum(self.fits(value, often) for value in values) > len(values) else None

    def fits(self, value: str, usual: str) -> bool:
        """Return whether the numbers are near each other."""
        return abs(number(value) - number(usual)) <= 0.01 * self.percent * abs(number(usual))


@dataclass(frozen=True)
class Within(SameText):
    """No value should be above or below a limit, whatever others say; what it is uncertain by (±) is allowed for."""

    most: float = math.inf
    unit: str = ""
    least: float = -math.inf

    def usual(self, values: Sequence[str]) -> str | None:  # noqa: ARG002 - the contract's
        """Return the limit in words."""
        return (
            f"{f'at most {self.most:g}' if self.most < math.inf else f'at least {self.least:g}'} {self.unit}".rstrip()
        )

    def fits(self, value: str, usual: str) -> bool:  # noqa: ARG002 - the contract's
        """Return whether the value without its sign and its uncertainty is within the limits."""
        return not value.startswith(UNREADABLE) and self.least <= abs(number(value)) - uncertainty(value) <= self.most


@dataclass(frozen=True)
class OfTheMoment(SameText):
    """A value changes from second to second: none is odd, and none is held against that of an earlier check."""

    def usual(self, values: Sequence[str]) -> str | None:  # noqa: ARG002 - the contract's
        """Return words that nobody reads, since every value fits."""
        return "any"

    def fits(self, value: str, usual: str) -> bool:  # noqa: ARG002 - the contract's
        """Return that it does."""
        return True


@dataclass(frozen=True)
class NodeFact:
    """A fact of a node.

    Attributes:
        name: in the store and in files for scripts.
        title: in words.
        shell: commands for a POSIX shell that print the value; several lines become one; nothing where it is unknown.
        show: the command that shows the same to a person.
        kind: how the values of nodes are compared.
    """

    name: str
    title: str
    shell: str
    show: str
    kind: SameText = SameText()


def number(value: str) -> float:
    """Return the number at the beginning of a value; 0 where there is none."""
    match = _NUMBER.match(value)
    return float(match[1]) if match else 0.0


def uncertainty(value: str) -> float:
    """Return what follows the sign ± in a value; 0 where nothing does."""
    match = _NUMBER.match(value)
    return float(match[2]) if match and match[2] else 0.0
