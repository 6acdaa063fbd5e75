"""A machine as a virtual cluster: what it is checked against, and what `calibrate` tells of it."""

import re
import tomllib
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hpl.params import Scalar
from results.report.model import Figure
from results.report.terminal import print_report
from runners.virtual.load import load_cluster
from tuner.commands.calibrate import CalibrateRequest, CalibrateResult, calibrate
from tuner.events import Event, Notice
from tuner.options import TuneOptions
from tuner.simulation.batch import Simulated
from tuner.simulation.calibration.checks import Check, CheckedRanks, check_points
from tuner.stopping import StopRequest

POINT: dict[str, Scalar] = {"N": 2000, "NB": 64, "grid": "1x2", "DEPTH": 0, "SWAP": "mix", "NBMIN": 4}


def check(real: tuple[float, ...], predicted: float | None) -> Check:
    simulated = Simulated(predicted, 1.0, "" if predicted else "the model has no such network")
    return Check(POINT, real, "" if real else "residual FAILED", simulated)


def result(*checks: Check) -> CalibrateResult:
    return CalibrateResult(load_cluster("kronos"), checks)


def shown(told: CalibrateResult) -> str:
    text = StringIO()
    print_report(Console(file=text, width=200), told.report())
    return text.getvalue()


def test_real_and_predicted_rates_stand_side_by_side_with_the_error_of_the_median() -> None:
    told = result(check((9.0, 10.0, 20.0), 11.0), check((20.0,), 18.0), check((), 5.0), check((5.0,), None))
    said = shown(told)
    assert re.search(r"│ +10\.00 │ +3 │ +11\.00 │ \+10\.0% │", said)
    assert "residual FAILED" in said
    assert "the model has no such network" in said
    assert "The model's error on 2 configurations is 10.0 % (median), 10.0 % at most, and +0.0 % on average" in said
    assert told.unchecked is None


def test_one_check_has_an_error_and_no_median() -> None:
    assert "The model's error is -5.0 % on one configuration." in shown(result(check((10.0,), 9.5)))


def test_a_model_is_unchecked_where_no_run_was_both_measured_and_simulated() -> None:
    told = result(check((), 5.0), check((5.0,), None))
    assert told.unchecked is not None
    assert "so the model is unchecked; the first: residual FAILED" in told.unchecked
    assert "The model's error" not in shown(told)


def test_a_model_without_checks_is_told_in_its_facts_only() -> None:
    told = result()
    assert (told.report().parts, told.unchecked) == ((), None)
    facts = told.report().facts
    assert isinstance(facts, dict)
    assert facts["cluster"]["name"] == "Kronos"
    assert tomllib.loads(told.text)["name"] == "Kronos"


def test_the_figure_has_the_line_of_equal_rates_and_a_point_for_each_check_that_counts() -> None:
    told = result(check((10.0,), 11.0), check((20.0,), 18.0), check((), 5.0))
    [figure] = [part for part in told.report().parts if isinstance(part, Figure)]
    points, equal = figure.series
    assert (points.x, points.y) == ((10.0, 20.0), (11.0, 18.0))
    assert (equal.x, equal.line) == ((10.0, 20.0), True)


def test_checks_fill_all_cores_and_grow_with_the_nodes() -> None:
    one = check_points(CheckedRanks(4, "openblas", "auto"), 8192, 12)
    assert {point["grid"] for point in one} == {"1x4", "2x2", "4x1"}
    assert {point["N"] for point in one} == {2000, 3000, 4000, 6000, 8000}
    eight = check_points(CheckedRanks(4, "openblas", "auto", nodes=8, binding="none"), 16384, 12)
    assert {point["N"] for point in eight} == {4000, 6000, 8000, 12000, 16000}
    assert {point["binding"] for point in eight} == {"none"}
    assert {point["N"] for point in check_points(CheckedRanks(4, "openblas", "auto"), 1500, 2)} == {1500}


@pytest.mark.real
@pytest.mark.usefixtures("simgrid", "real_hpl")
def test_a_machine_is_calibrated_without_a_terminal_also_where_its_file_cannot_be_written(home: Path) -> None:
    events: list[Event] = []
    (home / "models").mkdir()
    request = CalibrateRequest(home / "models", TuneOptions(blas_only=("openblas",)), 1, 1)
    told = calibrate(request, events.append, StopRequest())
    assert told.cluster is not None
    assert len(told.checks) == 1
    assert told.unwritten is not None
    assert "Is a directory" in str(told.unwritten)
    assert not told.interrupted
    assert Notice("Simulating the 1 checked configuration") in events


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_a_stop_while_the_machine_is_measured_gives_no_model(home: Path) -> None:
    stop = StopRequest()

    def ask(event: Event) -> None:
        if isinstance(event, Notice) and event.text.startswith("Round 1 of 1"):
            stop.ask(at_once=True)

    request = CalibrateRequest(home / "mine.toml", TuneOptions(blas_only=("openblas",)), 0, 1)
    told = calibrate(request, ask, stop)
    assert told.interrupted
    assert told.cluster is None
    assert (told.report().parts, told.text) == ((), "")
    assert not (home / "mine.toml").exists()
