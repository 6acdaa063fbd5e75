"""One cheap run of the same configuration every so often: whether the machine is still the one it was."""

import math
from dataclasses import dataclass, field
from statistics import median

from .engines.fidelity import FULL, Question

EVERY = 10
"""Search trials from one anchor to the next."""
DRIFT = 0.05
"""Part by which a machine must have changed to be worth a sentence; more where its anchors differ by themselves."""
BEYOND = 3.0
"""Times the distance between the anchors before, which a change must exceed."""
FEWEST = 2


@dataclass
class Anchors:
    """The first cheap question of a study, asked again; a study whose engine knows only full runs has none.

    Attributes:
        soon: ask it before anything else, as at the beginning of a later session.
    """

    soon: bool = False
    _question: Question | None = None
    _rates: list[float] = field(default_factory=list)
    _since: int = 0
    _told: float = 0.0

    def due(self) -> Question | None:
        """The anchor, when it is time for it again."""
        if self._question is None or not (self.soon or self._since >= EVERY):
            return None
        return self._question

    def note(self, question: Question, gflops: float | None) -> str | None:
        """Take in a trial; the sentence to tell the user where the machine has changed, or None."""
        if question.rung == FULL:
            self._since += 1
            return None
        if self._question is None and gflops is not None:
            self._question, self._rates, self._since = question, [gflops], 0
            return None
        if question != self._question:
            self._since += 1
            return None
        self._since, self.soon = 0, False
        if gflops is None:
            return None
        change = math.log(gflops / median(self._rates))
        apart = math.log(max(self._rates) / min(self._rates))
        known = len(self._rates) >= FEWEST
        self._rates.append(gflops)
        if not known or abs(change - self._told) < max(DRIFT, BEYOND * apart):
            return None
        self._told = change
        faster = "faster" if change > 0 else "slower"
        return (
            f"The machine is {abs(math.expm1(change)):.0%} {faster} than before: the same small run gave "
            f"{gflops:.4g} GFLOPS. What else runs here?"
        )
