"""Figures as Vega-Lite specifications: what is seen is what the data says."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from page_visit import READABLE, luminance

from results.errors import ResultsError
from results.report import html
from results.report.html import drawing, script_file, to_html
from results.report.model import Drawable, Figure, Matrix, Report, Series, Timeline
from results.report.picture import PictureSize, picture
from results.report.vega import DEEP, PALE, SCHEMA, specification

NAMES = ("openblas SkylakeX", "blis zen3", "mkl avx512", "atlas", "a library with a name that is rather long")
TIME = "seconds since the solve began"


def layers(figure: Figure | Matrix, mark: str) -> list[dict[str, Any]]:
    return [layer for layer in specification(figure)["layer"] if layer["mark"]["type"] == mark]


def values(figure: Drawable) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = specification(figure)["data"]["values"]
    return found


def matrix(*row: float | None, **more: Any) -> Matrix:
    return Matrix("pair", "NB", "grid", tuple(map(str, range(len(row)))), ("1x2",), (row,), "%", **more)


def contrast(one: float, other: float) -> float:
    darker, lighter = sorted((one, other))
    return (lighter + 0.05) / (darker + 0.05)


def test_numbers_in_a_heat_map_are_readable_on_their_cells() -> None:
    figure = matrix(*(-float(number) for number in range(12)))
    [words], [cells] = layers(figure, "text"), layers(figure, "rect")
    low, high = cells["encoding"]["color"]["scale"]["domain"]
    white_above = float(words["encoding"]["color"]["condition"]["test"].rpartition(" ")[2])
    for row in values(figure):
        part = (row["value"] - low) / (high - low)
        cell = [round(one + part * (other - one)) for one, other in zip(PALE, DEEP, strict=True)]
        paper = luminance(f"rgb{tuple(cell)}")
        assert contrast(1.0 if row["value"] > white_above else 0.0, paper) >= READABLE


def test_a_heat_map_leaves_out_what_is_not_legal_and_tells_what_was_only_guessed() -> None:
    figure = matrix(-2.0, None, -3.0, notes=(("± 1.0", "", "not run"),), guessed=((False, False, True),))
    assert [(row["text"], row["note"]) for row in values(figure)] == [("-2", "± 1.0"), ("(-3)", "not run")]


def test_a_heat_map_of_many_values_has_no_numbers_in_its_cells() -> None:
    assert layers(matrix(*map(float, range(40))), "text") == []


def test_series_that_share_no_name_lie_below_each_other_and_others_side_by_side() -> None:
    apart = tuple(Series(name, (f"{name} 1", f"{name} 2"), (0.0, 3.0)) for name in ("NB", "DEPTH"))
    beside = tuple(Series(name, ("NB", "grid"), (1.0, 3.0)) for name in ("alone", "with others"))
    for series, offset in ((apart, False), (beside, True)):
        [bars] = layers(Figure("values", "value", "%", series, lying=True), "bar")
        assert ("yOffset" in bars["encoding"]) is offset


def test_bars_lie_where_their_names_are_long_or_that_is_asked() -> None:
    long = Figure("libraries", "library", "GFLOPS", (Series("best", NAMES, (4.0, 3.0, 2.0, 1.0, 0.5)),))
    short = Figure("libraries", "library", "GFLOPS", (Series("best", ("a", "b"), (4.0, 3.0)),))
    axes = [specification(one)["encoding"]["y"]["title"] for one in (long, short)]
    assert axes == ["library", "GFLOPS"]


def test_runs_of_names_are_points_and_one_value_of_each_is_a_bar() -> None:
    runs = (Series("old", ("old", "old"), (4.0, 5.0)), Series("new", ("new",), (6.0,), points=True))
    assert {row["look"] for row in values(Figure("sides", "side", "GFLOPS", runs))} == {"point"}
    one_each = (Series("old", ("old",), (4.0,)), Series("new", ("new",), (6.0,)))
    assert {row["look"] for row in values(Figure("sides", "side", "GFLOPS", one_each))} == {"bar"}


def test_an_interval_is_drawn_and_told_where_it_is_known() -> None:
    bars = Series("best", ("a", "b"), (30.0, 20.0), low=(25.0, math.nan), high=(40.0, math.nan))
    figure = Figure("libraries", "BLAS", "GFLOPS", (bars,))
    assert [(row["low"], row["high"]) for row in values(figure)] == [(25.0, 40.0), (None, None)]
    assert len(layers(figure, "rule")) == 1
    [drawn] = layers(figure, "bar")
    assert [told["title"] for told in drawn["encoding"]["tooltip"]] == ["BLAS", "GFLOPS", "lowest", "highest"]


def test_stacked_bars_stand_on_each_other_in_the_order_of_their_series() -> None:
    series = (Series("one", ("1", "2"), (1.0, 2.0)), Series("another", ("1", "2"), (3.0, 4.0)))
    figure = Figure("parts", "nodes", "%", series, stacked=True)
    assert "stack" not in specification(figure)["encoding"]["y"]
    assert [row["n"] for row in values(figure)] == [0, 0, 1, 1]


def test_a_name_of_a_legend_shows_its_series_alone_and_what_is_behind_is_drawn_first() -> None:
    series = (Series("runs", (1.0,), (2.0,)), Series("others", (1.0,), (1.0,), behind=True))
    figure = Figure("rates", "NB", "GFLOPS", series)
    assert [row["series"] for row in values(figure)] == ["others", "runs"]
    bound = [param.get("bind") for layer in specification(figure)["layer"] for param in layer.get("params", ())]
    assert bound == ["legend", "scales"]


def test_numbers_on_logarithmic_axes_are_plain_text() -> None:
    points = Series("times", (8.0, 1024.0, 2.0**22), (0.5, 2.0, 1500.0))
    drawn, _ = drawing(Figure("messages", "bytes", "µs", (points,), x_log=True, y_log=True))
    for text in (">1 Ki<", ">1 Mi<", ">1,000<", ">1<"):
        assert text in drawn


def test_a_point_links_to_its_page_and_is_hollow_where_something_disturbed_the_run() -> None:
    runs = Series("runs", (1.0, 2.0), (3.0, 4.0), hollow=(False, True), links=("/campaigns/a/trials/1",) * 2)
    figure = Figure("Runs", "minutes", "GFLOPS", (runs,))
    assert [(row["look"], row["link"]) for row in values(figure)] == [
        (look, "/campaigns/a/trials/1") for look in ("point", "hollow")
    ]
    assert all(layer["encoding"]["href"] == {"field": "link"} for layer in layers(figure, "point"))
    assert "disturbed" in figure.caption
    with pytest.raises(ValueError, match="no address of a page"):
        Series("runs", (1.0,), (3.0,), links=("javascript:alert(1)",))


def test_a_series_whose_lists_differ_in_length_is_refused() -> None:
    with pytest.raises(ValueError, match="'runs' has lists of different lengths"):
        Series("runs", (1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match="different lengths"):
        Series("runs", (1.0,), (1.0,), low=(0.5,))


def row(title: str, unit: str, *heights: float, zero: bool = True) -> Figure:
    times = tuple(float(second) for second in range(len(heights)))
    return Figure(title, TIME, unit, (Series(title, times, heights, line=True),), from_zero=zero)


LINE = Timeline(
    "What <the> machine did",
    (row("Rate", "GFLOPS", 50.0, 51.0, 20.0), row("Clock", "MHz", 2500.0, 2500.0, 2499.0, zero=False)),
    shaded=((1.0, 2.0),),
    moments=((0.0, "begin"), (2.0, "end")),
    caption="Shaded: others took more.",
)


def test_each_row_of_a_timeline_is_titled_on_one_axis_of_time() -> None:
    drawn, spec = drawing(LINE)
    for text in ("Rate in GFLOPS", "Clock in MHz", TIME, "begin", "end"):
        assert f">{text}<" in drawn
    assert json.loads(spec)["resolve"] == {"scale": {"x": "shared"}}


def test_what_hardly_changes_does_not_look_as_if_it_did() -> None:
    _, clock = specification(LINE)["vconcat"]
    low, high = clock["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert (high - low) / 2500 >= 0.05


def test_a_page_and_a_picture_show_it_with_its_caption() -> None:
    page = to_html([Report("report", (LINE,))])
    assert "<figcaption>What &lt;the&gt; machine did</figcaption>" in page
    assert "Shaded: others took more." in page
    assert b"Shaded: others took more." in picture([LINE, LINE], ".svg", PictureSize(16))


def test_without_a_row_there_is_no_timeline() -> None:
    with pytest.raises(ValueError, match="has no row"):
        Timeline("nothing", ())


def test_a_picture_that_no_memory_holds_is_refused_before_it_is_drawn() -> None:
    with pytest.raises(ResultsError, match="cannot draw a picture so large"):
        picture([LINE], ".png", PictureSize(100, 1200))


def test_the_script_of_pages_is_the_one_of_the_library_that_draws_pictures(request: pytest.FixtureRequest) -> None:
    from vl_convert import get_vega_version, javascript_bundle

    if request.config.getoption("--update"):
        made = javascript_bundle()  # type: ignore[call-arg] # its stub has no defaults
        (Path(html.__file__).parent / "page/vega.min.js").write_text(made, "utf-8")
    assert f'"{get_vega_version()}"' in script_file("vega.min")
    assert specification(LINE)["$schema"] == SCHEMA
