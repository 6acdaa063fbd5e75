"""Lanes of several that worked at the same time: where their stretches stand, and what a page says of them."""

import json

import pytest

from results.report.html import drawing, figure_data, to_html
from results.report.model import Gantt, Lane, LaneGroup, Report, Stretch
from results.report.picture import PictureSize, picture
from results.report.vega import specification

KINDS = ("panel", "broadcast", "row swaps", "update", "rest", "wait")


def one(kind: str) -> tuple[float, ...]:
    return tuple(float(name == kind) for name in KINDS)


def lanes(*names: str) -> LaneGroup:
    spans = (Stretch(0.0, 1.0, one("panel")), Stretch(1.0, 3.0, one("wait")), Stretch(3.0, 4.0, one("update")))
    return LaneGroup("Trial <1>", tuple(Lane(name, spans) for name in names), steps=(0.0, 3.0))


def gantt(*groups: LaneGroup) -> Gantt:
    return Gantt("What ranks did", "seconds", "node", KINDS, groups, 0.0, 4.0, caption="Of 2 ranks.")


def test_a_page_names_all_kinds_and_lanes() -> None:
    drawn, spec = drawing(gantt(lanes("n0", "n1"), lanes("n0", "n1")))
    for text in ("panel", "update", "wait", "n0", "n1", "seconds", "Trial &lt;1&gt;"):
        assert f">{text}<" in drawn
    assert ">row swaps<" not in drawn, "the legend names what is to be seen"
    assert len(json.loads(spec)["vconcat"]) == 2
    assert "<figcaption>What ranks did</figcaption>" in to_html([Report("report", (gantt(lanes("n0")),))])


def test_a_lane_tells_where_each_kind_begins_and_ends_and_how_much_of_the_time_it_took() -> None:
    [group] = specification(gantt(lanes("n0")))["vconcat"]
    rows = {row["kind"]: row for row in group["data"]["values"]}
    assert list(rows) == ["wait", "update", "panel"], "the empty lane is behind all"
    panel = rows["panel"]
    assert (panel["at"], panel["part"]) == ([0.0, 1.0, 1.0, 4.0], 0.25)
    heights = [round(low - high, 2) for low, high in zip(panel["low"], panel["high"], strict=True)]
    assert heights == [0.84, 0.84, 0.0, 0.0]


def test_its_data_have_a_line_for_each_stretch_and_no_empty_columns() -> None:
    assert figure_data(gantt(lanes("n0"))).splitlines() == [
        "node,from,until,panel,update,wait", "n0,0,1,1,,", "n0,1,3,,,1", "n0,3,4,,1,",
    ]  # fmt: skip


@pytest.mark.parametrize("width_cm", [8, 16])
def test_a_picture_is_the_same_each_time(width_cm: int) -> None:
    first, second = (picture([gantt(lanes("n0"))], ".svg", PictureSize(width_cm)) for _ in range(2))
    assert first == second
