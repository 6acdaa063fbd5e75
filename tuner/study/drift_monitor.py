"""One cheap run of the same configuration every so often: whether the machine is still the one it was."""

import math
from dataclasses import dataclass, field
from statistics import fmean

from results.stats.prediction_margin import prediction_margin

from ..engines.fidelity import FULL, Question

EVERY = 10
"""Search trials from one anchor to the next."""
DRIFT = 0.05
"""Part by which a machine must have changed to be worth a sentence; more where its anchors differ by themselves."""
CERTAINTY = 0.995
"""Probability with which an anchor of an unchanged machine is not below, and with which it is not above, all that."""
USUAL_SD = 0.03
"""By how much the anchors of an unchanged machine differ, as a relative standard deviation, before it is seen."""
FEWEST = 2
BASE = 4
"""Anchors that later ones are held against: the first, so that a steady decline is not taken for noise."""


@dataclass
class DriftMonitor:
    """The first cheap question of a study, asked again; a study whose engine knows only full runs has none.

    Attributes:
        soon: ask it before anything else, as at the beginning of a later session.
        noise_at_first: what the machine has shown of the noise of runs.
    """

    soon: bool = False
    noise_at_first: float = 0.0
    _question: Question | None = None
    _rates: list[float] = field(default_factory=list)
    _since: int = 0
    _told: float = 0.0

    def due(self) -> Question | None:
        """The anchor, when it is time for it again; it is taken to be asked then."""
        if self._question is None or not (self.soon or self._since >= EVERY):
            return None
        self._since, self.soon = 0, False
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
        return None if gflops is None else self._changed(gflops)

    def _changed(self, gflops: float) -> str | None:
        """The sentence to tell where one more anchor shows that the machine has changed."""
        base = [math.log(rate) for rate in self._rates[:BASE]]
        self._rates.append(gflops)
        usual_sd = max(USUAL_SD, self.noise_at_first)
        change, noticeable = math.log(gflops) - fmean(base), max(DRIFT, prediction_margin(base, usual_sd, CERTAINTY))
        if len(base) < FEWEST or abs(change - self._told) < noticeable:
            return None
        self._told = change
        if abs(change) < noticeable:
            return f"The machine is back at its first speed: the same small run gave {gflops:.4g} GFLOPS."
        faster = "faster" if change > 0 else "slower"
        return (
            f"The machine is {abs(math.expm1(change)):.0%} {faster} than before: the same small run gave "
            f"{gflops:.4g} GFLOPS. What else runs here?"
        )
