"""A real browser starts a real campaign from the form, watches it, and takes its HPL.dat home."""

from pathlib import Path

import pytest
from as_user import Run
from page_visit import opened
from playwright.sync_api import Browser, expect
from running_service import running_service

pytestmark = [pytest.mark.real, pytest.mark.service, pytest.mark.usefixtures("home")]


TOLERATED = ("status of 422", "htmx:sendAbort", "htmx:afterRequest")
"""The answer to a mistake, and a preview that a page which is left gives up."""


def test_a_campaign_is_started_watched_and_its_hpl_dat_runs(browser: Browser, tmp_path: Path, hpltune: Run) -> None:
    with running_service() as service, opened(browser, service, "/new", TOLERATED) as page:
        page.get_by_label("Search space").select_option("quick")
        page.get_by_label("Name", exact=True).fill("first")
        page.get_by_text("Sizes and other parameters").click()
        page.get_by_label("N", exact=True).fill("400")
        page.get_by_label("NB", exact=True).fill("32, 64")
        page.get_by_text("How it searches").click()
        page.get_by_label("Most trials").fill("3")
        page.get_by_label("Further runs of the best ones").fill("0")
        preview = page.get_by_role("region", name="What would come of it")
        expect(preview).to_contain_text("valid combination")
        expect(preview).to_contain_text("3 trials")
        page.get_by_role("button", name="Start").click()

        expect(page).to_have_url(f"{service.client.base_url}/campaigns/first")
        expect(page.get_by_role("region", name="Running now")).to_be_visible()
        expect(page.get_by_role("status")).to_contain_text("It runs.")
        page.evaluate("window.watched = true")
        expect(page.get_by_role("status")).to_contain_text("It is complete.")
        expect(page.get_by_role("table", name="Trials").locator("tbody tr").nth(2)).to_be_visible()
        assert page.evaluate("window.watched"), "the page changed by itself, without being read again"
        with page.expect_download() as found:
            page.get_by_role("link", name="Download HPL.dat").click()
        file = tmp_path / "HPL.dat"
        found.value.save_as(file)
    assert "GFLOPS" in hpltune.well("run", str(file)).stdout


def test_without_javascript_a_mistake_is_told_and_mended_and_a_button_cancels(browser: Browser) -> None:
    with running_service() as service, opened(browser, service, "/new", TOLERATED, java_script_enabled=False) as page:
        page.get_by_label("Search space").select_option("quick")
        page.get_by_label("Budget").fill("soon")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("alert")).to_contain_text("Budget: ")
        page.get_by_label("Budget").fill("30m")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("region", name="What would come of it")).to_contain_text("30 min")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Campaign quick-1")
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("It was cancelled").first).to_be_visible()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
