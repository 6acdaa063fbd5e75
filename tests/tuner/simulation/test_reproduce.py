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

from results.report.model import Figure, Table
from results.report.terminal import print_report
from results.stats.ranking import Ranked
from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.budget import Budget
from tuner.commands.reproduce import ReproduceRequest, ReproduceResult, reproduce
from tuner.events import Event, PartFound, TrialEnded
from tuner.options import TuneOptions
from tuner.reports.reproduction import sentences
from tuner.simulation.batch import Simulated
from tuner.simulation.cluster import SimulatedCluster, cluster_dict
from tuner.simulation.reproduction.best_found import BestFound, SettingLoss, neighbours, search, setting_losses
from tuner.simulation.reproduction.comparison import ComparedTest
from tuner.simulation.reproduction.published import published
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


def rows(*failed: int) -> list[ComparedTest]:
    """All tests as published, but for those that failed."""
    return [
        ComparedTest(test, FAILED if test.number in failed else Simulated(test.gflops, 1.0)) for test in KRONOS.tests
    ]


def reproduced(*failed: int, found: BestFound | None = None) -> ReproduceResult:
    return ReproduceResult(load_cluster("kronos"), KRONOS, tuple(rows(*failed)), found, "study")


def shown(result: ReproduceResult, width: int = 160) -> str:
    text = StringIO()
    print_report(Console(file=text, width=width), result.report())
    return text.getvalue()


@pytest.mark.parametrize("width", [45, 80, 100, 200])
def test_nothing_of_the_published_tests_is_cut_off(width: int) -> None:
    said = " ".join(shown(reproduced(4), width).split())
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
    said = shown(reproduced())
    lines = {int(line.split("│")[1]): line for line in said.splitlines() if re.match(r"│ +\d", line)}
    percent = {1: 0, 2: 38, 3: 41, 4: 45, 5: 47, 6: 41, 7: 52, 8: 27}
    assert all(f"│ {percent[number]:9d} │" in line for number, line in lines.items()), said
    assert "│      171 │" in lines[7]
    assert "│      235 │" in lines[2]


def test_what_the_article_says_of_prices_and_of_the_network_is_shown() -> None:
    said = shown(reproduced())
    for figure in ("2,490", "171", "2,063", "142", "1,961", "135", "$211", "117 to 29 us", "three more nodes"):
        assert figure in said, figure


def test_an_assumed_setting_is_never_shown_as_published() -> None:
    assumed = SettingLoss("DEPTH", 1, None, 0, 0.072, 0, 0.072)
    stated = SettingLoss("net.mtu", 9000, 6000, None, 0.009, 1500, 0.038)
    said = shown(reproduced(found=BestFound(Ranked("best", {}, (15.32,), 1), (assumed, stated), None)))
    assert re.search(r"┃ setting +┃ best +┃ published ┃ assumed ┃", said)
    assert re.search(r"│ DEPTH +│ 1 +│ +│ 0 +│", said)
    assert "The article does not state DEPTH." in said
    assert "net.mtu was best at 6000 in the article and at 9000 here. In the model each packet costs" in said


def test_only_tests_with_a_result_are_counted_among_the_predicted() -> None:
    said = sentences(KRONOS, rows(4, 7))
    assert any("predicted tests 2, 8 is 0.0 % (median)" in sentence for sentence in said)
    assert "Test 7 failed: the simulation was stopped at its time limit of 1 s." in said
    assert not any("Its error on the predicted tests" in sentence for sentence in sentences(KRONOS, rows(2, 4, 7, 8)))


def test_a_rate_above_peak_is_shown_with_its_reason() -> None:
    fast = tuple(ComparedTest(test, Simulated(3 * test.gflops, 1.0)) for test in KRONOS.tests)
    result = ReproduceResult(load_cluster("kronos"), KRONOS, fast)
    said = shown(result, 200)
    assert re.search(r"│ % of peak +│ +52 │ +155", said)
    assert said.count("More than 100 % of peak: the model of this virtual cluster computes faster") == 1
    facts = result.report().facts
    assert isinstance(facts, dict)
    assert "More than 100 % of peak" in facts["above_peak"]
    usual = reproduced()
    assert "More than 100 %" not in shown(usual)
    assert "above_peak" not in usual.report().facts


def test_the_figure_has_every_published_test_and_each_simulation_that_gave_a_result() -> None:
    [figure] = [part for part in reproduced(4).report().parts if isinstance(part, Figure)]
    published, simulated = figure.series
    assert len(published.x) == len(KRONOS.tests)
    assert simulated.x == tuple(test for test in published.x if test != "test 4")


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
    found = setting_losses(study, best, KRONOS)
    assert {row.name for row in found} == set(study.space.varying)
    assert {row.name for row in found if row.assumed is not None} == {"BCAST", "DEPTH", "SWAP", "NBMIN"}
    simulated = {entry.key for entry in study.ranking()}
    assert all(study.space.key(point) in simulated for _, point in neighbours(study, best.params))
    assert all(row.worst_loss >= 0 for row in found)


def request(home: Path, *, trials: int) -> ReproduceRequest:
    return ReproduceRequest("kronos", trials, 0, 2, "random", 120.0, str(home / "my.db"))


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_publication_is_reproduced_without_a_terminal(home: Path) -> None:
    events: list[Event] = []
    result = reproduce(request(home, trials=0), events.append, StopRequest())
    assert [row.test.number for row in result.tests] == list(range(1, 9))
    assert (result.found, result.interrupted) == (None, False)
    assert [event.parts for event in events if isinstance(event, PartFound)] == [result.report().parts]


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_the_tests_are_told_before_the_search_begins_and_stand_first_in_the_report_of_a_stopped_one(home: Path) -> None:
    events: list[Event] = []
    stop = StopRequest()

    def hear(event: Event) -> None:
        events.append(event)
        if isinstance(event, TrialEnded):
            stop.ask(at_once=True)

    result = reproduce(request(home, trials=60), hear, stop)
    kinds = [type(event) for event in events]
    assert kinds.index(PartFound) < kinds.index(TrialEnded)
    early = next(event.parts for event in events if isinstance(event, PartFound))
    assert result.report().parts[: len(early)] == early
    assert result.interrupted
    assert result.stopped is not None
    assert result.stopped.study.name == "reproduce-kronos-1"
    said = shown(result, 200)
    assert "Best of study reproduce-kronos-1 (simulated)" in said
    assert said.rstrip().endswith("`hpltune reproduce kronos` begins anew.")
    assert "goes on with its search" in said


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_stop_before_the_tests_are_simulated_is_a_result_that_says_so(home: Path) -> None:
    stop = StopRequest()
    stop.ask()
    result = reproduce(request(home, trials=0), lambda _: None, stop)
    assert result.interrupted
    assert not [part for part in result.report().parts if isinstance(part, Table)]
    assert "Stopped before all published tests were simulated" in shown(result, 200)


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_reproduce_without_any_result_is_an_error(hpltune: Run) -> None:
    done = hpltune("reproduce", "kronos", "--trials", "2", "--limit", "0.01s")
    assert done.returncode == 1
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
