"""A machine as a virtual cluster, as `calibrate` reports it."""

import re
import tomllib
from io import StringIO

from rich.console import Console

from hpl.params import Scalar
from results.disturbance import Conditions
from results.report.model import Figure
from results.report.terminal import print_report
from runners.virtual.load import load_cluster
from tuner.commands.calibrate import CalibrateResult
from tuner.simulation.calibration import Check
from tuner.simulation.simulator import Simulated

POINT: dict[str, Scalar] = {"N": 2000, "NB": 64, "grid": "1x2", "DEPTH": 0, "SWAP": "mix", "NBMIN": 4}


def check(real: tuple[float, ...], predicted: float | None, conditions: Conditions = Conditions.UNDISTURBED) -> Check:
    simulated = Simulated(predicted, 1.0, "" if predicted else "the model has no such network")
    return Check(POINT, real, "" if real else "residual FAILED", simulated, conditions)


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


def test_a_disturbed_run_tells_least_rates_and_no_error_of_the_model() -> None:
    disturbed = check((8.0,), 12.0, Conditions.DISTURBED)
    told = result(disturbed, check((10.0,), 9.5))
    said = shown(told)
    assert re.search(r"at least 8\.00 │ +1 │ +12\.00 │ at most \+50\.0% │", said)
    assert "The model's error is -5.0 % on one configuration." in said
    alone = result(disturbed)
    assert "The model's error cannot be told: every HPL run to check it against was disturbed." in shown(alone)
    assert alone.unchecked is None
    facts = alone.report().facts
    assert isinstance(facts, dict)
    assert facts["median_error"] is None
    assert facts["checks"][0]["conditions"] == "disturbed"


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
