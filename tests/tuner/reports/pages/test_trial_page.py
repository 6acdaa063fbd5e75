"""The page of one trial, as `show STUDY TRIAL --html` writes it."""

from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from golden import hold_scene, seen
from record_builders import DISTURBED, a_study, begun, finished

from hpl.witness import of_run
from results.record import Kind, TrialState
from results.store.store import Store

REAL = of_run((Path(__file__).parents[3] / "hpl/data/solves-openmpi.stderr.txt").read_text(), 0)
MARKUP = "<script>alert(1)</script>"
TRIALS = {"a disturbed one beside the best": "1", "the best": "2", "a failed one": "3"}


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


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("trial", TRIALS)
def test_the_page_of_a_trial_is_what_it_was(hpltune: Run, request: pytest.FixtureRequest, trial: str) -> None:
    done = hpltune("show", "study", TRIALS[trial], "--html", "trial.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Wrote trial.html. Open it in a browser.\n")
    text = Path("trial.html").read_text()
    assert MARKUP not in text
    assert "hpltune-panel" not in text, "what ranks write for us is no output"
    hold_scene(request, "trial_pages", TRIALS, trial, seen(text))
