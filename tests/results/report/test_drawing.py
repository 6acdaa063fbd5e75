"""Figures drawn with matplotlib: what is seen is what the data says."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from results.report.drawing import STYLE, draw, height_inches, luminance
from results.report.model import Figure, Matrix, Series

READABLE = 4.5
"""Contrast of text that WCAG's level AA asks for."""
NAMES = ("openblas SkylakeX", "blis zen3", "mkl avx512", "atlas")


@pytest.fixture
def axes() -> Iterator[Axes]:
    with rc_context(STYLE):  # type: ignore[arg-type]
        yield Canvas().subplots()


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_numbers_in_a_heat_map_are_readable_on_their_cells(axes: Axes) -> None:
    row = tuple(-float(number) for number in range(12))
    draw(Matrix("pair", "NB", "grid", tuple(map(str, range(12))), ("1x2",), (row,), "%"), axes)
    papers = axes.collections[0].to_rgba(np.array(row))
    assert len(axes.texts) == 12
    for text, paper in zip(axes.texts, papers, strict=True):
        assert contrast(to_rgb(text.get_color()), paper) >= READABLE


def test_a_pair_that_is_not_legal_has_an_empty_cell(axes: Axes) -> None:
    marks = draw(Matrix("pair", "NB", "grid", ("64", "128"), ("1x2",), ((-2.0, None),), "%"), axes)
    assert [text.get_text() for text in axes.texts] == ["-2"]
    assert [mark.text for mark in marks] == ["grid 1x2, NB 64: -2 %"]


def test_a_cell_tells_its_note_too(axes: Axes) -> None:
    [mark] = draw(Matrix("pair", "NB", "grid", ("64",), ("1x2",), ((-2.0,),), "%", (("± 1.0, not run",),)), axes)
    assert mark.text == "grid 1x2, NB 64: -2 % (± 1.0, not run)"


def test_series_that_share_no_name_lie_below_each_other_and_not_side_by_side(axes: Axes) -> None:
    series = tuple(Series(name, (f"{name} 1", f"{name} 2"), (0.0, 3.0)) for name in ("NB", "DEPTH"))
    draw(Figure("values", "value", "%", series, lying=True), axes)
    assert {round(bar.get_height(), 3) for bar in axes.patches} == {0.8}  # type: ignore[attr-defined]
    middles = [bar.get_y() + bar.get_height() / 2 for bar in axes.patches if isinstance(bar, Rectangle)]
    assert middles == pytest.approx([0, 1, 2, 3])
    assert not any(bar.get_hatch() for bar in axes.patches)


def test_a_heat_map_of_many_values_has_a_scale_instead_of_numbers(axes: Axes) -> None:
    row = tuple(map(float, range(40)))
    marks = draw(Matrix("pair", "NB", "grid", tuple(map(str, range(40))), ("1x2",), (row,), "%"), axes)
    assert (len(axes.texts), len(marks)) == (0, 40)


def test_long_names_have_lying_bars_with_a_line_for_each(axes: Axes) -> None:
    figure = Figure("libraries", "library", "GFLOPS", (Series("best", NAMES, (4.0, 3.0, 2.0, 1.0)),))
    marks = draw(figure, axes)
    assert [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)] == [4.0, 3.0, 2.0, 1.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(NAMES)
    assert marks[0].text == "openblas SkylakeX: GFLOPS 4"


def test_several_runs_of_one_name_are_points_and_not_bars(axes: Axes) -> None:
    draw(Figure("sides", "side", "GFLOPS", (Series("runs", ("old", "old"), (4.0, 5.0)),)), axes)
    assert (len(axes.patches), len(axes.lines)) == (0, 1)


def test_a_single_run_of_a_side_is_a_point_like_those_of_a_side_with_several(axes: Axes) -> None:
    sides = (Series("old", ("old", "old"), (4.0, 5.0), points=True), Series("new", ("new",), (6.0,), points=True))
    draw(Figure("sides", "side", "GFLOPS", sides), axes)
    assert (len(axes.patches), len(axes.lines)) == (0, 2)
    assert axes.get_xlim() == (-0.5, 1.5), "no side stands at the edge"


def test_bars_of_series_with_names_of_their_own_stand_on_their_names(axes: Axes) -> None:
    draw(Figure("sides", "side", "GFLOPS", (Series("old", ("old",), (4.0,)), Series("new", ("new",), (6.0,)))), axes)
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches if isinstance(bar, Rectangle)]
    assert middles == pytest.approx([0, 1])


def test_above_the_highest_point_of_an_axis_from_zero_there_is_room(axes: Axes) -> None:
    runs = Series("runs", (1.0, 2.0), (15.3, 15.1))
    draw(
        Figure("best", "rank", "GFLOPS", (Series("expected", (1.0,), (15.3,), dashes=True), runs), from_zero=True), axes
    )
    assert axes.get_ylim()[0] == 0.0
    assert axes.get_ylim()[1] > 1.04 * 15.3


def test_an_interval_is_drawn_and_told(axes: Axes) -> None:
    figure = Figure("shares", "parameter", "%", (Series("alone", ("NB",), (30.0,), low=(25.0,), high=(40.0,)),))
    [mark] = draw(figure, axes)
    assert mark.text == "NB: % 30 (25 to 40)"
    [whisker] = axes.collections[0].get_segments()  # type: ignore[attr-defined]
    assert [tuple(end) for end in whisker] == [(0.0, 25.0), (0.0, 40.0)]


def test_bars_lie_where_that_is_asked_and_what_has_no_interval_says_none(axes: Axes) -> None:
    bars = Series("best", ("a", "b"), (30.0, 20.0), low=(25.0, math.nan), high=(40.0, math.nan))
    marks = draw(Figure("libraries", "BLAS", "GFLOPS", (bars,), lying=True), axes)
    assert [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)] == [30.0, 20.0]
    assert [mark.text for mark in marks] == ["a: GFLOPS 30 (25 to 40)", "b: GFLOPS 20"]


def test_numbers_on_logarithmic_axes_are_plain_text(axes: Axes) -> None:
    points = Series("times", (8.0, 1024.0, 2.0**22), (0.5, 2.0, 1500.0))
    draw(Figure("messages", "bytes", "µs", (points,), x_log=True, y_log=True), axes)
    axes.figure.canvas.draw()
    shown = [[label.get_text() for label in axis.get_ticklabels()] for axis in (axes.xaxis, axes.yaxis)]
    assert {"8", "4 Ki", "2 Mi"} <= set(shown[0])
    assert {"1", "10", "100", "1,000"} <= set(shown[1])


def test_a_curve_that_nobody_measured_has_no_markers(axes: Axes) -> None:
    draw(Figure("fit", "N", "GFLOPS", (Series("fitted", (1.0, 2.0), (1.0, 2.0), line=True, bare=True),)), axes)
    assert axes.lines[0].get_marker() == ""


def test_dollar_signs_are_not_formulas(axes: Axes) -> None:
    draw(Figure("prices", "$ or $", "GFLOPS", (Series("$_1$", (1.0,), (2.0,)), Series("b", (1.0,), (2.0,)))), axes)
    axes.figure.canvas.draw()
    assert not axes.xaxis.label.get_parse_math()


def test_more_rows_make_a_figure_higher() -> None:
    rows = tuple(map(str, range(20)))
    tall = Matrix("pair", "NB", "grid", ("64",), rows, ((0.0,),) * 20, "%")
    assert height_inches(tall) > height_inches(Figure("", "", "", ()))


def test_a_series_whose_lists_differ_in_length_is_refused() -> None:
    with pytest.raises(ValueError, match="'runs' has lists of different lengths"):
        Series("runs", (1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match="different lengths"):
        Series("runs", (1.0,), (1.0,), low=(0.5,))


def test_stacked_bars_stand_on_each_other_and_tell_where_they_end(axes: Axes) -> None:
    one, two = Series("one", ("1", "2"), (1.0, 2.0)), Series("two", ("1", "2"), (3.0, 4.0))
    marks = draw(Figure("parts", "nodes", "%", (one, two), stacked=True), axes)
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches if isinstance(bar, Rectangle)] == [
        (0, 1),
        (0, 2),
        (1, 3),
        (2, 4),
    ]
    assert [mark.y for mark in marks] == [1, 2, 4, 6]
    assert marks[2].text == "two, 1: % 3"
