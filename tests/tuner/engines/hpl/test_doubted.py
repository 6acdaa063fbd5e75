"""The engine `hpl` doubts a full run that is far slower than all others let expect, and runs it once more."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from engine_contract import space_of
from landscape import Landscape

from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.base import Engine, EngineContext
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, Outcome, Question
from tuner.engines.probes import Probes

SPACE = """
[parameters]
layout = "4x1"
blas = "openblas"
kernel = "Haswell"
NB = [96, 128, 160, 192, 224, 256]
grid = ["1x4", "2x2", "4x1"]
DEPTH = [0, 1]
"""
SLOWED = 0.7
"""Of its rate a disturbed run reaches."""


@pytest.fixture
def space() -> SearchSpace:
    return space_of(SPACE)


@dataclass
class Game:
    """An engine that is asked for full runs, some of which come out slower.

    Attributes:
        slow: the factor of the run that answers a question, after so many runs of its point.
    """

    engine: Engine
    landscape: Landscape
    slow: Callable[[Point, int], float]
    lost: float = 0.0
    asked: list[Question] = field(default_factory=list)

    def play(self, runs: int) -> "Game":
        for _ in range(runs):
            question = self.engine.choose((FULL,))
            if question is None:
                break
            before = sum(one.params == question.params for one in self.asked)
            self.asked.append(question)
            factor = self.slow(question.params, before)
            lost = self.lost if factor < 1 else 0.0
            self.engine.tell(question.params, Outcome(self.landscape.rate(question.params) * factor, lost=lost))
        return self

    @property
    def doubted(self) -> list[Point]:
        return [question.params for question in self.asked if question.doubted]


def fastest(space: SearchSpace, landscape: Landscape) -> Point:
    return max(space, key=landscape.rate)


def once(point: Point) -> Callable[[Point, int], float]:
    """Only the first run of a point is disturbed."""
    return lambda asked, before: SLOWED if asked == point and not before else 1.0


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_the_fastest_is_found_though_its_first_run_was_disturbed(space: SearchSpace, seed: int) -> None:
    landscape = Landscape(space, seed)
    best = fastest(space, landscape)
    game = Game(HplEngine(space, seed), landscape, once(best)).play(25)
    assert best in game.doubted
    assert game.engine.choice() == best
    question = next(one for one in game.asked if one.doubted and one.params == best)
    assert 0.1 < question.doubted < 0.45, "it says by how much that run was too slow"


def test_where_a_run_comes_out_the_same_each_time_none_is_doubted(space: SearchSpace) -> None:
    landscape, exact = Landscape(space, 0), EngineContext(probes=Probes(exact=True))
    best = fastest(space, landscape)
    game = Game(HplEngine(space, 0, exact), landscape, lambda asked, _: SLOWED if asked == best else 1.0)
    assert game.play(25).doubted == []


def test_a_run_that_was_measured_to_be_disturbed_needs_no_doubt(space: SearchSpace) -> None:
    landscape = Landscape(space, 1)
    best = fastest(space, landscape)
    game = Game(HplEngine(space, 1), landscape, once(best), lost=0.36).play(25)
    assert best in [question.params for question in game.asked]
    assert best not in game.doubted


@pytest.mark.heavy
def test_what_is_slow_again_is_not_asked_a_third_time(space: SearchSpace) -> None:
    landscape = Landscape(space, 2)
    best = fastest(space, landscape)
    game = Game(HplEngine(space, 2), landscape, lambda asked, _: SLOWED if asked == best else 1.0).play(36)
    assert sum(question.params == best for question in game.asked) == 2
    assert game.engine.choice() not in (None, best)


@pytest.mark.heavy
def test_a_study_that_is_taken_up_again_doubts_what_it_would_have_doubted(space: SearchSpace) -> None:
    landscape = Landscape(space, 3)
    slow = once(fastest(space, landscape))
    whole = Game(HplEngine(space, 3), landscape, slow).play(25)
    number = next(place for place, question in enumerate(whole.asked) if question.doubted)
    resumed, runs = HplEngine(space, 3), list[Point]()
    for question in whole.asked[:number]:
        factor = slow(question.params, runs.count(question.params))
        resumed.tell(question.params, Outcome(landscape.rate(question.params) * factor))
        runs.append(question.params)
    assert resumed.choose((FULL,)) == whole.asked[number]
