"""A real browser watches a campaign whose trials others write meanwhile."""

import re
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
        rows = page.get_by_role("table", name="Trials").locator("tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("88.50")
        points = page.locator("#all-full-runs .live .mark-symbol.role-mark path")
        expect(points).to_have_count(3)
        store.end_study(NAME, "complete")
        expect(page.get_by_role("status")).to_contain_text("It is complete.")
        expect(page.get_by_role("region", name="Running now")).to_have_count(0)
        points.last.click()
        expect(page).to_have_url(re.compile("/trials/3$"))


def test_tabs_show_one_part_at_a_time_and_read_it_when_it_is_opened(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    trials(store, 71.0, 88.5, name=NAME)
    store.end_study(NAME, "complete")
    with visited(browser, service) as page:
        expect(page.get_by_role("tabpanel")).to_have_count(1)
        page.get_by_role("tab", name="Trials").press("ArrowRight")
        expect(page.get_by_role("tab", name="Best configurations")).to_be_focused()
        expect(page.get_by_role("tabpanel")).to_contain_text("The tuning, trial by trial")
        expect(page.get_by_role("table", name="Trials")).not_to_be_visible()
    with visited(browser, service, script=False) as page:
        expect(page.get_by_role("heading", name="Machine")).to_be_visible()
        expect(page.get_by_role("link", name="The report has it.").first).to_be_visible()


def test_two_trials_are_compared_and_columns_chosen(browser: Browser, service: OpenService, store: Store) -> None:
    store.create_study(a_study(NAME))
    for number in range(10):
        params = {"NB": 64 + 32 * number, "grid": "1x2", "blas": "openblas"}
        end(store, begin(store, NAME, params=params), 70.0 + number)
    with visited(browser, service) as page:
        table = page.get_by_role("table", name="Trials")
        table.get_by_role("checkbox", name="Mark trial 9").check()
        table.get_by_role("checkbox", name="Mark trial 2").check()
        expect(page.get_by_text("trial 9 and 2: ")).to_contain_text("NB 320 and 96")
        trials(store, 95.0, name=NAME)
        expect(table.locator("tbody tr")).to_have_count(11)
        expect(table.get_by_role("checkbox", name="Mark trial 9")).to_be_checked()
        page.get_by_label("Only rows with").first.fill("NB>=288 gflops<79")
        expect(page.get_by_text("2 of 11 rows")).to_be_visible()
        page.get_by_text("Columns", exact=True).click()
        page.get_by_role("checkbox", name="time").uncheck()
        expect(table.get_by_role("columnheader", name="time")).to_have_count(0)


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
        assert "trials" in reached


def test_a_long_table_is_sorted_and_filtered_and_stays_so_while_it_grows(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    trials(store, *(70.0, 100.5, 71.0, 9.5, 72.0, 73.0, 74.0, 75.0, 76.0), name=NAME)
    with visited(browser, service) as page:
        table = page.get_by_role("table", name="Trials")
        rate, rows = table.get_by_role("columnheader", name="GFLOPS"), table.locator("tbody tr")
        expect(rows.first).to_contain_text("76.00")
        rate.get_by_role("button").press("Enter")
        expect(rate).to_have_attribute("aria-sort", "descending")
        expect(rows.first).to_contain_text("100.50")
        expect(rows.last).to_contain_text("9.50")
        trials(store, 200.0, name=NAME)
        expect(rows.first).to_contain_text("200.00")
        expect(rate).to_have_attribute("aria-sort", "descending")
        expect(rate.get_by_role("button")).to_be_focused()
        rate.get_by_role("button").click()
        expect(rows.last).to_contain_text("200.00")
        rate.get_by_role("button").click()
        expect(rate).not_to_have_attribute("aria-sort", "ascending")
        expect(rows.last).to_contain_text("70.00")
        page.get_by_label("Only rows with").first.fill("71.00")
        expect(page.get_by_text("1 of 10 rows")).to_be_visible()
        expect(rows.filter(visible=True)).to_have_count(1)


def test_a_long_table_is_as_it_was_sent_without_javascript(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study(NAME))
    trials(store, *(70.0 + number for number in range(9)), name=NAME)
    with visited(browser, service, script=False) as page:
        table = page.get_by_role("table", name="Trials")
        expect(table.locator("tbody tr")).to_have_count(9)
        expect(table.get_by_role("button")).to_have_count(0)
