"""The documentation: every page can be found, and no link leads nowhere."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from doc_pages import ROOT, check_words
from page_visit import WIDE, Visit
from playwright.sync_api import Browser, expect


def test_every_page_is_on_the_page_of_all_pages() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs/index.md").read_text()))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert listed == pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, ROOT / "docs/make_site.py", folder], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.heavy
def test_the_site_has_all_pages_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"all-pages", "changes", "contributing", "licence"}
    for page in pages:
        html = (site / f"{page}.html").read_text()
        assert not re.search(r'(?:src|rel="stylesheet" href)="https?:', html)


@pytest.mark.heavy
def test_the_site_opens_with_the_readme(site: Path) -> None:
    html = (site / "index.html").read_text()
    assert "./hpltune tune" in html
    assert 'href="all-pages.html"' in html
    assert 'href="docs/' not in html


def test_the_search_of_the_site_works_from_disk(site: Path, browser: Browser) -> None:
    visit = Visit(browser, site / "index.html", WIDE)
    visit.page.click("[data-md-component=search-query]")
    visit.page.keyboard.type("disturbed")
    expect(visit.page.locator(".md-search-result__item", has_text="Disturbed runs").first).to_be_visible()
    assert [url for url in visit.requests if not url.startswith("file:")] == []
    visit.close()


def citation() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", yaml.safe_load((ROOT / "CITATION.cff").read_text()))


def test_who_cites_names_the_version_and_the_licence_that_are_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {key: citation()[key] for key in ("title", "version", "license")} == {
        "title": project["name"],
        "version": project["version"],
        "license": project["license"],
    }
    assert project["license-files"] == ["LICENSE"]
    assert citation()["authors"] == [{"name": "The hpltune authors"}]
    assert (
        (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License\n\nCopyright (c) 2026, the hpltune authors\n")
    )


def test_a_citation_has_what_its_format_demands() -> None:
    demanded = {"cff-version": "1.2.0", "type": "software"}
    assert {key: citation()[key] for key in demanded} == demanded
    assert citation()["message"]
    for reference in citation()["references"]:
        assert {"type", "title", "authors"} <= set(reference)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_call_on_a_page_has_options_that_there_are(page: Path) -> None:
    for line in re.findall(r"^\$ (?:\./)?hpltune (.*)$", page.read_text(), re.MULTILINE):
        check_words(line)
