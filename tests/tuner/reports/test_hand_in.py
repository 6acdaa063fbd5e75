"""The report to hand in: a published tuning beside its simulation, and room for the reasons."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from as_user import Run
from golden import hold_scene, told

from results.report.html import to_html
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


def test_it_warns_once_and_asks_for_a_name_where_none_is_given() -> None:
    page = to_html([handed_in().report()], interactive=False)
    assert page.count('class="caution"') == 1
    assert page.count('class="drawn"') == 2
    assert "<script" not in page
    assert "<p>Author:</p><div></div></div>" in page
    named = to_html([handed_in(author="Ada <Lovelace>").report()])
    assert "Author: Ada &lt;Lovelace&gt;" in named
    assert "<title>The tuning of the Kronos value cluster (2004), repeated in a simulation</title>" in page


GRIDS = lesson("kronos").step("grids")
RATES = tuple(KeptRun(str(value), 10.0 + number) for number, value in enumerate(GRIDS.values, 1))
SCENES = {
    "all tests": handed_in(author="Ada"),
    "a test whose simulation failed": handed_in(4),
    "a question with a guess": replace(handed_in(), answers=[(GRIDS, KeptAnswer("2x4", "grids-1", RATES))]),
    "a question without a guess": replace(handed_in(), answers=[(GRIDS, KeptAnswer(None, "grids-1", RATES))]),
}


@pytest.mark.parametrize("scene", SCENES)
def test_the_report_to_hand_in_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    hold_scene(request, "hand_in", SCENES, scene, told(SCENES[scene].report()))


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
