"""A published tuning as `reproduce` reports it."""

import re
from dataclasses import replace
from io import StringIO

import pytest
from report_reading import as_json
from rich.console import Console

from results.report.model import Copied, Figure, Heading, Sentence
from results.report.terminal import print_report
from results.stats.ranking import Ranked
from runners.virtual.load import load_cluster
from tuner.commands.reproduce import ReproduceResult
from tuner.reports.reproduction import sentences
from tuner.simulation.reproduction import BestFound, ComparedTest, SettingLoss, published
from tuner.simulation.simulator import Simulated

KRONOS = published("kronos")

FAILED = Simulated(None, None, "the simulation was stopped at its time limit of 1 s")


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
    assert any("Its error on tests 2 and 8 is 0.0 % (median)" in sentence for sentence in said)
    assert "Test 1 is predicted, too, but unlike the others and not counted among them: its error is 0.0 %." in said
    assert "Test 7 failed: the simulation was stopped at its time limit of 1 s." in said
    assert not any("Its error on tests" in sentence for sentence in sentences(KRONOS, rows(2, 4, 7, 8)))


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
    assert "above_peak" not in as_json(usual.report())


def test_the_figure_has_every_published_test_and_each_simulation_that_gave_a_result() -> None:
    rates, errors = (part for part in reproduced(4).report().parts if isinstance(part, Figure))
    published, simulated = rates.series
    assert len(published.x) == len(KRONOS.tests)
    assert simulated.x == tuple(test for test in published.x if test != "test 4")
    assert errors.series[0].x[:4] == ("test 1", "test 2", "test 3, fitted", "test 5, fitted")
    assert set(errors.series[0].y) == {0.0}


def test_without_any_simulation_no_difference_is_drawn() -> None:
    parts = reproduced(*range(1, 9)).report().parts
    assert [part.title for part in parts if isinstance(part, Figure)] == ["Published and simulated GFLOPS of each test"]


def test_the_page_says_what_was_simulated_what_a_setting_costs_and_how_to_run_it_again() -> None:
    loss = SettingLoss("DEPTH", 1, None, 0, 0.072, 0, 0.072)
    stuck = SettingLoss("NB", 208, 180, None, None, 64, 0.113)
    result = reproduced(found=BestFound(Ranked("best", {}, (15.32,), 1), (stuck, loss), None))
    parts = replace(result, simulator="SimGrid 3.36", command="hpltune reproduce kronos").page().parts
    assert isinstance(parts[0], Sentence)
    for word in ("SimGrid 3.36 computed every rate that is not called published", "Kronos", "fitted to tests 3, 5 and"):
        assert word in parts[0].text
    assert [part.text for part in parts if isinstance(part, Heading)] == [
        "Published beside simulated",
        "What the same hardware could have done",
        "The article also says",
        "What was simulated",
        "Run it again",
    ]
    costs = next(part for part in parts if isinstance(part, Figure) and part.x_axis == "setting")
    worst, told = costs.series
    assert (worst.x, worst.labels) == (("NB", "DEPTH"), ("64", "0"))
    assert (told.x, told.labels) == (("DEPTH",), ("0",))
    assert parts[-1] == Copied("hpltune reproduce kronos")
    assert replace(result, unfinished="Stopped.").page().parts == ()
