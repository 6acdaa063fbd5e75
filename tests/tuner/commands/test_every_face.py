"""Every face tells of a disturbed, an unknown and a quiet study what their records say, and nothing better."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from as_user import Run
from disturbing import disturbing
from record_builders import DISTURBED, QUIET, a_study, begun, finished

from results.record import Kind
from results.store.store import Store

STUDIES: Mapping[str, tuple[Mapping[str, float], str]] = {
    "loaded": (DISTURBED, "disturbed"),
    "dark": ({}, "not known"),
    "calm": (QUIET, "undisturbed"),
}
"""What was measured beside all runs of a study, and what that is called."""
SURE = (" is the fastest with ", "% sure", "A faster ", "B faster ", "which ran undisturbed", "of its true rate")
"""Words of certainty that only the quiet study may have."""


@pytest.fixture
def db(home: Path) -> str:
    place = str(home / "study.db")
    with Store.open(place) as store:
        for name, (measured, _) in STUDIES.items():
            store.create_study(a_study(name, options={"seed": 0, "shootout": True}))
            for blas, rate in (("openblas", 70.0), ("blis", 60.0)):
                params = {"NB": 192, "grid": "1x2", "layout": "2x1", "blas": blas, "N": 6000}
                for turn in range(5):
                    kind = Kind.SEARCH if turn < 2 else Kind.CONFIRMATION
                    number = store.begin(begun(name, blas, kind, params=params, session=turn))
                    more = {"key": blas, "params": params, "blas": blas, "session": turn, "measurements": measured}
                    store.finish(finished(number, rate + turn / 10, name, kind=kind, **more))
            store.end_study(name, "complete")
    return place


def said(hpltune: Run, *words: str) -> str:
    done = hpltune.well(*words)
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("name", STUDIES)
def test_what_people_read_is_no_surer_than_the_record(hpltune: Run, home: Path, db: str, name: str) -> None:
    conditions, at = STUDIES[name][1], ("--db", db)
    texts = {
        "best": said(hpltune, "best", name, *at),
        "show": said(hpltune, "show", name, *at),
        "compare": said(hpltune, "compare", name, "--by", "blas", *at),
        "blas": said(hpltune, "blas", "--resume", "--study", name, *at),
    }
    said(hpltune, "report", name, "-o", "page.html", *at)
    texts["page"] = (home / "page.html").read_text()
    for face, text in texts.items():
        if conditions == "undisturbed":
            assert "not known whether" not in text, face
            continue
        assert not [words for words in SURE if words in text], (face, text)
        assert {"disturbed": "disturbed", "not known": "not known"}[conditions] in text, (face, text)


def measured_as(monkeypatch: pytest.MonkeyPatch, conditions: str) -> AbstractContextManager[None]:
    """Watch all runs meanwhile, which are all disturbed, all quiet, or of which nothing is told."""
    if conditions == "not known":
        return nullcontext()
    return disturbing(monkeypatch, range(1_000) if conditions == "disturbed" else ())


@pytest.mark.heavy
@pytest.mark.parametrize("conditions", [told for _, told in STUDIES.values()])
def test_the_end_of_what_measures_is_no_surer_than_the_record(
    hpltune: Run, home: Path, prints_hpl: Path, monkeypatch: pytest.MonkeyPatch, conditions: str
) -> None:
    xhpl = ("--xhpl", str(prints_hpl))
    small = ("--set", "N=1000", "--set", "layout=2x1", "--set", "NB=64,128", "--study", "new")
    with measured_as(monkeypatch, conditions):
        texts = {"tune": said(hpltune, "tune", *xhpl, *small, "--trials", "3", "--confirm", "1")}
        scale = ("scale", *xhpl, "--n", "400", "--nodes", "1,2", "--repeats", "2", "--html", "p.html")
        texts["scale"] = said(hpltune, *scale)
        checked = " ".join(hpltune("check", "--baseline", "new", "--runs", "3").stdout.split())
        hpltune("dat", "HPL.dat", "--N", "1000", "--ranks", "1")
        texts["run"] = said(hpltune, "run", "HPL.dat", *xhpl)
    texts["page of scale"] = (home / "p.html").read_text()
    assert ("Cannot tell: " in checked and "all were disturbed" in checked) == (conditions == "disturbed")
    assert ("if nothing disturbed its runs, which is not known." in checked) == (conditions == "not known")
    if conditions == "undisturbed":
        assert not [face for face, text in texts.items() if "not known whether" in text]
        return
    for face, text in texts.items():
        assert not [words for words in SURE if words in text], (face, text)
        assert conditions in text, (face, text)
