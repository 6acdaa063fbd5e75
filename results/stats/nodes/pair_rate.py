"""The rate of messages between two nodes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PairRate:
    """The rate of one pair in one pattern.

    Attributes:
        rate: of large messages back and forth, in any unit, the same for all; above 0 if it counts.
        network: the name of the interface through which they went; "" where there is one.
        latency_us: half a round trip of a small message; None where nobody asked.
        there, back: rate from the one to the other, and from the other to the one; None where nobody asked.
        problem: why there is no rate; "" if there is.
    """

    pattern: str
    one: str
    other: str
    rate: float
    network: str = ""
    latency_us: float | None = None
    there: float | None = None
    back: float | None = None
    problem: str = ""

    @property
    def counts(self) -> bool:
        """Return whether messages passed, and arrived as they were sent."""
        return not self.problem
