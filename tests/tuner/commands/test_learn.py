"""`hpltune learn`: guess, simulate, keep; the next call goes on."""

import json
import os
import pty
import signal
import subprocess
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
from as_user import HPLTUNE, Run
from in_process import run_in_process
from rich.console import Console
from waiting import PATIENCE_S, until

from hpl.params import Scalar
from runners.virtual.load import load_cluster
from tuner.cli.learn import _ask
from tuner.errors import UsageError
from tuner.simulation.known import refuse_impossible, simulated_space
from tuner.simulation.lesson import LessonStep, lesson, lesson_names
from tuner.simulation.lesson_book import LessonBook
from tuner.simulation.plan import virtual_plan
from tuner.simulation.reproduction import published
from tuner.user_dirs import UserDirs

KRONOS = lesson("kronos")


def learnt(home: Path, typed: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return run_in_process(("learn", "kronos", *options), home, typed=typed)


def numbered(asks: str, of: Scalar = 1, than: Scalar = 2) -> LessonStep:
    return LessonStep("a", "A", "Which?", "NB", (1, 2), asks, "Because.", of=of, than=than)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", lesson_names())
def test_every_run_of_every_lesson_is_possible_on_its_cluster(name: str) -> None:
    figures, taught = published(name), lesson(name)
    cluster = load_cluster(figures.cluster)
    for step in taught.steps:
        space = simulated_space(taught.space, cluster, 1000, step.overrides)
        refuse_impossible(space)
        for value in step.values:
            virtual_plan({**space.first, step.scan: value}, cluster)
        assert step.asks == "best" or step.of in step.values, step.name
        assert step.asks not in {"times", "percent"} or step.than in step.values, step.name


def test_every_test_of_the_article_has_a_step() -> None:
    tests = [step.test for step in KRONOS.steps if step.test is not None]
    assert sorted(tests) == [test.number for test in published("kronos").tests]


def test_a_guess_stands_beside_the_answer_in_its_unit() -> None:
    rates = {"1": 6.0, "2": 4.0}
    assert numbered("best").told("2", rates) == (
        "NB=1 is the fastest in the simulation. The guess, NB=2, is 33.3 % slower."
    )
    assert numbered("best").told("1", rates) == "The guess is right: NB=1 is the fastest in the simulation."
    assert numbered("rate").told(None, rates) == "The simulation: 6.00 GFLOPS."
    assert numbered("times").told("3", rates) == "The simulation: 1.50 times. The guess: 3 times."
    assert numbered("percent").told("10", rates) == "The simulation: 50.0 %. The guess: 10 %."


def test_a_guess_is_one_of_the_values_or_a_number() -> None:
    assert KRONOS.step("broadcasts").read_guess(" lnm \n") == "LnM"
    assert numbered("percent").read_guess("4 %") == "4"
    with pytest.raises(UsageError, match="'3x3' is none of them: write 1x8, 2x4, 4x2 or 8x1, or nothing for no guess"):
        KRONOS.step("grids").read_guess("3x3")
    with pytest.raises(UsageError, match="'1,5' is no number: write one, with a point before decimals"):
        numbered("rate").read_guess("1,5")


@pytest.mark.parametrize(
    ("asks", "text"), [("rate", "-3"), ("rate", "0"), ("times", "-1"), ("rate", "1e400"), ("percent", "nan")]
)
def test_a_guess_that_cannot_be_is_asked_again(asks: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}' cannot be: write a"):
        numbered(asks).read_guess(text)
    assert numbered("percent").read_guess("-3") == "-3"


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_lesson_keeps_guesses_and_runs_and_goes_on_where_it_was_left(home: Path) -> None:
    first = learnt(home, "0.5\n")
    assert first.returncode == 0, first.stderr
    assert "The simulation: 0.0094 GFLOPS. The guess: 0.5 GFLOPS." in " ".join(first.stdout.split())
    assert "Why: 34 equations" in first.stdout
    assert first.stdout.endswith("Kept. `hpltune learn kronos` goes on here.\n")
    second = learnt(home, "a lot\n\n")
    assert second.stdout.startswith("1 of 12 steps are done; `hpltune learn kronos --again` begins anew.")
    assert "Step 1 of" not in second.stdout
    assert "'a lot' is no number" in second.stdout
    kept = json.loads(learnt(home, "", "--json").stdout)
    assert [(row["step"], row["guess"], row["result"]) for row in kept["answers"]] == [
        ("shipped", "0.5", "0.0094"),
        ("size", None, "11.17"),
    ]
    assert kept["answers"][1]["study"] == "kronos-size-1"
    assert "2 of `hpltune learn`: --all lists them too." in " ".join(run_in_process(("show",), home).stdout.split())
    assert "kronos-size-1" in run_in_process(("show", "--all"), home).stdout
    assert "`hpltune learn kronos` goes on with step 3." in " ".join(run_in_process(("learn",), home).stdout.split())
    anew = learnt(home, "2\n", "--again")
    assert "Step 1 of 12" in anew.stdout
    kept = json.loads(learnt(home, "", "--json").stdout)
    assert [(row["step"], row["guess"]) for row in kept["answers"]] == [("shipped", "2")]
    piped = learnt(home, "7\n", "--json")
    assert [(row["step"], row["guess"]) for row in json.loads(piped.stdout)["answers"]] == [
        ("shipped", "2"),
        ("size", "7"),
    ]
    assert "The guess: 7 GFLOPS." in " ".join(piped.stderr.split())


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_the_report_to_hand_in_has_the_guesses(home: Path, hpltune: Run) -> None:
    assert learnt(home, "0.5\n").returncode == 0
    hpltune.well("report", "--as", "kronos", "-o", "mine.html")
    page = (home / "mine.html").read_text()
    assert page.count("The guess: 0.5 GFLOPS.") == 1
    assert page.index("The guess: 0.5 GFLOPS.") < page.index("<h2>Test 2")


@pytest.mark.process
def test_ctrl_c_leaves_a_lesson_at_its_question(home: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [str(HPLTUNE), "learn", "kronos"], cwd=home, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdout is not None
        said = ""
        while "How many GFLOPS" not in said:
            said += process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert errors == ("hpltune: stopped by Ctrl-C; your guesses are kept, and `hpltune learn kronos` goes on here\n")


@pytest.mark.usefixtures("home")
def test_enter_that_was_pressed_during_a_simulation_answers_nothing() -> None:
    book = LessonBook.open(KRONOS, UserDirs.of_user(), anew=True)
    step = next(step for step in KRONOS.steps if step.asks == "rate")
    keyboard, screen = pty.openpty()
    os.write(keyboard, b"\n")
    shown = Console(file=StringIO(), width=80)

    def answer() -> None:
        until(lambda: "Your guess" in shown.file.getvalue())  # type: ignore[attr-defined]
        os.write(keyboard, b"12\n")

    somebody = Thread(target=answer)
    somebody.start()
    with os.fdopen(screen) as typed:
        assert _ask(shown, book, step, typed, first=False) == "12"
    somebody.join()
    os.close(keyboard)
