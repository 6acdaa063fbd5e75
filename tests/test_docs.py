"""The documentation: every page can be found, and no link leads nowhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_page_is_on_the_page_of_all_pages() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs/index.md").read_text()))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert listed == pages


@pytest.mark.heavy
def test_the_site_is_built_from_all_pages_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, ROOT / "docs/make_site.py", tmp_path / "site"], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    for page in ("tour", "dat", "changes", "contributing"):
        html = (tmp_path / f"site/{page}/index.html").read_text()
        assert not re.search(r'(?:src|rel="stylesheet" href)="https?:', html)
