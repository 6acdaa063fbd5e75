"""The tables of `hpltune scale`, in a terminal and on the page of a phone."""

from dataclasses import replace
from pathlib import Path

from page_visit import NARROW, Visit
from playwright.sync_api import Browser
from report_reading import printed

from results.report.html import to_html
from results.report.model import Report
from tuner.scaling.findings import ScalingFindings
from tuner.scaling.report import scaling_report
from tuner.scaling.statistics import PARTS, UPDATE, CountResult, Limit, NodeOrder, Overhead, Scaling, ScalingGrowth

SHARES = (0.05, 0.14, 0.06, 0.74, 0.01)
COUNTS = (16, 256)


def report(*orders: NodeOrder) -> Report:
    """A cluster on which broadcasts take long, with wide intervals."""
    kinds = [(scaling, order, count) for scaling in Scaling for order in orders for count in COUNTS]
    shares, lost = dict(zip(PARTS, SHARES, strict=True)), dict.fromkeys(PARTS, 0.0) | {"broadcast": 0.083}
    results = tuple(CountResult(*kind, 1_234_567, "16x16", (12345.6,) * 3, 0.875, (0.42, 1.83)) for kind in kinds)
    spent = tuple(Overhead(*kind, 1234.5, shares, lost) for kind in kinds)
    return scaling_report("lab", "mine", ScalingFindings(results=results, overheads=spent))


def test_a_narrow_terminal_shows_efficiency_and_all_parts_of_the_time() -> None:
    text = printed(report(*NodeOrder), width=80)
    assert max(map(len, text.splitlines())) <= 80
    for word in ("88 (42 to 183)", "12,350", "1234567", *PARTS):
        assert word in text
    assert "…" not in text
    assert "time s" not in text


def test_a_wide_terminal_shows_all_columns() -> None:
    text = printed(report(*NodeOrder), width=120)
    for word in ("16x16", "runs", "time s", "broadcast 8.3"):
        assert word in text


def test_an_order_that_all_rows_have_is_not_repeated_in_each() -> None:
    text = printed(report(NodeOrder.SORTED), width=120)
    assert "order" not in text
    assert "strong" in text


def test_a_phone_shows_efficiency_and_what_limits_without_moving_the_table(tmp_path: Path, browser: Browser) -> None:
    file = tmp_path / "scaling.html"
    file.write_text(to_html([report(*NodeOrder)]), encoding="utf-8")
    visit = Visit(browser, file, NARROW)
    for head in ("efficiency %", "most lost in"):
        box = visit.page.get_by_role("columnheader", name=head).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= NARROW, head
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= NARROW
    visit.close()


STRONG, SORTED = Scaling.STRONG, NodeOrder.SORTED
Ends = tuple[float, float]


def result(count: int, gflops: float, efficiency: float, interval: tuple[float, float] | None) -> CountResult:
    return CountResult(STRONG, SORTED, count, 2000, "1x1", (gflops,), efficiency, interval)


def said(growth: ScalingGrowth | None = None, efficiency: float = 0.5, interval: Ends = (0.4, 0.6)) -> str:
    """What is told of four cores beside one."""
    last = result(4, 200 * efficiency, efficiency, interval)
    limits = (Limit(last, UPDATE, 0.1, 0.8),)
    found = ScalingFindings((result(1, 50.0, 1.0, None), last), limits=limits, growth=(growth,) if growth else ())
    return " ".join(printed(scaling_report("lab", "mine", found), width=400).split())


def test_only_an_interval_above_all_of_the_time_says_slower() -> None:
    def grown(part: float, interval: tuple[float, float] | None) -> str:
        return said(ScalingGrowth(STRONG, part, interval, (1, 2, 4)))

    assert "more nodes make this N slower, not faster" in grown(1.1, (1.05, 1.15))
    assert "more nodes did not make this N faster" in grown(1.1, None)
    for part, interval in ((1.01, (0.99, 1.03)), (0.99, (0.97, 1.01)), (1.0, None)):
        assert "are not shown to make this N faster or slower" in grown(part, interval)
    assert "20.0 % (19.0 to 21.0) of the time stays, whatever the nodes: at most 5 times the speed (4.76 to 5.26)" in (
        grown(0.2, (0.19, 0.21))
    )
    assert "no bound on the speed below 20 times is seen" in grown(0.0, (0.0, 0.05))
    assert "at most 25 times the speed (12.5 or more)" in grown(0.04, (0.0, 0.08))


def test_two_numbers_of_nodes_do_not_speak_of_each_doubling_nor_check_a_law() -> None:
    weak = ScalingGrowth(Scaling.WEAK, 0.1, None, (1, 2))
    assert "2 nodes in place of 1 add 10 % to the time." in said(weak)
    assert "which two numbers cannot check" in said(ScalingGrowth(STRONG, 0.1, None, (1, 2)))
    assert "each doubling of nodes adds 10 %" in said(replace(weak, counts=(1, 2, 4)))


def test_a_speed_or_a_loss_that_chance_may_make_is_not_told_as_one() -> None:
    assert "4 nodes are 2 times as fast as 1" in said()
    assert "Update: 80 % of the time at 4 nodes, 10 % lost" in said()
    same = "4 nodes are not shown to be faster than 1: 1.02 times as fast"
    assert same in said(efficiency=0.255, interval=(0.24, 0.27))
    assert "A loss is not shown" in said(efficiency=0.97, interval=(0.5, 1.5))
    assert "Nothing limits yet" in said(efficiency=0.97, interval=(0.96, 0.98))
    assert "97.0 % (96.0 to 98.0)" in said(efficiency=0.97, interval=(0.96, 0.98))


def test_an_interval_without_repeats_says_what_it_assumes() -> None:
    assert "Nothing ran twice: that runs differ by 1 % is assumed, not measured." in said()
    assert "Nothing ran twice" not in printed(report(), width=400)
