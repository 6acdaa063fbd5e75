"""The engine that was told all trials of a study, and what can be asked of it."""

from collections.abc import Callable, Sequence
from functools import cached_property

from results.record import TrialRecord
from search_spaces.space import SearchSpace

from ..engines.model.fitting import Fitting
from ..engines.model.pool import Pool
from ..engines.probes import Probes
from .explanation import Explanation, described, explained, taught
from .pairs import Crossing, Names, crossed
from .variance import Pair

LEAST_SHARE = 0.002
"""Pairs below this share of the variance, or below its own uncertainty, are not worth a line."""


class TaughtStudy:
    """Teaches the engine a study once, and asks it for all that the study learnt.

    Attributes:
        space: of the study.
    """

    def __init__(
        self,
        space: SearchSpace,
        records: Sequence[TrialRecord],
        probes: Probes | None = None,
        fit: Callable[[Pool], Fitting] = Fitting,
        shown: float = 0.0,
    ) -> None:
        """Tell the engine the trials.

        Args:
            probes: what is known of the real or virtual machine that the study ran on, beside its runs.
            fit: makes what describes the runs over a pool of configurations.
            shown: noise of the machine from other runs, as in `noise_of`.

        Raises:
            TunerError: too few trials of this space gave a rate, or nothing varies.
        """
        self.space = space
        self._records = records
        self._engine, self._rated = taught(space, records, probes, fit, shown)

    @cached_property
    def explanation(self) -> Explanation:
        """What each parameter does, and each two together.

        Raises:
            TunerError: no model describes the rates.
        """
        with described():
            return explained(self._engine, self._records, self._rated)

    def crossing(self, names: Names) -> Crossing:
        """Cross two parameters that vary.

        Raises:
            TunerError: no model describes the rates.
        """
        together = self.explanation.together(*names)
        with described():
            return crossed(self._engine, self._rated, names, together)

    def strongest(self, count: int) -> list[Crossing]:
        """Cross so many pairs that explain most only together; fewer where fewer are worth a line.

        Raises:
            TunerError: no model describes the rates.
        """
        return [self.crossing((pair.one, pair.other)) for pair in telling_pairs(self.explanation.pairs)[:count]]


def telling_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs whose share is more than nothing and more than its own uncertainty."""
    return [pair for pair in pairs if pair.share >= max(LEAST_SHARE, pair.sd)]
