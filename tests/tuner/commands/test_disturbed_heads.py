"""How many runs were disturbed, and by what, stands first wherever rates are shown; and it is the last count."""

import json
from pathlib import Path

import pytest
from as_user import Run
from disturbing import disturbing

BY = "disturbed: other programs took CPU time in {} (mostly python3)."


def page(home: Path) -> str:
    text = (home / "page.html").read_text()
    return text[: text.index("</article>")]


@pytest.fixture
def two(hpltune: Run, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two studies of a file: two of six runs of the first were disturbed, and none of the second."""
    hpltune("dat", "HPL.dat", "--N", "1000", "--ranks", "1")
    for disturbed in ({2, 4}, set[int]()):
        with disturbing(monkeypatch, disturbed):
            hpltune.well("run", "HPL.dat", "--xhpl", str(prints_hpl), "--repeats", "4")
    return prints_hpl


def test_a_check_counts_the_disturbed_runs_of_both_times(
    hpltune: Run, home: Path, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert two.exists()
    with disturbing(monkeypatch, {1, 2}):
        done = hpltune("check", "--baseline", "run-HPL-1", "--tolerance", "50", "--html", "page.html", "--json")
    told = json.loads(done.stdout)["cautions"]
    assert any(f"2 of 6 runs were {BY.format(2)}" in text for text in told["baseline"])
    assert any(text.startswith("Caution: 2 of ") and BY.format(2) in text for text in told["now"]), told["now"]
    assert "Now: Caution: 2 of " in page(home)


@pytest.mark.heavy
def test_a_page_of_scaling_begins_with_it_and_with_where_it_was_measured(
    hpltune: Run, home: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = ("scale", "--xhpl", str(prints_hpl), "--n", "400", "--nodes", "1,2", "--repeats", "2", "--binding", "none")
    with disturbing(monkeypatch, {1, 2, 3}):
        done = hpltune(*scale, "--html", "page.html")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"runs were {BY.format(3)}" in said
    head = page(home).partition("<h2")[0]
    assert f"runs were {BY.format(3)}" in head
    assert "Measured on" in head
