"""Pages of the service as axe-core sees them, narrow and wide, light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from explain_builders import keep
from live_watch import begin
from node_check_builders import kept
from page_visit import PATIENCE_MS
from planted import Fault, planted_check
from playwright.sync_api import Browser, Page
from record_builders import a_study, finished
from running_service import OpenService, service_in_thread

from results.store.node_checks import NodeCheckState
from results.store.service.audit import AuditedAction
from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store

AXE = (Path(__file__).parents[3] / "assets/axe/axe.min.js").read_text(encoding="utf-8")
PAGES = (
    "/", "/new", "/compare", "/dat?cores=64&memory=256GiB", "/compare?studies=before&studies=after", "/campaigns/after",
    "/campaigns/after/trials/1", "/campaigns/runs", "/campaigns/waits", "/node-checks", "/node-checks/1",
    "/node-checks/2", "/tokens", "/audit", "/campaigns/nobody", "/docs", "/sign-in",
)  # fmt: skip
LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((400, "dark"), (1280, "light"))
"""Each width and each scheme once: as the styles are, none depends on both."""
MEDIA = r"@media[^{]*\{(?:[^{}]*@media)?"
STYLES = (Path(__file__).parents[4] / "tuner/service/pages/assets").glob("*.css")


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Iterator[OpenService]:
    """A service with campaigns of each kind; the one that waits is for a machine that is not there."""
    for name, gflops in (("before", 70.0), ("after", 80.0)):
        runs = [finished(number, gflops + number, study=name, key="k", params={"NB": 64}) for number in (1, 2, 3)]
        keep(store, a_study(name, space_text=""), runs)
        store.end_study(name, "complete")
    store.create_study(a_study("runs"))
    begin(store, "runs")
    store.queue.add(CampaignOrder("waits", "tune", {"kind": "tune", "budget": "1h"}, ("elsewhere",), "ada"))
    store.audit.note(AuditedAction("ada", "", "token create", "eve", 201, "scope read"))
    store.node_checks.add(kept(ready=False))
    large = planted_check(512, faults=[Fault("flaky-node", ("node007",))])
    store.node_checks.add(kept(large, state=NodeCheckState.RUNNING))
    with service_in_thread(store, tmp_path) as service:
        yield service


def complaints(page: Page) -> list[tuple[str, str]]:
    """What axe-core finds wrong in a page, with all of it open, and where: narrow and wide, light and dark."""
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    page.evaluate(AXE)
    found = list[tuple[str, str]]()
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width, (page.url, width)
        seen: dict[str, Any] = page.evaluate("axe.run()")
        assert seen["passes"]
        nodes = [(one["id"], node["html"]) for one in seen["violations"] for node in one["nodes"]]
        found += [(f"{rule} ({width}, {scheme})", shown) for rule, shown in nodes]
    return found


def test_no_style_depends_on_the_width_and_the_scheme_at_a_time() -> None:
    questions = [found for style in STYLES for found in re.findall(MEDIA, style.read_text())]
    assert len(questions) >= 2
    for found in questions:
        assert found.count("@media") == 1, found
        assert not ("width" in found and "prefers-color-scheme" in found), found


def test_nothing_keeps_people_from_using_a_page(browser: Browser, service: OpenService) -> None:
    context = browser.new_context(base_url=str(service.client.base_url), bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    page, found = context.new_page(), dict[str, Any]()
    for address in PAGES:
        page.goto(address)
        found[address] = complaints(page)
    page.goto("/new")
    page.get_by_label("Budget").fill("soon")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("alert").wait_for()
    found["mistakes"] = complaints(page)
    context.close()
    assert found == {place: [] for place in (*PAGES, "mistakes")}
