"""Figures of large studies keep what a reader looks for."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as some

from results.report.model import Figure, Matrix, Series
from results.report.thinning import MOST, thinned


def shown(series: Series) -> Series:
    figure = thinned(Figure("a figure", "x", "y", (series,)))
    assert isinstance(figure, Figure)
    (found,) = figure.series
    return found


RATES = some.lists(some.floats(1, 100), min_size=2, max_size=20).map(lambda few: tuple(few * (6_000 // len(few))))


@given(RATES)
def test_the_fastest_the_slowest_and_the_ends_stay(rates: tuple[float, ...]) -> None:
    found = shown(Series("runs", tuple(range(len(rates))), rates))
    assert len(found.x) <= MOST + 3
    assert {max(rates), min(rates), rates[0], rates[-1]} <= set(found.y)
    assert found.name == "runs (1 of 4)"


@given(RATES)
def test_a_line_that_rises_now_and_then_keeps_its_corners(rates: tuple[float, ...]) -> None:
    best = tuple(accumulate((round(rate) for rate in rates), max))
    found = shown(Series("best so far", tuple(range(len(best))), best, line=True))
    assert found.name == "best so far"
    assert dict.fromkeys(found.y) == dict.fromkeys(best)
    for value in set(best):
        assert best.index(value) in found.x


def test_intervals_and_labels_stay_with_their_points() -> None:
    x = tuple(range(4_000))
    found = shown(
        Series("runs", x, x, tuple(map(str, x)), low=tuple(-one for one in x), high=tuple(2 * one for one in x))
    )
    assert found.labels == tuple(map(str, found.x))
    assert (found.low, found.high) == (tuple(-one for one in found.y), tuple(2 * one for one in found.y))


def test_a_small_figure_is_not_touched() -> None:
    series = Series("runs", tuple(range(MOST)), tuple(range(MOST)))
    assert shown(series) is series


def test_a_heat_map_is_not_touched() -> None:
    matrix = Matrix("pairs", "grid", "NB", ("1x2",), ("64",), ((1.0,),), "%")
    assert thinned(matrix) is matrix
