"""The report to hand in: a published tuning beside its simulation, and room for the reasons."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from as_user import Run

from results.report.html import to_html
from results.report.model import Blank, Copied, Figure, Folded, Heading, Part, Sentence, Table
from runners.virtual.load import load_cluster
from tuner.reports.hand_in import HandInPage
from tuner.simulation.lesson import lesson
from tuner.simulation.lesson_book import KeptAnswer, KeptRun
from tuner.simulation.reproduction import ComparedTest, published
from tuner.simulation.simulator import Simulated

KRONOS = published("kronos")
FAILED = Simulated(None, None, "the simulation was stopped at its time limit of 1 s")


def handed_in(*failed: int, author: str = "") -> HandInPage:
    tests = [
        ComparedTest(test, FAILED if test.number in failed else Simulated(1.01 * test.gflops, 1.0))
        for test in KRONOS.tests
    ]
    return HandInPage(
        cluster=load_cluster("kronos"),
        published=KRONOS,
        tests=tests,
        simulator="SimGrid 3.32",
        author=author,
        day=date(2026, 11, 28),
        command="hpltune report --as kronos",
        best_dat="HPLinpack benchmark input file",
    )


def chapter(parts: Sequence[Part], title: str) -> list[Part]:
    """The parts below a heading that begins so, up to the next heading."""
    first = next(place for place, part in enumerate(parts) if isinstance(part, Heading) and part.text.startswith(title))
    rest = parts[first + 1 :]
    ends = [place for place, part in enumerate(rest) if isinstance(part, Heading)]
    return list(rest[: ends[0]] if ends else rest)


def said(parts: Sequence[Part]) -> str:
    return " ".join(part.text for part in parts if isinstance(part, Sentence))


def test_every_test_stands_once_in_a_table_with_its_error_and_whether_it_was_fitted() -> None:
    table = next(part for part in handed_in().report().parts if isinstance(part, Table))
    assert [column.name for column in table.columns[:5]] == ["test", "published", "simulated", "error", "is"]
    assert [row[0] for row in table.rows] == [str(number) for number in range(1, 9)]
    assert table.rows[1][1:5] == ("10.6", "10.71", "+1.0%", "predicted")
    assert {row[0] for row in table.rows if row[4] == "fitted"} == {"3", "5", "6"}


def test_every_test_has_a_chapter_with_its_own_rates_and_room_for_the_reasons() -> None:
    parts = handed_in().report().parts
    for test in KRONOS.tests:
        own = chapter(parts, f"Test {test.number}: ")
        assert f"Published: {test.gflops:g} GFLOPS" in said(own)
        assert [part.label for part in own if isinstance(part, Blank)] == ["Why? In your words:"]


def test_a_chapter_says_what_the_test_changed_and_against_which_one() -> None:
    parts = handed_in().report().parts
    assert "Changed after test 3: P x Q from 1x8 to 2x4. Published: 12.74 GFLOPS, 10.7% more than test 3." in said(
        chapter(parts, "Test 4")
    )
    seventh = said(chapter(parts, "Test 7"))
    assert "Changed after test 5: N from 11500 to 12300, NB from 240 to 180 and MTU from 1500 to 6000." in seventh
    assert "the two rates do not tell which of them helped" in seventh
    assert "network from gige to faste" in said(chapter(parts, "Test 8"))
    assert "1,262 times the rate of test 1" in said(chapter(parts, "Test 2"))
    assert "fitted to this test" in said(chapter(parts, "Test 5"))


def test_a_test_whose_simulation_failed_says_so_in_its_chapter() -> None:
    assert f"The simulation failed: {FAILED.reason}." in said(chapter(handed_in(4).report().parts, "Test 4"))


def test_it_warns_once_and_asks_for_a_name_where_none_is_given() -> None:
    page = to_html([handed_in().report()], interactive=False)
    assert page.count('class="caution"') == 1
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert "<p>Author:</p><div></div></div>" in page
    named = to_html([handed_in(author="Ada <Lovelace>").report()])
    assert "Author: Ada &lt;Lovelace&gt;" in named
    assert "<title>The tuning of the Kronos value cluster (2004), repeated in a simulation</title>" in page


def test_it_ends_with_the_file_of_the_best_test_and_its_own_command() -> None:
    appendix = chapter(handed_in().report().parts, "Appendix")
    titles = [part.title for part in appendix if isinstance(part, Folded)]
    assert titles == ["The article also says", "The virtual cluster", "HPL.dat of test 7"]
    assert appendix[-1] == Copied("hpltune report --as kronos")
    assert not [part for part in appendix if isinstance(part, Figure)]


@pytest.mark.parametrize(("guess", "begins"), [("2x4", "Guessed before the simulation: "), (None, "Asked before ")])
def test_a_question_without_a_guess_is_not_called_guessed(guess: str | None, begins: str) -> None:
    step = lesson("kronos").step("grids")
    runs = tuple(KeptRun(str(value), 10.0 + number) for number, value in enumerate(step.values, 1))
    report = replace(handed_in(), answers=[(step, KeptAnswer(guess, "grids-1", runs))]).report()
    (question,) = [part.text for part in report.parts if isinstance(part, Sentence) and step.question in part.text]
    assert question.startswith(begins)


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_the_command_writes_it_with_studies_folded(hpltune: Run, home: Path) -> None:
    grid = ("--engine", "grid", "--set", "N=1000", "--set", "NB=64,128", "--set", "grid=2x4", "--set", "blas=atlas")
    fixed = ("--set", "BCAST=1rg", "--set", "DEPTH=0", "--set", "SWAP=mix", "--set", "NBMIN=4", "--set", "net.mtu=1500")
    done = hpltune(
        "tune",
        "--cluster",
        "kronos",
        "--space",
        "kronos-free",
        *grid,
        *fixed,
        "--set",
        "net.rx_usecs=0",
        "--study",
        "blocks",
    )
    assert done.returncode == 0, done.stderr
    done = hpltune("report", "blocks", "--as", "kronos", "--author", "Ada", "--out", "mine.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Wrote mine.html. Open it in a browser." in done.stdout
    page = (home / "mine.html").read_text()
    assert page.count("Study blocks (simulated): 2 runs, best") == 1
    assert page.count('class="caution"') == 1
    assert "Others published" not in page
    assert "hpltune report blocks --as kronos --author Ada --out mine.html" in page
