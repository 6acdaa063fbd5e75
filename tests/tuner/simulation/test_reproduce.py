"""A published tuning as `reproduce` tells of it: its tests, the search, and what ends either."""

import re
import signal
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from rich.console import Console

from results.stats.ranking import Ranked
from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.budget import Budget
from tuner.options import TuneOptions
from tuner.reports.reproduction import sentences, show_found, show_summary, show_tests
from tuner.simulation.batch import Simulated
from tuner.simulation.cluster import SimulatedCluster, cluster_dict
from tuner.simulation.reproduction.published import published
from tuner.simulation.reproduction.reproduce import Found, SettingRow, neighbours, search, weighed
from tuner.simulation.reproduction.reproduce import TestRow as Row
from tuner.simulation.session import sitting
from tuner.simulation.study import VirtualStudy
from tuner.stopping import StopRequest
from tuner.study.session import StudyContext
from tuner.user_dirs import UserDirs

KRONOS = published("kronos")
FAILED = Simulated(None, None, "the simulation was stopped at its time limit of 1 s")
FEW = {
    "N": ["600"], "NB": ["16", "64"], "grid": ["1x8", "2x4"], "BCAST": ["1rg", "Lng"], "SWAP": ["bin", "mix"],
    "NBMIN": ["2", "8"], "net.mtu": ["1500", "9000"],
}  # fmt: skip


def rows(*failed: int) -> list[Row]:
    """All tests as published, but for those that failed."""
    return [Row(test, FAILED if test.number in failed else Simulated(test.gflops, 1.0)) for test in KRONOS.tests]


@pytest.mark.parametrize("width", [45, 80, 100, 200])
def test_nothing_of_the_published_tests_is_cut_off(width: int) -> None:
    text = StringIO()
    show_tests(Console(file=text, width=width), KRONOS, rows(4))
    said = " ".join(text.getvalue().split())
    assert "…" not in said
    for figure in (
        "MTU 6000, N and NB adjusted",
        "12300",
        "180",
        "2x4",
        "14.53",
        "0.0084",
        "+0.0%",
        "failed",
        "fitted",
    ):
        assert figure in said, said


def test_every_figure_of_the_articles_tests_is_shown_beside_the_simulated_ones() -> None:
    text = StringIO()
    show_tests(Console(file=text, width=160), KRONOS, rows())
    lines = {int(line.split("│")[1]): line for line in text.getvalue().splitlines() if re.match(r"│ +\d", line)}
    percent = {1: 0, 2: 38, 3: 41, 4: 45, 5: 47, 6: 41, 7: 52, 8: 27}
    assert all(f"│ {percent[number]:9d} │" in line for number, line in lines.items()), text.getvalue()
    assert "│      171 │" in lines[7]
    assert "│      235 │" in lines[2]


def test_what_the_article_says_of_prices_and_of_the_network_is_shown() -> None:
    site = SimulatedCluster(load_cluster("kronos"), *([None] * 4))  # type: ignore[arg-type]
    text = StringIO()
    show_summary(Console(file=text, width=160), site, KRONOS, rows())
    said = text.getvalue()
    for figure in ("2,490", "171", "2,063", "142", "1,961", "135", "$211", "117 to 29 us", "three more nodes"):
        assert figure in said, figure


def test_an_assumed_setting_is_never_shown_as_published() -> None:
    assumed = SettingRow("DEPTH", 1, None, 0, 0.072, 0, 0.072)
    stated = SettingRow("net.mtu", 9000, 6000, None, 0.009, 1500, 0.038)
    found = Found(Ranked("best", {}, (15.32,), 1), (assumed, stated), None)
    text = StringIO()
    show_found(Console(file=text, width=160), KRONOS, rows(), found, "study")
    said = text.getvalue()
    assert re.search(r"┃ setting +┃ best +┃ published ┃ assumed ┃", said)
    assert re.search(r"│ DEPTH +│ 1 +│ +│ 0 +│", said)
    assert "The article does not state DEPTH." in said
    assert "net.mtu was best at 6000 in the article and at 9000 here. In the model each packet costs" in said


def test_only_tests_with_a_result_are_counted_among_the_predicted() -> None:
    said = sentences(KRONOS, rows(4, 7))
    assert any("predicted tests 2, 8 is 0.0 % (median)" in sentence for sentence in said)
    assert "Test 7 failed: the simulation was stopped at its time limit of 1 s." in said
    assert not any("Its error on the predicted tests" in sentence for sentence in sentences(KRONOS, rows(2, 4, 7, 8)))


@pytest.fixture
def study(home: Path, simgrid: object) -> Iterator[VirtualStudy]:
    """A search of one trial in a small space; seed 2 begins five settings away from the best."""
    assert simgrid
    places = UserDirs.of_user()
    site = SimulatedCluster.open(load_cluster("kronos"), places, None, None)
    options = TuneOptions(
        space="kronos-free", engine="random", budget=Budget(trials=1), overrides=FEW, cluster=cluster_dict(site.cluster)
    )
    with Store.open(home / "own.db") as store:
        bench = StudyContext(store, lambda _: None, StopRequest(), home / "runs")
        with sitting("small", options, site, bench) as study:
            yield study


@pytest.mark.real
def test_every_setting_of_the_best_is_weighed_wherever_the_search_began(study: VirtualStudy) -> None:
    best = search(study, "random", 2)
    assert best is not None
    found = weighed(study, best, KRONOS)
    assert {row.name for row in found} == set(study.space.varying)
    assert {row.name for row in found if row.assumed is not None} == {"BCAST", "DEPTH", "SWAP", "NBMIN"}
    simulated = {entry.key for entry in study.ranking()}
    assert all(study.space.key(point) in simulated for _, point in neighbours(study, best.params))
    assert all(row.worst_loss >= 0 for row in found)


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_reproduce_without_any_result_is_an_error(hpltune: Run) -> None:
    done = hpltune("reproduce", "kronos", "--trials", "2", "--limit", "0.01s")
    assert done.returncode in {1, 2}
    assert "hpltune: no simulation gave a result; the last one: the simulation was stopped at its time" in done.stderr


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_stopped_search_tells_the_best_so_far_and_how_to_go_on(home: Path) -> None:
    arguments = ("reproduce", "kronos", "--trials", "60", "--db", "my.db")
    pipe = subprocess.PIPE
    with subprocess.Popen([str(HPLTUNE), *arguments], cwd=home, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        said = ""
        while "#2 " not in said:
            said += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Best of study reproduce-kronos-1" in rest
    assert "`hpltune tune --resume --study reproduce-kronos-1 --db my.db` goes on with its search" in rest
