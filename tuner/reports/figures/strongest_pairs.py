"""The pairs of parameters that depend on each other most, as heat maps."""

from results.report.model import Matrix

from ...errors import TunerError
from ...explain.pairs import Crossing
from ...explain.taught_study import TaughtStudy
from ..pairs import crossing_matrix, upright

MOST = 2
"""Pairs that a page shows."""


def strongest_pairs(taught: TaughtStudy, count: int = MOST) -> list[Matrix]:
    """Draw the strongest pairs, the strongest first; none where no two parameters depend on each other."""
    try:
        crossings = taught.strongest(count)
    except TunerError:
        return []
    return [_heat_map(upright(crossing)) for crossing in crossings]


def _heat_map(crossing: Crossing) -> Matrix:
    title = f"{crossing.one} by {crossing.other}: behind the best, all else at its best"
    return crossing_matrix(title, crossing)
