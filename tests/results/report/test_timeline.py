"""Rows of a timeline below each other: what stands there, and where."""

import json
import re

import pytest

from results.report.html import svg, to_html
from results.report.model import Figure, Report, Series, Timeline
from results.report.picture import PictureSize, picture

TIME = "seconds since the solve began"


def row(title: str, unit: str, *values: float, zero: bool = True) -> Figure:
    times = tuple(float(second) for second in range(len(values)))
    return Figure(title, TIME, unit, (Series(title, times, values, line=True),), from_zero=zero)


LINE = Timeline(
    "What <the> machine did",
    (row("Rate", "GFLOPS", 50.0, 51.0, 20.0), row("Clock", "MHz", 2500.0, 2500.0, 2499.0, zero=False)),
    shaded=((1.0, 2.0),),
    moments=((0.0, "begin"), (2.0, "end")),
    caption="Shaded: others took more.",
)


def test_each_row_is_titled_and_tells_its_values_where_they_are_drawn() -> None:
    drawn = svg(LINE)
    for text in ("Rate in GFLOPS", "Clock in MHz", TIME, "begin", "end"):
        assert text in drawn.svg
    marks = json.loads(drawn.marks)
    assert [mark[3] for mark in marks] == [
        f"{second} {TIME}: {value} {unit}"
        for unit, values in (("GFLOPS", (50, 51, 20)), ("MHz", ("2,500", "2,500", "2,499")))
        for second, value in enumerate(values)
    ]
    first, second = marks[:3], marks[3:]
    assert [mark[1] for mark in first] == [mark[1] for mark in second], "one axis of time"
    assert max(mark[2] for mark in first) < min(mark[2] for mark in second), "below each other"
    assert first[1][2] < first[0][2] < first[2][2], "more is higher"


def test_what_hardly_changes_does_not_look_as_if_it_did() -> None:
    clock = [mark[2] for mark in json.loads(svg(LINE).marks)[3:]]
    assert max(clock) - min(clock) < 2


def test_a_page_and_a_picture_show_it_with_its_caption() -> None:
    page = to_html([Report("report", (LINE,))])
    assert "<figcaption>What &lt;the&gt; machine did</figcaption>" in page
    assert "Shaded: others took more." in page
    assert re.search(r"data-marks=\"\[\[0,", page)
    assert picture([LINE, LINE], ".svg", PictureSize(16)).startswith(b"<?xml")


def test_without_a_row_there_is_no_timeline() -> None:
    with pytest.raises(ValueError, match="has no row"):
        Timeline("nothing", ())
