"""Clusters that may be built, as `predict` reports them."""

from io import StringIO
from pathlib import Path

import pytest
from design_files import design, designs
from rich.console import Console

from results.metrics import merit
from results.report.model import Copied, Figure, Report, Sentence, Table
from results.report.terminal import print_report
from results.stats.ranking import Ranked
from tuner.commands.predict import PredictResult
from tuner.simulation.design import Design, Prediction


def price_and_power(found: Design) -> tuple[float | None, float | None]:
    return found.cluster.price_with("gige"), found.cluster.power_with("gige")


def predicted(found: tuple[Design, ...], gflops: float = 14.19) -> tuple[Prediction, ...]:
    best = Ranked("key", {"N": 12416, "NB": 128, "grid": "2x4", "blas": "atlas"}, (gflops,), 1)
    entries = []
    for one in found:
        price_usd, power_w = price_and_power(one)
        entries.append(
            Prediction(one, "study", best, merit(gflops, rpeak_gflops=28.1, price_usd=price_usd, power_w=power_w))
        )
    return tuple(entries)


def report(found: tuple[Design, ...]) -> Report:
    return PredictResult(predicted(found), interrupted=False).report()


def shown(found: tuple[Design, ...], width: int) -> str:
    text = StringIO()
    print_report(Console(file=text, width=width), report(found))
    return text.getvalue()


AS_IT_IS = """
[[design]]
name = "eight of them as they are"
"""


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_nothing_of_the_designs_is_cut_off(tmp_path: Path, width: int) -> None:
    text = shown(designs(tmp_path, f"{AS_IT_IS}[[design]]\nnodes = {{ count = 16 }}"), width)
    assert "…" not in text
    for figure in ("eight", "design 2", "14.19", "50.5", "175.5", "15.77", "2,490", "12416", "128", "2x4", "atlas"):
        assert figure in text, text


def test_figures_that_a_design_has_lost_are_told(tmp_path: Path) -> None:
    bare = 'name = "sixteen"\nnodes = { count = 16 }'
    lost = "the base states it for other nodes"
    said = shown(designs(tmp_path, f"{AS_IT_IS}[[design]]\n{bare}"), 200)
    assert f"sixteen has no price_usd and no power_w: {lost}" in said
    assert said.count(lost) == 1
    assert f"sixteen has no power_w: {lost}" in shown((design(tmp_path, f"price_usd = 4600\n{bare}"),), 200)
    priced = design(tmp_path, "nodes = { count = 16, price_usd = 300, power_w = 110 }")
    assert lost not in shown((priced,), 200)


def test_figures_show_the_rates_within_peak_and_against_the_price_of_those_that_have_one(tmp_path: Path) -> None:
    parts = report(designs(tmp_path, f'{AS_IT_IS}[[design]]\nname = "sixteen"\nnodes = {{ count = 16 }}')).parts
    peak, cost, price = (part for part in parts if isinstance(part, Figure))
    assert [series.name for series in peak.series] == ["Rpeak", "simulated, tuned"]
    assert peak.series[1].x == ("eight of them as they are", "sixteen")
    assert cost.series[0].x == ("eight of them as they are",)
    assert cost.series[0].y == pytest.approx([2490 / 14.19])
    assert (price.series[0].labels, price.series[0].x) == (("eight of them as they are",), (2490.0,))


def test_designs_without_a_price_have_no_figure_of_prices(tmp_path: Path) -> None:
    parts = report((design(tmp_path, "nodes = { count = 16 }"),)).parts
    assert [part.title for part in parts if isinstance(part, Figure)] == ["Simulated rate within Rpeak"]


def test_a_search_that_was_stopped_before_its_first_result_has_an_empty_report() -> None:
    stopped = PredictResult((), interrupted=True).report()
    assert (stopped.parts, stopped.facts) == ((), [])


def test_the_page_says_what_each_design_is_made_of_and_how_to_predict_again(tmp_path: Path) -> None:
    found = designs(tmp_path, f'{AS_IT_IS}[[design]]\nname = "other"\nnetwork = "faste"\nnoise = {{ runs = 0.01 }}')
    predictions = predicted(found)
    page = PredictResult(predictions, interrupted=False, simulator="SimGrid 3.36", command="hpltune predict a.toml")
    parts = page.page().parts
    assert isinstance(parts[0], Sentence)
    assert "Simulated, not measured: SimGrid 3.36" in parts[0].text
    assert "no rate has an interval" not in parts[0].text
    tables = [part.title for part in parts if isinstance(part, Table)]
    assert tables == ["Tuned in simulation", "eight of them as they are", "other"]
    assert Sentence("Its search used the network faste. Its trials are study study.") in parts
    assert parts[-1] == Copied("hpltune predict a.toml")
    exact = PredictResult(predictions[:1], interrupted=False).page().parts[0]
    assert isinstance(exact, Sentence)
    assert "no rate has an interval" in exact.text
    assert PredictResult((), interrupted=True).page().parts == ()
