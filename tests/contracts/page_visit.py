"""A page of hpltune in a real browser, with what it complained of and asked for."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from needs import skip_without
from playwright.sync_api import Browser, Page, expect, sync_playwright
from running_service import OpenService
from waiting import PATIENCE_S

PATIENCE_MS = 1000 * PATIENCE_S
"""For what a browser waits for."""
CHROMIUM = Path("/usr/bin/chromium")
NARROW, WIDE = 400, 1280
READABLE = 4.5
"""Contrast of text that WCAG's level AA asks for."""
COLOURS = """element => {
  let paper = element;
  while (getComputedStyle(paper).backgroundColor === "rgba(0, 0, 0, 0)") paper = paper.parentElement;
  return [getComputedStyle(element).color, getComputedStyle(paper).backgroundColor];
}"""
"""Finds the colour of a text, and that of the nearest element with one behind it."""


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Debian's Chromium, or a skipped test where there is none."""
    if not CHROMIUM.exists():
        skip_without("Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        expect.set_options(timeout=PATIENCE_MS)
        yield browser
        browser.close()


EVERYTHING = ("",)
"""What is tolerated where a browser may complain of anything."""


@contextmanager
def opened(
    browser: Browser, service: OpenService, address: str, tolerated: Sequence[str] = (), **options: Any
) -> Iterator[Page]:
    """A page of a service in a browser of its own; whatever that complains of fails the test, but what is tolerated."""
    context = browser.new_context(base_url=str(service.client.base_url), **options)
    context.set_default_timeout(PATIENCE_MS)
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    try:
        yield page
        assert not [said for said in complaints if not any(words in said for words in tolerated)]
    finally:
        context.close()


class Visit:
    """A page as somebody sees it, with what it complained of and asked for."""

    def __init__(self, browser: Browser, file: Path, width: int, **options: object) -> None:
        self._context = browser.new_context(viewport={"width": width, "height": 900}, **options)  # type: ignore[arg-type]
        self._context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self._context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def close(self) -> None:
        self._context.close()

    def contrast(self, selector: str) -> float:
        """Contrast of a text against what is behind it, by WCAG's formula for relative luminance."""
        ink, paper = self.page.eval_on_selector(selector, COLOURS)
        lighter, darker = sorted((luminance(ink), luminance(paper)), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
