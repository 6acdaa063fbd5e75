"""A model that describes the first runs and no more."""

from collections.abc import Sequence

from tuner.engines.model.covariance import FitError
from tuner.engines.model.fitting import Fitting
from tuner.engines.model.pool import Pool
from tuner.engines.model.process import Process
from tuner.engines.outcomes import Rung


class BrokenFitting(Fitting):
    """Describes fewer than `first` runs, and fails with a reason from then on."""

    def __init__(self, pool: Pool, first: int = 0) -> None:
        super().__init__(pool)
        self._first = first

    def process(self, rungs: Sequence[Rung]) -> tuple[Process, list[Rung]]:
        if len(self.runs) >= self._first:
            raise FitError("not positive")
        return super().process(rungs)
