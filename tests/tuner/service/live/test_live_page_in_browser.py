"""A real browser watches a campaign whose trials others write meanwhile."""

from contextlib import AbstractContextManager

import pytest
from live_watch import begin, end, trials
from page_visit import NARROW, WIDE, opened
from playwright.sync_api import Browser, Page, expect
from record_builders import a_study
from running_service import OpenService

from results.store.store import Store

NAME = "a <b>campaign"
ADDRESS = "/campaigns/a%20%3Cb%3Ecampaign"


def visited(
    browser: Browser, service: OpenService, width: int = WIDE, *, script: bool = True
) -> AbstractContextManager[Page]:
    """The page of the campaign."""
    viewport = {"width": width, "height": 900}
    return opened(browser, service, ADDRESS, viewport=viewport, java_script_enabled=script)


def test_a_campaign_grows_before_the_eyes_of_who_watches_it(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    with visited(browser, service) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Campaign {NAME}")
        expect(page.get_by_role("status")).to_contain_text("No full run counts yet.")
        record = begin(store, NAME)
        expect(page.get_by_role("region", name="Running now")).to_contain_text("Trial 1")
        end(store, record, 71.0)
        expect(page.get_by_role("status")).to_contain_text("71.00 GFLOPS, in trial 1")
        trials(store, 70.0, 88.5, name=NAME)
        expect(page.get_by_role("status")).to_contain_text("88.50 GFLOPS, in trial 3")
        rows = page.locator("section[aria-labelledby=trials] tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("88.50 GFLOPS")
        expect(
            page.get_by_role("img", name="The fastest full run so far grew from 71.00 to 88.50 GFLOPS")
        ).to_be_visible()
        expect(page.locator("table.heat td")).to_have_text("88.50")
        expect(page.get_by_role("region", name="The tuning, trial by trial").locator("tbody tr").last).to_contain_text(
            "88.50"
        )
        store.end_study(NAME, "complete")
        expect(page.get_by_role("status")).to_contain_text("It is complete.")


def test_without_javascript_a_running_campaign_is_read_again(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    with visited(browser, service, script=False) as page:
        expect(page.get_by_role("status")).to_contain_text("No full run counts yet.")
        trials(store, 71.0, name=NAME)
        expect(page.get_by_role("status")).to_contain_text("71.00 GFLOPS")
        store.end_study(NAME, "complete")
        expect(page.get_by_role("status")).to_contain_text("It is complete.")
        expect(page.locator("meta[http-equiv=refresh]")).to_have_count(0)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_page_fits(browser: Browser, service: OpenService, store: Store, width: int) -> None:
    store.create_study(a_study(NAME))
    trials(store, 70.0, None, 80.0, name=NAME)
    begin(store, NAME)
    with visited(browser, service, width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_keyboard_reaches_all_that_scrolls(browser: Browser, service: OpenService, store: Store) -> None:
    store.create_study(a_study(NAME))
    trials(store, 70.0, name=NAME)
    with visited(browser, service, NARROW) as page:
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        reached = set()
        for _ in range(24):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.getAttribute('aria-labelledby') || ''"))
        assert {"heat", "trials", "story"} <= reached


def test_a_long_table_is_sorted_and_filtered_and_stays_so_while_it_grows(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    trials(store, *(70.0, 100.5, 71.0, 9.5, 72.0, 73.0, 74.0, 75.0, 76.0), name=NAME)
    with visited(browser, service) as page:
        table = page.get_by_role("table", name="The newest trials")
        result, rows = table.get_by_role("columnheader", name="result"), table.locator("tbody tr")
        expect(rows.first).to_contain_text("76.00 GFLOPS")
        result.get_by_role("button").press("Enter")
        expect(result).to_have_attribute("aria-sort", "ascending")
        expect(rows.first).to_contain_text("9.50 GFLOPS")
        expect(rows.last).to_contain_text("100.50 GFLOPS")
        trials(store, 200.0, name=NAME)
        expect(rows.last).to_contain_text("200.00 GFLOPS")
        expect(result).to_have_attribute("aria-sort", "ascending")
        expect(result.get_by_role("button")).to_be_focused()
        result.get_by_role("button").click()
        expect(rows.first).to_contain_text("200.00 GFLOPS")
        result.get_by_role("button").click()
        expect(result).not_to_have_attribute("aria-sort", "ascending")
        expect(rows.last).to_contain_text("70.00 GFLOPS")
        page.get_by_label("Only rows with").first.fill("71.00")
        expect(page.get_by_text("1 of 10 rows")).to_be_visible()
        expect(rows.filter(visible=True)).to_have_count(1)


def test_a_long_table_is_as_it_was_sent_without_javascript(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    trials(store, *(70.0 + number for number in range(9)), name=NAME)
    with visited(browser, service, script=False) as page:
        table = page.get_by_role("table", name="The newest trials")
        expect(table.locator("tbody tr")).to_have_count(9)
        expect(table.get_by_role("button")).to_have_count(0)
