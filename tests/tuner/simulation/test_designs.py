"""Clusters that may be built, as their designs describe them and as `predict` shows them."""

import re
from io import StringIO
from pathlib import Path

import pytest
from as_user import Run
from rich.console import Console

from results.metrics import merit
from results.report.model import Figure, Report
from results.report.terminal import print_report
from results.stats.ranking import Ranked
from tuner.commands.predict import PredictRequest, PredictResult, predict
from tuner.errors import TunerError
from tuner.events import Event, Notice
from tuner.simulation.design.designs import Design, merge, read_designs
from tuner.simulation.design.prediction import Prediction
from tuner.stopping import StopRequest


def designs(folder: Path, text: str) -> tuple[Design, ...]:
    file = folder / "designs.toml"
    file.write_text(f'base = "kronos"\n{text}')
    return read_designs(file)


def design(folder: Path, text: str) -> Design:
    return designs(folder, f"[[design]]\n{text}")[0]


def rate_of(found: Design, blas: str) -> object:
    return found.cluster.blas[blas].dgemm_gflops


def price_and_power(found: Design) -> tuple[float | None, float | None]:
    return found.cluster.price_with("gige"), found.cluster.power_with("gige")


def test_a_design_changes_a_blas_of_its_base(tmp_path: Path) -> None:
    faster = design(tmp_path, "blas = { atlas = { dgemm_gflops = 3.2 } }")
    assert rate_of(faster, "atlas") == 3.2
    assert rate_of(faster, "acml") == 2.245
    assert faster.blas is None


def test_a_design_brings_a_blas_that_its_base_has_not(tmp_path: Path) -> None:
    assert rate_of(design(tmp_path, "[design.blas.goto]\ndgemm_gflops = 3.1"), "goto") == 3.1


def test_a_design_is_held_to_the_blas_and_the_network_it_names(tmp_path: Path) -> None:
    held = design(tmp_path, 'blas = "acml"\nnetwork = "faste"')
    assert (held.blas, held.network) == ("acml", "faste")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('network = ["gige"]', "design 1: network = ['gige']: expected a text"),
        ("network = { gige = { mtu = 9000 } }", "design 1: network = {'gige': {'mtu': 9000}}: expected a text"),
        ('blas = ["atlas"]', "design 1: blas = ['atlas']: expected a text"),
        ("blas = 3", "design 1: blas = 3: expected a text"),
        ("name = 3", "design 1: name = 3: expected a text"),
        ('blas = "mkl"', "blas = mkl: Kronos has atlas, acml"),
    ],
)
def test_what_names_a_part_and_is_no_name_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(TunerError, match=re.escape(sentence)):
        design(tmp_path, text)


def test_other_nodes_have_neither_the_price_nor_the_power_of_their_base(tmp_path: Path) -> None:
    assert price_and_power(design(tmp_path, "nodes = { count = 16 }")) == (None, None)
    assert price_and_power(design(tmp_path, "nodes = { count = 16 }\nprice_usd = 4600")) == (4600, None)
    assert price_and_power(design(tmp_path, "nodes = { count = 16, price_usd = 300, power_w = 110 }")) == (4800, 1760)


def test_the_nodes_of_the_base_keep_its_price_and_power(tmp_path: Path) -> None:
    assert price_and_power(design(tmp_path, "noise = { runs = 0.01 }")) == (2490, 900)
    assert price_and_power(design(tmp_path, "nodes = { count = 8 }")) == (2490, 900)


def report(found: tuple[Design, ...], gflops: float = 14.19) -> Report:
    best = Ranked("key", {"N": 12416, "NB": 128, "grid": "2x4", "blas": "atlas"}, (gflops,), 1)
    entries = []
    for one in found:
        price_usd, power_w = price_and_power(one)
        entries.append(
            Prediction(one, "study", best, merit(gflops, rpeak_gflops=28.1, price_usd=price_usd, power_w=power_w))
        )
    return PredictResult(tuple(entries), interrupted=False).report()


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
    for figure in ("eight", "design 2", "14.19", "50.5", "175.5", "15.77", "2490", "12416", "128", "2x4", "atlas"):
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
    peak, price = (part for part in parts if isinstance(part, Figure))
    assert [series.name for series in peak.series] == ["Rpeak", "Rmax, tuned"]
    assert peak.series[1].x == ("eight of them as they are", "sixteen")
    assert (price.series[0].labels, price.series[0].x) == (("eight of them as they are",), (2490.0,))


def test_designs_without_a_price_have_no_figure_of_prices(tmp_path: Path) -> None:
    parts = report((design(tmp_path, "nodes = { count = 16 }"),)).parts
    assert [part.title for part in parts if isinstance(part, Figure)] == ["Rmax within Rpeak"]


def test_a_search_that_was_stopped_before_its_first_result_has_an_empty_report() -> None:
    stopped = PredictResult((), interrupted=True).report()
    assert (stopped.parts, stopped.facts) == ((), [])


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_designs_are_tuned_without_a_terminal(home: Path) -> None:
    (home / "designs.toml").write_text('base = "kronos"\n[[design]]\nname = "as it is"\n[[design]]\nname = "again"\n')
    events: list[Event] = []
    request = PredictRequest(home / "designs.toml", "quick", "random", 2, 0, False, 2, 120.0, str(home / "my.db"))
    result = predict(request, events.append, StopRequest())
    assert [prediction.design.name for prediction in result.predictions] == ["as it is", "again"]
    assert all(prediction.gflops > 1 for prediction in result.predictions)
    assert not result.interrupted
    assert Notice("Design 2 of 2: again") in events
    assert [prediction.study for prediction in result.predictions] == ["predict-as-it-is-1", "predict-again-1"]
    assert len(result.report().facts) == 2


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_design_that_fails_costs_neither_table_nor_picture_of_those_before_it(hpltune: Run, home: Path) -> None:
    (home / "designs.toml").write_text(f'base = "kronos"\n{AS_IT_IS}[[design]]\nnodes = {{ count = 4 }}\n')
    done = hpltune("predict", "designs.toml", "--space", "kronos", "--trials", "2", "--plot", "designs.svg")
    assert done.returncode == 2
    assert "8x1 needs 8 cores, but there are 4" in done.stderr
    assert "│ eight of them as they are │" in done.stdout
    assert "<svg" in (home / "designs.svg").read_text()


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_stop_before_the_first_design_ends_a_prediction_without_an_error(home: Path) -> None:
    (home / "designs.toml").write_text('base = "kronos"\n[[design]]\n')
    stop = StopRequest()

    def ask(event: Event) -> None:
        if event == Notice("Design 1 of 1: design 1"):
            stop.ask()

    request = PredictRequest(home / "designs.toml", "quick", "random", 2, 0, False, 2, 120.0, str(home / "my.db"))
    result = predict(request, ask, stop)
    assert result.interrupted
    assert result.predictions == ()


def test_a_table_laid_over_a_list_of_no_tables_replaces_it() -> None:
    assert merge({"gflops": [[1.0, 2.0]]}, {"gflops": {"n": 1}}) == {"gflops": {"n": 1}}
