"""How much of a full run a trial measures."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hpl.params import Scalar


class Fidelity(StrEnum):
    """SMALL: a whole run at a smaller N. PREFIX: the first columns at the true N. FULL: the run that counts.

    EARLIER: a run of another study or machine, which is only told, never asked.
    """

    EARLIER = "earlier"
    SMALL = "small"
    PREFIX = "prefix"
    FULL = "full"


@dataclass(frozen=True)
class Rung:
    """One step of the ladder from cheap hints to the run that counts.

    Attributes:
        part: of N for a small run, of the columns for a prefix run, above 0 and at most 1; of an earlier run the
            number of its source.
    """

    fidelity: Fidelity
    part: float = 1.0

    @property
    def operations(self) -> float:
        """Part of a full run's operations: they grow as N^3, and after f of the columns 1 - (1 - f)^3 are done."""
        if self.fidelity is Fidelity.EARLIER:
            return 0.0
        if self.fidelity is Fidelity.SMALL:
            return self.part**3
        return 1.0 - (1.0 - self.part) ** 3 if self.fidelity is Fidelity.PREFIX else 1.0

    @property
    def size(self) -> float:
        """The part of N it runs at."""
        return self.part if self.fidelity is Fidelity.SMALL else 1.0


FULL = Rung(Fidelity.FULL)
Ladder = Sequence[Rung]


@dataclass(frozen=True)
class Question:
    """A point to measure, and how much of a full run to spend on it."""

    params: dict[str, Scalar]
    rung: Rung = FULL
