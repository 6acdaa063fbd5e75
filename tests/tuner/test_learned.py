"""The engine `hpl`: it is an engine, it climbs the ladder, and it learns from fewer full runs than others."""

import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from engine_contract import CONDITIONAL, FAILED, EngineContract, MakeEngine, space_of
from landscape import Landscape

from search_spaces.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.base import GIVEN_UP, Engine, Outcome
from tuner.engines.fidelity import FULL, Fidelity, Rung
from tuner.engines.learned import Learned
from tuner.engines.registry import make_engine as made
from tuner.engines.surrogate import process as process_module
from tuner.engines.surrogate.physics import Probes

SMALL = Rung(Fidelity.SMALL, 0.35)
PREFIX = Rung(Fidelity.PREFIX, 0.1)
LADDER = (SMALL, PREFIX, FULL)


def climb(engine: Engine, landscape: Landscape, steps: int, *, noise: bool = False) -> list[tuple[Point, Rung]]:
    """Ask on a ladder whose cheap rungs are steadily wrong by a little, and tell."""
    asked: list[tuple[Point, Rung]] = []
    for _ in range(steps):
        question = engine.choose(LADDER)
        if question is None:
            break
        asked.append((question.params, question.rung))
        rate = landscape.measure(question.params) if noise else landscape.rate(question.params)
        factor = {Fidelity.SMALL: 0.7, Fidelity.PREFIX: 1.04}.get(question.rung.fidelity, 1.0)
        engine.tell(question.params, Outcome(rate * factor, rung=question.rung))
    return asked


class TestContract(EngineContract):
    @pytest.fixture
    def make_engine(self) -> MakeEngine:
        return lambda space, seed: Learned(space, seed, {})


class TestOnTheLadder:
    @pytest.fixture
    def space(self) -> SearchSpace:
        return space_of(CONDITIONAL)

    def test_begins_with_the_cheapest_rung_and_measures_the_best_in_full(self, space: SearchSpace) -> None:
        asked = climb(Learned(space, 0, {}), Landscape(space, 0), 60)
        assert asked[0][1] == SMALL
        assert FULL in {rung for _, rung in asked}
        cheap = sum(rung.operations for _, rung in asked if rung != FULL)
        full = sum(rung == FULL for _, rung in asked)
        assert cheap <= full + 2

    def test_asks_no_cheap_run_twice_and_repeats_full_ones_only_where_runs_differ(self, space: SearchSpace) -> None:
        for seed in range(3):
            asked = climb(Learned(space, seed, {}), Landscape(space, seed), 60)
            cheap = [(space.key(point), rung) for point, rung in asked if rung != FULL]
            assert len(cheap) == len(set(cheap))
            full = Counter(space.key(point) for point, rung in asked if rung == FULL)
            assert max(full.values()) <= 5

    def test_ends_when_nothing_more_is_to_be_gained(self, space: SearchSpace) -> None:
        landscape = Landscape(space, 0)
        asked = climb(Learned(space, 0, {}), landscape, 250)
        assert len(asked) < 250
        best = max(landscape.rate(point) for point in space)
        assert max(landscape.rate(point) for point, rung in asked if rung == FULL) > 0.995 * best

    def test_spends_less_on_cheap_rungs_than_random_search_on_full_runs(self, space: SearchSpace) -> None:
        gained = []
        for seed in range(5):
            landscape = Landscape(space, seed)
            best = max(landscape.rate(point) for point in space)
            asked = climb(Learned(space, seed, {}), landscape, 60, noise=True)
            spent, reached = 0.0, 0.0
            for point, rung in asked:
                spent += rung.operations
                if rung == FULL:
                    reached = max(reached, landscape.rate(point) / best)
                if spent > 8:
                    break
            engine = made("random", space, seed, {})
            chance = 0.0
            for _ in range(8):
                drawn = engine.ask()
                assert drawn is not None
                chance = max(chance, landscape.rate(drawn) / best)
            gained.append(reached - chance)
        assert sum(gained) > 0

    def test_goes_on_from_what_it_is_told_of_every_rung(self, space: SearchSpace) -> None:
        landscape = Landscape(space, 2)
        whole = climb(Learned(space, 2, {}), landscape, 40)
        resumed = Learned(space, 2, {})
        for point, rung in whole[:25]:
            factor = {Fidelity.SMALL: 0.7, Fidelity.PREFIX: 1.04}.get(rung.fidelity, 1.0)
            resumed.tell(space.complete(point), Outcome(landscape.rate(point) * factor, rung=rung))
        told = {(space.key(point), rung) for point, rung in whole[:25]}
        ahead = {(space.key(point), rung) for point, rung in climb(resumed, landscape, 10)}
        assert not told & ahead

    def test_a_full_run_that_was_given_up_is_not_asked_again(self, space: SearchSpace) -> None:
        engine, landscape = Learned(space, 3, {}), Landscape(space, 3)
        climb(engine, landscape, 20)
        given_up = set()
        for _ in range(25):
            question = engine.choose(LADDER)
            assert question is not None
            if question.rung == FULL:
                assert space.key(question.params) not in given_up
                given_up.add(space.key(question.params))
                rung = Rung(Fidelity.PREFIX, 0.3)
                engine.tell(question.params, Outcome(50.0, state=GIVEN_UP, rung=rung))
            else:
                engine.tell(question.params, Outcome(landscape.rate(question.params), rung=question.rung))
        assert given_up

    def test_the_choice_is_a_configuration_that_was_measured_in_full(self, space: SearchSpace) -> None:
        engine = Learned(space, 4, {})
        assert engine.choice() is None
        asked = climb(engine, Landscape(space, 4), 50)
        full = {space.key(point) for point, rung in asked if rung == FULL}
        choice = engine.choice()
        assert choice is not None
        assert space.key(choice) in full

    def test_avoids_a_library_that_always_crashes(self, space: SearchSpace) -> None:
        engine, landscape = Learned(space, 5, {}), Landscape(space, 5)
        crashed = 0
        for _ in range(60):
            point = engine.ask()
            assert point is not None
            broken = point["blas"] == "blis"
            crashed += broken
            engine.tell(point, FAILED if broken else Outcome(landscape.rate(point)))
        assert crashed < 15

    def test_probes_of_dgemm_decide_what_is_tried_before_anything_is_known(self, space: SearchSpace) -> None:
        probes = Probes({"openblas": {"Haswell": 20.0, "Zen": 20.0}, "blis": {"zen2": 100.0, "zen": 50.0}})
        engine = Learned(space, 0, {"probes": probes})
        for _ in range(3):
            point = engine.ask()
            assert point is not None
            engine.tell(point, Outcome(20.0 if point["blas"] == "openblas" else 90.0))
        following = [engine.ask() for _ in range(4)]
        assert [point["kernel"] for point in following if point].count("zen2") >= 3

    def test_earlier_runs_elsewhere_point_the_way(self, space: SearchSpace) -> None:
        gained = 0.0
        for seed in range(4):
            landscape = Landscape(space, seed)
            cold, warm = Learned(space, seed, {}), Learned(space, seed, {})
            for number in range(0, len(space), 9):
                point = space.point(number)
                warm.tell(point, Outcome(0.4 * landscape.rate(point), rung=Rung(Fidelity.EARLIER, 1.0)))
            reached = [
                max(landscape.rate(point) for point, _ in climb(engine, landscape, 5)) for engine in (warm, cold)
            ]
            gained += reached[0] / reached[1] - 1
        assert gained > 0


def test_a_model_that_cannot_be_fitted_gives_way_to_tpe_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_of(CONDITIONAL)
    engine, landscape = Learned(space, 0, {}), Landscape(space, 0)

    def broken(_covariance: object) -> object:
        raise process_module.FitError("not positive")

    asked: list[Point] = []
    for number in range(20):
        if number == 8:
            monkeypatch.setattr(process_module, "_root", broken)
        point = engine.ask()
        assert point is not None
        asked.append(point)
        engine.tell(point, Outcome(landscape.rate(point)))
    assert len({space.key(point) for point in asked}) == 20
    assert engine.remarks == ["The model cannot describe the runs so far (not positive): Optuna's TPE goes on instead."]
    assert engine.choice() is not None


@pytest.mark.parametrize("rates", [[1e-300, 1e300], [50.0] * 12, [float("inf"), 10.0, 11.0], [1e-9, 100.0, 1e9]])
def test_odd_rates_end_no_study(rates: Sequence[float]) -> None:
    space = space_of(CONDITIONAL)
    engine = Learned(space, 0, {})
    for number in range(24):
        point = engine.ask()
        assert point is not None
        engine.tell(point, Outcome(rates[number % len(rates)]))
    assert "torch" not in sys.modules
