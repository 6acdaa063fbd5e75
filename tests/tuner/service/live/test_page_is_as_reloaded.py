"""A real browser that watched a transition shows the same as one that reads the page anew."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from live_watch import begin, end, trials
from node_check_builders import kept
from page_visit import EVERYTHING, opened
from playwright.sync_api import Browser, Error, Page, expect
from record_builders import a_study
from running_service import OpenService, service_in_thread
from waiting import until

from results.store.node_checks import NodeCheckState
from results.store.service.campaign_entry import CampaignOrder, QueueState, WantedState
from results.store.service.tokens import AccessScope
from results.store.store import Store

ADDRESS = "/campaigns/study"
SHOWN = """() => {
  const copy = document.body.cloneNode(true);
  copy.querySelectorAll("#live, noscript, .live, .menu").forEach(one => one.remove());
  copy.removeAttribute("sse-connect");
  for (const one of [copy, ...copy.querySelectorAll("*")])
    for (const name of one.getAttributeNames())
      if (/^(hx|sse)-/.test(name) || (name === "class" && !one.className)) one.removeAttribute(name);
  return copy.innerHTML.replace(/\\s+/g, " ").replace(/> </g, "><");
}"""
"""What a page shows, without what it is connected by."""


@dataclass
class Campaign:
    """A campaign as its process and the people around it change it."""

    store: Store
    number: int = 0

    def hand_in(self) -> None:
        self.store.queue.add(CampaignOrder("study", "tune", {"kind": "tune", "budget": "1h"}, ("elsewhere",), "ada"))

    def start(self) -> None:
        assert self.store.queue.claim("study")

    def make_study(self) -> None:
        self.store.create_study(a_study())

    def run_a_trial(self) -> None:
        end(self.store, begin(self.store), 70.0)

    def begin_a_trial(self) -> None:
        begin(self.store)

    def run_a_failed_trial(self) -> None:
        trials(self.store, None)

    def run_a_faster_trial(self) -> None:
        trials(self.store, 88.5)

    def ask_to_pause(self) -> None:
        self.store.queue.want("study", WantedState.PAUSE)

    def ask_to_resume(self) -> None:
        self.store.queue.want("study", WantedState.RUN)

    def ask_to_cancel(self) -> None:
        self.store.queue.want("study", WantedState.CANCEL)

    def pause(self) -> None:
        self._stop(QueueState.PAUSED)

    def cancel(self) -> None:
        self._stop(QueueState.CANCELLED)

    def fail(self) -> None:
        self._stop(QueueState.FAILED, "the compiler is not there")

    def go_on(self) -> None:
        self.start()
        self.store.take("study")

    def complete(self) -> None:
        self.store.end_study("study", "complete")
        self.store.queue.end("study", QueueState.DONE)

    def _stop(self, state: QueueState, reason: str = "") -> None:
        if self.store.queue.is_study("study"):
            self.store.end_study("study", "interrupted")
        self.store.queue.end("study", state, reason)


C = Campaign
LIVES: dict[str, tuple[Callable[[Campaign], None], ...]] = {
    "complete": (C.start, C.make_study, C.begin_a_trial, C.run_a_trial, C.run_a_faster_trial, C.complete),
    "paused and resumed": (
        *(C.start, C.make_study, C.run_a_trial, C.ask_to_pause, C.pause, C.ask_to_resume),
        *(C.go_on, C.run_a_faster_trial, C.complete),
    ),
    "cancelled and resumed": (
        *(C.start, C.make_study, C.begin_a_trial, C.ask_to_cancel, C.cancel, C.ask_to_resume),
        *(C.go_on, C.run_a_failed_trial, C.complete),
    ),
    "failed and resumed": (C.start, C.make_study, C.run_a_failed_trial, C.fail, C.ask_to_resume, C.go_on, C.complete),
    "before it begins": (C.ask_to_pause, C.ask_to_resume, C.ask_to_cancel, C.ask_to_resume, C.start, C.fail),
}


def visited(browser: Browser, service: OpenService, address: str) -> AbstractContextManager[Page]:
    """A page, which may complain of a service that ends."""
    return opened(browser, service, address, EVERYTHING)


def shown(page: Page) -> str:
    """What it shows; nothing while the browser reads it anew."""
    with suppress(Error):
        return str(page.evaluate(SHOWN))
    return ""


def reloaded(page: Page, address: str) -> str:
    """What a second page of the same person shows of it."""
    other = page.context.new_page()
    other.goto(address)
    text = shown(other)
    other.close()
    return text


def follow(page: Page, address: str, step: Callable[[], object], called: str) -> None:
    """Do a step that changes what a reload shows, and wait until the page that was open shows that, too."""
    before = reloaded(page, address)
    step()
    until(lambda: reloaded(page, address) != before, f"another page after {called}")
    until(lambda: shown(page) == reloaded(page, address), f"what a reload shows after {called}")


@pytest.mark.parametrize("life", LIVES)
def test_after_each_transition_the_page_is_as_a_reload_shows_it(
    browser: Browser, service: OpenService, store: Store, life: str
) -> None:
    campaign = Campaign(store)
    campaign.hand_in()
    with visited(browser, service, ADDRESS) as page:
        for step in LIVES[life]:
            follow(page, ADDRESS, partial(step, campaign), step.__name__)


def test_after_each_transition_a_check_is_as_a_reload_shows_it(
    browser: Browser, service: OpenService, store: Store
) -> None:
    order = CampaignOrder("tonight", "nodes", {"kind": "nodes"}, ("elsewhere",), "ada")
    store.queue.add(order)
    store.queue.claim("tonight")
    number = store.node_checks.add(kept(state=NodeCheckState.RUNNING, campaign="tonight"))
    address = f"/node-checks/{number}"

    def stop() -> None:
        store.node_checks.leave("tonight")
        store.queue.end("tonight", QueueState.PAUSED)

    def begin_anew() -> None:
        store.queue.want("tonight", WantedState.RUN)
        store.queue.claim("tonight")
        store.node_checks.add(kept(state=NodeCheckState.RUNNING, campaign="tonight"))

    steps = (lambda: store.queue.want("tonight", WantedState.PAUSE), stop, begin_anew)
    with visited(browser, service, address) as page:
        for step in steps:
            follow(page, address, step, "a change of the check")


def test_a_campaign_that_is_removed_says_so_where_it_is_open(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study())
    with visited(browser, service, ADDRESS) as page:
        store.end_study("study", "interrupted")
        expect(page.get_by_role("status")).to_contain_text("It was interrupted")
        store.delete_study("study")
        expect(page.get_by_role("status")).to_contain_text("It was removed.")


def test_a_page_says_that_it_is_live_and_when_it_is_not(browser: Browser, store: Store, tmp_path: Path) -> None:
    store.create_study(a_study())
    with ExitStack() as stack:
        with service_in_thread(store, tmp_path) as service:
            pages = [stack.enter_context(visited(browser, service, address)) for address in (ADDRESS, "/")]
            for page in pages:
                expect(page.locator("#live")).to_contain_text("Live: as it was ")
        for page in pages:
            expect(page.locator("#live")).to_contain_text("Not live: reconnecting since ")
            expect(page.locator("#live")).to_contain_text(" old.")


def test_a_page_says_that_its_session_has_ended_and_leads_to_where_one_signs_in(
    browser: Browser, service: OpenService, store: Store
) -> None:
    store.create_study(a_study())
    token = store.tokens.create("ada", AccessScope.RUN, None)[1]
    with visited(browser, service, ADDRESS) as page:
        sign_in(page, token)
        expect(page.locator("#live")).to_contain_text("Live: as it was ")
        page.goto("/")
        expect(page.locator("#live")).to_contain_text("Live: as it was ")
        page.context.clear_cookies()
        expect(page.locator("#live")).to_contain_text("Signed out: what is shown is ")
        page.get_by_role("link", name="Sign in.").click()
        sign_in(page, token)
        expect(page).to_have_url(f"{service.client.base_url}/")


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
