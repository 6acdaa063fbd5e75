"""All configurations as lines across axes of their parameters."""

import pytest
from golden import hold_scene, told

from results.report.html import Frame, to_html
from results.report.model import Report
from results.report.thinning import thinned
from results.stats.ranking import Ranked
from tuner.reports.figures.parallel import COLOURED, parallel


def configuration(place: int, **params: str | int) -> Ranked:
    return Ranked(str(place), params, (100.0 - place,), place)


RANKING = [
    configuration(place, NB=NB, grid=grid, blas="openblas")
    for place, (NB, grid) in enumerate([(192, "2x4"), (64, "10x1"), (128, "2x4"), (192, "1x8"), (64, "1x8")], start=1)
]


def test_there_is_none_where_the_ranking_shows_all_of_it() -> None:
    assert parallel(RANKING[:COLOURED]) is None
    assert parallel([configuration(place, NB=64 * place) for place in range(1, 9)]) is None


NAMES = [f"parameter_{number}" for number in range(8)]
SCENES = {
    "a line crosses each axis at its value and ends at its rate": RANKING,
    "parameters without room are named": [configuration(place, **dict.fromkeys(NAMES, place)) for place in range(1, 6)],
}


@pytest.mark.parametrize("scene", SCENES)
def test_lines_across_axes_are_what_they_were(request: pytest.FixtureRequest, scene: str) -> None:
    drawn = parallel(SCENES[scene])
    assert drawn is not None
    hold_scene(request, "parallel", SCENES, scene, told(Report("", (drawn,))))


@pytest.mark.heavy
def test_it_is_drawn_with_values_that_a_page_shows() -> None:
    drawn = parallel(RANKING)
    assert drawn is not None
    page = to_html([Report("report", (thinned(drawn),))], frame=Frame(vega="/assets/vega.js"))
    assert '"label":"10x1"' in page
    assert "NaN" not in page
