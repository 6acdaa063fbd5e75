"""Pages of the service as axe-core sees them, narrow and wide, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from explain_builders import keep
from live_watch import begin
from playwright.sync_api import Browser, Page
from record_builders import a_study, finished
from running_service import RunningService, running_service

from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store

AXE = (Path(__file__).parents[3] / "assets/axe/axe.min.js").read_text(encoding="utf-8")
PAGES = (
    "/",
    "/?state=complete",
    "/new",
    "/new?from=waits",
    "/compare",
    "/compare?studies=before&studies=after",
    "/campaigns/after",
    "/campaigns/runs",
    "/campaigns/waits",
    "/docs",
    "/sign-in",
)


@pytest.fixture
def service(store: Store, home: Path) -> Iterator[RunningService]:
    """A service with campaigns of each kind; the one that waits is for a machine that is not there."""
    del home
    for name, gflops in (("before", 70.0), ("after", 80.0)):
        runs = [finished(number, gflops + number, study=name, key="k", params={"NB": 64}) for number in (1, 2, 3)]
        keep(store, a_study(name, space_text=""), runs)
        store.end_study(name, "complete")
    store.create_study(a_study("runs"))
    begin(store, "runs")
    store.queue.add(CampaignOrder("waits", "tune", {"kind": "tune", "budget": "1h"}, ("elsewhere",), "ada"))
    with running_service("--db", store.place) as service:
        yield service


def complaints(page: Page) -> list[tuple[str, str]]:
    """What axe-core finds wrong in a page, with all of it open, and where."""
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("axe.run()")
    assert found["passes"]
    return [(one["id"], node["html"]) for one in found["violations"] for node in one["nodes"]]


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (400, "dark"), (1280, "light"), (1280, "dark")])
def test_nothing_keeps_people_from_using_a_page(
    browser: Browser, service: RunningService, width: int, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(
        base_url=str(service.client.base_url),
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        bypass_csp=True,
    )
    page, found = context.new_page(), dict[str, Any]()
    for address in PAGES:
        page.goto(address)
        found[address] = complaints(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width, address
    page.goto("/new")
    page.get_by_label("Budget").fill("soon")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("alert").wait_for()
    found["mistakes"] = complaints(page)
    context.close()
    assert found == {place: [] for place in (*PAGES, "mistakes")}
