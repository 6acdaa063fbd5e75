"""Clusters that may be built, as `predict` reports them."""

from io import StringIO
from pathlib import Path

import pytest
from design_files import designs
from golden import hold_scene, told
from rich.console import Console

from results.metrics import merit
from results.report.model import Report
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


def test_a_search_that_was_stopped_before_its_first_result_has_an_empty_report() -> None:
    stopped = PredictResult((), interrupted=True).report()
    assert (stopped.parts, stopped.facts) == ((), [])


BARE = 'name = "sixteen"\nnodes = { count = 16 }'
SCENES = {
    "a design without price and power has lost them": (AS_IT_IS, BARE),
    "a design with a price of its own has lost its power": (f"price_usd = 4600\n{BARE}",),
    "a design that states both": ("nodes = { count = 16, price_usd = 300, power_w = 110 }",),
    "another network and noise": (AS_IT_IS, 'name = "other"\nnetwork = "faste"\nnoise = { runs = 0.01 }'),
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_designs_is_what_it_was(tmp_path: Path, request: pytest.FixtureRequest, scene: str) -> None:
    texts = [text.replace("[[design]]", "") for text in SCENES[scene]]
    found = designs(tmp_path, "".join(f"[[design]]\n{text}\n" for text in texts))
    result = PredictResult(predicted(found), interrupted=False, simulator="SimGrid 3.36", command="hpltune predict a")
    hold_scene(request, "designs", SCENES, scene, told(result.report(), result.page()))
