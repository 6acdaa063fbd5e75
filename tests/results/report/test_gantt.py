"""Lanes of several that worked at the same time: where their stretches stand, and what a page says of them."""

import json
import re

import pytest

from results.report.html import figure_data, svg, to_html
from results.report.model import Gantt, Lane, LaneGroup, Report, Stretch
from results.report.picture import PictureSize, picture
from results.report.svg_paths import short_paths

KINDS = ("panel", "broadcast", "row swaps", "update", "rest", "wait")


def one(kind: str) -> tuple[float, ...]:
    return tuple(float(name == kind) for name in KINDS)


def lanes(*names: str) -> LaneGroup:
    spans = (Stretch(0.0, 1.0, one("panel")), Stretch(1.0, 3.0, one("wait")), Stretch(3.0, 4.0, one("update")))
    return LaneGroup("Trial <1>", tuple(Lane(name, spans) for name in names), steps=(0.0, 3.0))


def gantt(*groups: LaneGroup) -> Gantt:
    return Gantt("What ranks did", "seconds", "node", KINDS, groups, 0.0, 4.0, caption="Of 2 ranks.")


def test_a_page_names_all_kinds_and_lanes_and_tells_what_each_did() -> None:
    drawn = svg(gantt(lanes("n0", "n1"), lanes("n0", "n1")))
    for text in ("panel", "update", "wait", "n0", "n1", "seconds", "Trial &lt;1&gt;"):
        assert text in drawn.svg
    assert "row swaps" not in drawn.svg, "the legend names what is to be seen"
    marks = json.loads(drawn.marks)
    assert {mark[3] for mark in marks if mark[3].startswith("n0")} == {
        "n0, 0 to 1 s: panel", "n0, 1 to 3 s: wait", "n0, 3 to 4 s: update",
    }  # fmt: skip
    first = [mark for mark in marks if mark[3] == "n1, 0 to 1 s: panel"]
    assert len({mark[2] for mark in first}) == 2, "one height in each group"
    assert "<figcaption>What ranks did</figcaption>" in to_html([Report("report", (gantt(lanes("n0")),))])


def test_its_data_have_a_line_for_each_stretch_and_no_empty_columns() -> None:
    assert figure_data(gantt(lanes("n0"))).splitlines() == [
        "node,from,until,panel,update,wait", "n0,0,1,1,,", "n0,1,3,,,1", "n0,3,4,,1,",
    ]  # fmt: skip


def test_a_kind_is_one_path_of_boxes_however_many_lanes_there_are() -> None:
    drawn = svg(gantt(lanes(*(f"n{number}" for number in range(32)))))
    paths = re.findall(r'id="f1-series-0"[^>]*>\s*<path d="([^"]*)"', drawn.svg)
    assert [path.count("M") for path in paths] == [32]
    assert len(paths[0]) < 32 * 40


@pytest.mark.parametrize("width_cm", [8, 16])
def test_a_picture_is_the_same_each_time(width_cm: int) -> None:
    first, second = (picture([gantt(lanes("n0"))], ".svg", PictureSize(width_cm)) for _ in range(2))
    assert first == second


def test_a_lane_must_tell_of_each_kind() -> None:
    with pytest.raises(ValueError, match="lane n0 of 'What ranks did' has not a part for each of"):
        gantt(LaneGroup("group", (Lane("n0", (Stretch(0.0, 1.0, (1.0,)),)),)))


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("M 0 10.004 \nL 5.128 10.004 \nL 5.128 2 \nL 0 2 \nL 0 10.004 \nz\n", "M0 10H5.13V2H0z"),
        ("M 1 1 \nL 2 2 \nL 3 1 \nz\nM 4 4 \nL 4 5 \n", "M1 1L2 2L3 1zM4 4V5"),
        ("M 1 1 \nQ 2.123456 2 3 1 \nz\n", "M 1 1 Q 2.123456 2 3 1 z"),
    ],
)
def test_paths_of_straight_lines_are_written_shortly_and_curves_as_they_are(long: str, short: str) -> None:
    assert short_paths(f'<path d="{long}"/>') == f'<path d="{short}"/>'
