"""The engine `hpl` in spaces too large to hold, of which it knows a sample."""

import pytest
from engine_contract import LARGE, MANY_VALUES, space_of
from landscape import Landscape
from present import present

from tuner.engines.base import Engine, EngineContext
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Rung
from tuner.engines.points import neighbours
from tuner.engines.probes import Probes

CHEAP = Rung(Fidelity.SMALL, 0.35)


@pytest.mark.heavy
def test_a_space_too_large_to_hold_is_climbed_from_what_looks_best() -> None:
    space = space_of(LARGE)
    landscape = Landscape(space, 3)
    engine = HplEngine(space, 3)
    rates = []
    for _ in range(40):
        question = present(engine.choose((FULL,)))
        rates.append(landscape.rate(question.params))
        engine.tell(question.params, Outcome(rates[-1]))
    assert max(rates) > 0.95 * summit(engine, landscape)


def test_where_dgemm_was_timed_it_is_begun_with_what_should_be_the_fastest() -> None:
    timed = Probes({"openblas": {"Haswell": 10.0, "SkylakeX": 20.0, "Zen": 40.0}})
    first = present(HplEngine(space_of(LARGE), 3, EngineContext(probes=timed)).choose((CHEAP, FULL)))
    assert first.rung == FULL
    assert (first.params["kernel"], first.params["RFACT"], first.params["PFACT"]) == ("Zen", "crout", "right")


@pytest.mark.heavy
def test_a_parameter_may_have_values_that_the_sample_of_a_large_space_has_not() -> None:
    space = space_of(MANY_VALUES)
    engine, landscape = HplEngine(space, 0), Landscape(space, 0)
    for _ in range(8):
        question = present(engine.choose((FULL,)))
        engine.tell(question.params, Outcome(landscape.rate(question.params)))
    unknown = next(point for point in space if space.key(point) not in engine.model()[1].places)
    assert engine.expected_gflops(unknown) > 0


def summit(engine: Engine, landscape: Landscape) -> float:
    """The highest rate that steps of one parameter lead to, from some points of the space."""
    found = []
    for start in range(0, len(engine.space), len(engine.space) // 10):
        path = [engine.space.point(start)]
        while len(path) == len({engine.space.key(point) for point in path}):
            path.append(max([path[-1], *neighbours(engine.space, path[-1])], key=landscape.rate))
        found.append(landscape.rate(path[-1]))
    return max(found)
