"""The page of one trial, as `show STUDY TRIAL --html` writes it."""

from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from record_builders import DISTURBED, a_study, begun, finished

from hpl.witness import of_run
from results.record import Kind, TrialState
from results.store.store import Store

REAL = of_run((Path(__file__).parents[3] / "hpl/data/solves-openmpi.stderr.txt").read_text(), 0)
MARKUP = "<script>alert(1)</script>"


@pytest.fixture
def study(home: Path) -> Path:
    """A study whose second trial is the best, whose first was disturbed, and whose third failed."""
    with Store.open(home / "data/hpltune.db") as store:
        store.create_study(a_study(space_text=""))
        measured = {**DISTURBED, "solve_s": 6.0752, "foreign_cpu_s": 8.8, "foreign_for_s": 6.08}
        for number, gflops, facts in (
            (1, 13.7, {"params": {"NB": 64, "grid": "1x2"}, "errors_text": REAL, "measurements": measured}),
            (2, 75.0, {"params": {"NB": 192, "grid": "1x2"}}),
            (3, None, {"state": TrialState.FAILED, "passed": None, "reason": f"rank 1 said {MARKUP}", "output": ""}),
        ):
            key = f"k{number}"
            store.begin(begun(key=key, params=facts.get("params", {"NB": 32, "grid": "1x2"})))
            store.finish(replace(finished(number, gflops, key=key, **facts), kind=Kind.SEARCH))
        store.end_study("study", "complete")
    return home


def page(hpltune: Run, number: str) -> str:
    done = hpltune("show", "study", number, "--html", "trial.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Wrote trial.html. Open it in a browser.\n")
    text = Path("trial.html").read_text()
    assert MARKUP not in text
    return text


@pytest.mark.usefixtures("study")
def test_the_page_of_a_trial_sets_it_beside_the_best(hpltune: Run) -> None:
    text = page(hpltune, "1")
    assert "Trial 1 of study study" in text
    assert "the best: trial 2, 75.00 GFLOPS" in text
    assert text.index("What came of it") < text.index("Its configuration") < text.index("What HPL printed")
    row = text[text.index("<td>NB</td>") - 20 : text.index("<td>NB</td>") + 60]
    assert '<tr class="best"><td>NB</td><td>64</td><td>192</td>' in row


@pytest.mark.usefixtures("study")
def test_it_draws_what_the_machine_did_and_says_that_the_run_was_disturbed(hpltune: Run) -> None:
    text = page(hpltune, "1")
    assert "What the machine did during trial 1" in text
    assert "It was disturbed: others took" in text
    assert "hpltune-panel" not in text, "what ranks write for us is no output"


@pytest.mark.usefixtures("study")
def test_the_page_of_the_best_says_that_it_is_the_best(hpltune: Run) -> None:
    text = page(hpltune, "2")
    assert "It is the best configuration of the study." in text
    assert "hpltune run HPL.dat --like" in text
    assert "study#2" in text


@pytest.mark.usefixtures("study")
def test_the_page_of_a_failed_trial_says_why(hpltune: Run) -> None:
    text = page(hpltune, "3")
    assert '<p class="bad">' in text
    assert "rank 1 said &lt;script&gt;" in text
