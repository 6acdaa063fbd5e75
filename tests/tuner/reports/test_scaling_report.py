"""The tables of `hpltune scale`, in a terminal and on the page of a phone."""

from pathlib import Path

from page_visit import NARROW, Visit
from playwright.sync_api import Browser
from report_reading import printed

from results.report.html import to_html
from results.report.model import Report
from results.stats.scaling.efficiency import CountResult
from results.stats.scaling.overhead import PARTS, Overhead
from results.stats.scaling.runs import NodeOrder, Scaling
from tuner.reports.scaling import scaling_report
from tuner.scaling.findings import ScalingFindings

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
    for word in ("88 (42 to 183)", "1.235e+04", "1234567", *PARTS):
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
