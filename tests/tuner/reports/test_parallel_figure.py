"""All configurations as lines across axes of their parameters."""

import pytest

from results.report.drawing import thinned
from results.report.html import to_html
from results.report.model import Report
from results.stats.ranking import Ranked
from tuner.reports.figures.parallel import COLOURED, ROOM, parallel


def configuration(place: int, **params: str | int) -> Ranked:
    return Ranked(str(place), params, (100.0 - place,), place)


RANKING = [
    configuration(place, NB=NB, grid=grid, blas="openblas")
    for place, (NB, grid) in enumerate([(192, "2x4"), (64, "10x1"), (128, "2x4"), (192, "1x8"), (64, "1x8")], start=1)
]


def test_a_line_crosses_each_axis_at_its_value_and_ends_at_its_rate() -> None:
    drawn = parallel(RANKING)
    assert drawn is not None
    first, second, third, others = drawn.series
    assert first.x == ("grid", "NB", "GFLOPS")
    assert first.y == (0.5, 1.0, 1.0)
    assert first.labels == ("2x4", "192", "99.00")
    assert (second.y[0], second.y[1], third.y[1]) == (1.0, 0.0, 0.5)
    assert (others.name, others.behind) == ("nos. 4 to 5", True)
    assert others.y == (0.0, 1.0, 0.25, 0.0, 0.0, 0.0), "the second one goes back"


def test_there_is_none_where_the_ranking_shows_all_of_it() -> None:
    assert parallel(RANKING[:COLOURED]) is None
    assert parallel([configuration(place, NB=64 * place) for place in range(1, 9)]) is None


def test_parameters_without_room_are_named() -> None:
    names = [f"parameter_{number}" for number in range(8)]
    ranking = [configuration(place, **dict.fromkeys(names, place)) for place in range(1, 6)]
    drawn = parallel(ranking)
    assert drawn is not None
    assert len(" ".join(map(str, drawn.series[0].x))) < ROOM
    assert "Left out for want of room: parameter_3," in drawn.caption


@pytest.mark.heavy
def test_it_is_drawn_with_values_that_a_page_shows() -> None:
    drawn = parallel(RANKING)
    assert drawn is not None
    page = to_html([Report("report", (thinned(drawn),))])
    assert "no. 2, 10x1, grid" in page
    assert "NaN" not in page
