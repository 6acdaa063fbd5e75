"""One cheap run of the same configuration every so often, the anchor, tells whether the machine has changed.

A single one may be a run that was disturbed, so a change is told when the next one, which runs soon, shows it too.
Full runs of a configuration do so too: `reference_runs.py`.
"""

import math
from dataclasses import dataclass, field
from statistics import fmean

from results.record import TrialRecord
from results.stats.intervals import prediction_margin
from results.stats.levels import got_words

from ...engines.outcomes import FULL, Question
from ...trial.ladder import outcome_of
from .reference_runs import ReferenceRuns

EVERY = 10
"""Search trials between two anchor runs."""
DRIFT = 0.05
"""Part by which a machine must have changed to be worth a sentence; more where its anchor runs differ by themselves."""
CERTAINTY = 0.995
"""One-sided confidence of the test: an unchanged machine crosses each bound in 0.5 % of its anchor runs."""
USUAL_SD = 0.03
"""Relative standard deviation of the anchor runs of an unchanged machine, as long as few of them were seen."""
FEWEST = 2
BASE = 4
"""Anchor runs with which later ones are compared: the first, so that a steady decline is not taken for noise."""


@dataclass
class DriftMonitor:
    """Asks the first cheap question of a study again; a study whose engine knows only full runs has none.

    Attributes:
        soon: ask it before anything else, as at the beginning of a later session.
        noise_at_first: what the machine has shown of the noise of runs.
        reference: the full runs of one configuration; None where they are not wanted, or would tell nothing.
    """

    soon: bool = False
    noise_at_first: float = 0.0
    reference: ReferenceRuns | None = None
    _question: Question | None = None
    _rates: list[float] = field(default_factory=list)
    _since: int = 0
    _told: float = 0.0
    _suspected: tuple[float, ...] = ()
    _most: float = 0.0

    @property
    def moved(self) -> float:
        """The largest relative change of the machine that was told; below 0 for slower."""
        return math.expm1(self._most)

    def due(self) -> Question | None:
        """The question of the anchor, when it is time to run it again; None else."""
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
        """The sentence to tell where one more anchor run shows a change that the one before it showed too."""
        base = [math.log(rate) for rate in self._rates[:BASE]]
        usual_sd = max(USUAL_SD, self.noise_at_first)
        change, noticeable = math.log(gflops) - fmean(base), max(DRIFT, prediction_margin(base, usual_sd, CERTAINTY))
        if len(base) < FEWEST or abs(change - self._told) < noticeable:
            self._rates += [*map(math.exp, self._suspected), gflops]
            self._suspected = ()
            return None
        before, self._suspected = self._suspected, (math.log(gflops),)
        agreed = [one for rate in before if (one := rate - fmean(base) - self._told) * (change - self._told) > 0]
        if not agreed:
            self._rates += map(math.exp, before)
            self.soon = True
            return None
        self._suspected = ()
        self._told += min(agreed[0], change - self._told, key=abs)
        self._most = max((self._most, self._told), key=abs)
        runs = f"the same small run gave {math.exp(before[0]):.4g} and then {gflops:.4g} GFLOPS"
        if abs(self._told) < noticeable:
            return f"The machine is back at its first speed: {runs}."
        return f"The machine got {got_words(math.expm1(self._told))}: {runs}. What else runs here?"


def anchor_rate(record: TrialRecord) -> float | None:
    """The rate of a small run; None where it failed, was disturbed, or was so short that HPL's clock cannot tell it."""
    return None if record.too_short or record.disturbed else outcome_of(record).gflops
