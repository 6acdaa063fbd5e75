"""A machine as a virtual cluster, as `calibrate` reports it."""

import tomllib

import pytest
from golden import hold_scene, told
from report_reading import as_json

from hpl.params import Scalar
from results.disturbance import Conditions
from results.report.model import Report
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


def test_a_model_without_checks_is_told_in_its_facts_only() -> None:
    told = result()
    assert (told.report().parts, told.unchecked) == ((), None)
    facts = told.report().facts
    assert isinstance(facts, dict)
    assert facts["cluster"]["name"] == "Kronos"
    assert tomllib.loads(told.text)["name"] == "Kronos"


DISTURBED = check((8.0,), 12.0, Conditions.DISTURBED)
SCENES = {
    "real and predicted rates side by side": result(
        check((9.0, 10.0, 20.0), 11.0), check((20.0,), 18.0), check((), 5.0), check((5.0,), None)
    ),
    "one check has an error and no median": result(check((10.0,), 9.5)),
    "a disturbed run tells least rates and no error": result(DISTURBED, check((10.0,), 9.5)),
    "all runs were disturbed": result(DISTURBED),
    "no run was both measured and simulated": result(check((), 5.0), check((5.0,), None)),
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_checks_of_a_model_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    told_of = SCENES[scene]
    facts = {name: value for name, value in as_json(told_of.report()).items() if name != "cluster"}
    text = told(Report("", told_of.report().parts, facts))
    hold_scene(request, "calibration", SCENES, scene, f"{text}\nUnchecked: {told_of.unchecked}")
