"""The engine `hpl` where runs fail, or where no model describes them."""

import sys
from collections.abc import Sequence
from functools import partial

import pytest
from broken_fitting import BrokenFitting
from engine_contract import CONDITIONAL, FAILED, space_of
from landscape import Landscape
from present import present

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Rung

SMALL = Rung(Fidelity.SMALL, 0.35)
PREFIX = Rung(Fidelity.PREFIX, 0.1)


@pytest.mark.heavy
def test_avoids_a_library_that_always_crashes() -> None:
    space = space_of(CONDITIONAL)
    engine, landscape = HplEngine(space, 5), Landscape(space, 5)
    crashed = 0
    for _ in range(60):
        point = present(engine.ask())
        broken = point["blas"] == "blis"
        crashed += broken
        engine.tell(point, FAILED if broken else Outcome(landscape.rate(point)))
    assert crashed < 6


def test_a_library_that_ran_elsewhere_is_given_up_where_it_crashes_here() -> None:
    space = space_of(CONDITIONAL)
    engine = HplEngine(space, 1)
    for number in range(0, len(space), 5):
        known = space.point(number)
        rate = 200.0 if known["blas"] == "blis" else 50.0
        engine.tell(known, Outcome(rate, rung=Rung(Fidelity.EARLIER, 1.0)))
    crashed = 0
    for _ in range(20):
        point = present(engine.ask())
        crashed += point["blas"] == "blis"
        engine.tell(point, FAILED if point["blas"] == "blis" else Outcome(100.0))
    assert crashed < 8


def test_a_value_that_failed_twice_is_not_asked_again_while_others_were_not_tried() -> None:
    grid, bcast = 'grid = ["2x2", "4x1", "1x4"], layout = "4x1"', 'BCAST = ["1rg", "1rM", "2rM"]'
    space = space_of(f"parameters = {{ NB = [64, 128, 192, 256], {grid}, DEPTH = [0, 1], {bcast} }}")
    for seed in range(15):
        engine, asked = HplEngine(space, seed), list[Scalar]()
        for _ in range(8):
            question = present(engine.choose((FULL,)))
            asked.append(question.params["NB"])
            ran = Outcome(10.0, 1.0, cost_s=1.0)
            engine.tell(question.params, Outcome(None, state="failed") if asked[-1] == asked[0] else ran)
        assert asked.count(asked[0]) <= 2


def test_one_configuration_may_fail_on_one_rung_and_run_on_another() -> None:
    space = space_of('[parameters]\nlayout = "4x1"\nblas = "openblas"\nNB = 128\ngrid = "2x2"\nDEPTH = 0\n')
    engine = HplEngine(space, 0)
    engine.tell(space.point(0), Outcome(10.0, rung=SMALL))
    engine.tell(space.point(0), Outcome(None, rung=PREFIX))
    assert present(engine.choose((SMALL, PREFIX, FULL))).rung == FULL


def test_a_model_that_cannot_be_fitted_gives_way_to_tpe_and_says_so() -> None:
    space = space_of(CONDITIONAL)
    engine, landscape = HplEngine(space, 0, fit=partial(BrokenFitting, first=8)), Landscape(space, 0)
    asked: list[Point] = []
    for _ in range(20):
        point = present(engine.ask())
        asked.append(point)
        engine.tell(point, Outcome(landscape.rate(point)))
    assert len({space.key(point) for point in asked}) == 20
    assert [remark.text for remark in engine.take_remarks()] == [
        "The model cannot describe the runs so far (not positive): Optuna's TPE goes on instead."
    ]
    assert engine.take_remarks() == []
    assert engine.choice() is not None


@pytest.mark.parametrize("rates", [[1e-300, 1e300], [50.0] * 12, [float("inf"), 10.0, 11.0], [1e-9, 100.0, 1e9]])
def test_odd_rates_end_no_study(rates: Sequence[float]) -> None:
    space = space_of(CONDITIONAL)
    engine = HplEngine(space, 0)
    for number in range(24):
        point = present(engine.ask())
        engine.tell(point, Outcome(rates[number % len(rates)]))
    assert "torch" not in sys.modules
