"""The tables of `hpltune scale`, in a terminal and on the page of a phone."""

from pathlib import Path

import pytest
from golden import hold_scene, told
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


def of_four(growth: ScalingGrowth | None = None, efficiency: float = 0.5, interval: Ends = (0.4, 0.6)) -> Report:
    """What is told of four cores beside one."""
    last = result(4, 200 * efficiency, efficiency, interval)
    limits = (Limit(last, UPDATE, 0.1, 0.8),)
    found = ScalingFindings((result(1, 50.0, 1.0, None), last), limits=limits, growth=(growth,) if growth else ())
    return scaling_report("lab", "mine", found)


def grown(part: float, interval: Ends | None) -> Report:
    return of_four(ScalingGrowth(STRONG, part, interval, (1, 2, 4)))


SCENES = {
    "all columns, in both orders": report(*NodeOrder),
    "an order that all rows have is not repeated": report(NodeOrder.SORTED),
    "more time than one, for sure": grown(1.1, (1.05, 1.15)),
    "more time than one, without an interval": grown(1.1, None),
    "about all of the time": grown(1.01, (0.99, 1.03)),
    "a little less than all of the time": grown(0.99, (0.97, 1.01)),
    "all of the time, without an interval": grown(1.0, None),
    "a fifth of the time stays": grown(0.2, (0.19, 0.21)),
    "no bound is seen": grown(0.0, (0.0, 0.05)),
    "a bound with one end": grown(0.04, (0.0, 0.08)),
    "two numbers of nodes do not speak of each doubling": of_four(ScalingGrowth(Scaling.WEAK, 0.1, None, (1, 2))),
    "two numbers cannot check a law": of_four(ScalingGrowth(STRONG, 0.1, None, (1, 2))),
    "each doubling": of_four(ScalingGrowth(Scaling.WEAK, 0.1, None, (1, 2, 4))),
    "a speed that chance may make": of_four(efficiency=0.255, interval=(0.24, 0.27)),
    "a loss that chance may make": of_four(efficiency=0.97, interval=(0.5, 1.5)),
    "nothing limits yet": of_four(efficiency=0.97, interval=(0.96, 0.98)),
    "nothing ran": report(),
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_scaling_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    hold_scene(request, "scaling", SCENES, scene, told(SCENES[scene], width=120))
