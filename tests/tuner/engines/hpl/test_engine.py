"""The engine `hpl`: it is an engine, it climbs the ladder, and it learns from fewer full runs than others."""

import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest
from engine_contract import CONDITIONAL, ONE_POINT, EngineContract, MakeEngine, space_of
from engine_contract import SMALL as SMALL_SPACE
from landscape import Landscape
from present import present

from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SearchSpace
from tuner.engines.base import Engine, EngineContext
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, GIVEN_UP, Fidelity, Outcome, Question, Rung
from tuner.engines.probes import Probes
from tuner.engines.registry import make_engine as made
from tuner.replay.landscape import RecordedLandscape

LANDSCAPES = Path(__file__).parents[4] / "benchmarks/landscapes"

SMALL = Rung(Fidelity.SMALL, 0.35)
PREFIX = Rung(Fidelity.PREFIX, 0.1)
LADDER = (SMALL, PREFIX, FULL)
TIMED = Probes({"openblas": {"Haswell": 40.0, "SkylakeX": 20.0, "Zen": 10.0}, "blis": {"zen": 30.0}})
HICCUPS = """
[parameters]
layout = "4x1"
blas = "openblas"
kernel = "Haswell"
NB = [96, 128, 160, 192, 224, 256]
grid = ["1x4", "2x2", "4x1"]
DEPTH = [0, 1]
"""
LAYOUTS = """
[parameters]
layout = ["32x1", "16x1", "8x1", "4x1"]
blas = "openblas"
NB = [64, 128, 192]
grid = "auto"
BCAST = ["1rg", "1rM", "LnM"]
"""


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


@cache
def climbed(seed: int) -> list[tuple[Point, Rung]]:
    """Sixty steps on the landscape of that seed: what several tests look at."""
    space = space_of(CONDITIONAL)
    return climb(HplEngine(space, seed), Landscape(space, seed), 60)


class TestContract(EngineContract):
    doubts = True

    @pytest.fixture
    def make_engine(self) -> MakeEngine:
        return HplEngine


class TestOnTheLadder:
    @pytest.fixture
    def space(self) -> SearchSpace:
        return space_of(CONDITIONAL)

    @pytest.mark.heavy
    def test_begins_with_the_cheapest_rung_and_measures_the_best_in_full(self) -> None:
        asked = climbed(0)
        assert asked[0][1] == SMALL
        assert FULL in {rung for _, rung in asked}
        cheap = sum(rung.operations for _, rung in asked if rung != FULL)
        full = sum(rung == FULL for _, rung in asked)
        assert cheap <= full + 2

    @pytest.mark.heavy
    def test_what_was_run_in_full_may_be_run_small_to_tell_how_far_small_runs_are_off(self, space: SearchSpace) -> None:
        studies = []
        for seed in range(4):
            asked = climb(HplEngine(space, seed, EngineContext(probes=TIMED)), Landscape(space, seed), 40)
            studies.append([(space.key(point), rung) for point, rung in asked])
        assert any(rung == SMALL and (key, FULL) in runs[:step]
                   for runs in studies for step, (key, rung) in enumerate(runs))  # fmt: skip

    def test_where_dgemm_was_timed_it_begins_in_full_with_what_should_be_the_fastest(self, space: SearchSpace) -> None:
        asked = climb(HplEngine(space, 0, EngineContext(probes=TIMED)), Landscape(space, 0), 2)
        assert [rung for _, rung in asked] == [FULL, SMALL]
        assert (asked[0][0]["blas"], asked[0][0]["kernel"]) == ("openblas", "Haswell")

    def test_of_what_should_be_as_fast_it_begins_with_what_is_nearest_to_the_textbook(self) -> None:
        space = space_of('parameters = { NB = [64, 128], RFACT = ["left", "crout"], PFACT = ["left", "right"] }')
        first = present(
            HplEngine(space, 0, EngineContext(probes=Probes({"openblas": {"Haswell": 40.0}}))).choose(LADDER)
        )
        assert (first.params["RFACT"], first.params["PFACT"]) == ("crout", "right")

    def test_what_should_be_the_fastest_is_not_asked_again_where_it_does_not_run(self, space: SearchSpace) -> None:
        engine = HplEngine(space, 0, EngineContext(probes=Probes({"openblas": {"Haswell": 40.0}})))
        first = present(engine.choose(LADDER))
        engine.tell(first.params, Outcome(None, state="failed"))
        climb(engine, Landscape(space, 0), 20)
        assert engine.seen(first.params)
        assert len(engine.told[space.key(first.params)]) == 1

    @pytest.mark.heavy
    def test_asks_no_cheap_run_twice_and_repeats_full_ones_only_where_runs_differ(self, space: SearchSpace) -> None:
        for seed in range(3):
            asked = climbed(seed)
            cheap = [(space.key(point), rung) for point, rung in asked if rung != FULL]
            assert len(cheap) == len(set(cheap))
            full = Counter(space.key(point) for point, rung in asked if rung == FULL)
            assert max(full.values()) <= 5

    @pytest.mark.heavy
    def test_repeats_nothing_where_a_run_comes_out_the_same_each_time(self, space: SearchSpace) -> None:
        def repeats(asked: Sequence[tuple[Point, Rung]]) -> int:
            full = [space.key(point) for point, rung in asked if rung == FULL]
            return len(full) - len(set(full))

        exact = EngineContext(probes=Probes(exact=True))
        assert [repeats(climb(HplEngine(space, seed, exact), Landscape(space, seed), 60)) for seed in range(3)] == [
            0
        ] * 3
        assert sum(repeats(climbed(seed)) for seed in range(3)) > 0

    @pytest.mark.parametrize("failed_before", [False, True])
    def test_what_somebody_else_left_unfinished_is_asked_again_unless_it_was_told_before(
        self, *, failed_before: bool
    ) -> None:
        engine = HplEngine(space_of(ONE_POINT), 0)
        theirs = Question({"NB": 128, "DEPTH": 0}, SMALL)
        if failed_before:
            engine.tell(theirs.params, Outcome(None, state="failed", rung=SMALL))
        engine.expect(theirs)
        engine.release(theirs)
        assert present(engine.choose(LADDER)).rung == (FULL if failed_before else SMALL)

    @pytest.mark.heavy
    def test_ends_when_nothing_more_is_to_be_gained(self, space: SearchSpace) -> None:
        landscape = Landscape(space, 0)
        asked = climb(HplEngine(space, 0), landscape, 250)
        assert len(asked) < 250
        best = max(landscape.rate(point) for point in space)
        assert max(landscape.rate(point) for point, rung in asked if rung == FULL) > 0.995 * best

    @pytest.mark.heavy
    def test_full_runs_alone_end_too_where_a_run_comes_out_the_same_each_time(self, space: SearchSpace) -> None:
        engine, landscape = HplEngine(space, 0, EngineContext(probes=Probes(exact=True))), Landscape(space, 0)
        while (question := engine.choose((FULL,))) is not None:
            engine.tell(question.params, Outcome(landscape.rate(question.params)))
        assert len(engine.told) < len({space.key(point) for point in space})
        assert landscape.rate(present(engine.choice())) > 0.999 * max(landscape.rate(point) for point in space)

    @pytest.mark.heavy
    def test_spends_less_on_cheap_rungs_than_random_search_on_full_runs(self, space: SearchSpace) -> None:
        gained = []
        for seed in range(5):
            landscape = Landscape(space, seed)
            best = max(landscape.rate(point) for point in space)
            asked = climb(HplEngine(space, seed), landscape, 60, noise=True)
            spent, reached = 0.0, 0.0
            for point, rung in asked:
                spent += rung.operations
                if rung == FULL:
                    reached = max(reached, landscape.rate(point) / best)
                if spent > 8:
                    break
            engine = made("random", space, seed)
            chance = 0.0
            for _ in range(8):
                chance = max(chance, landscape.rate(present(engine.ask())) / best)
            gained.append(reached - chance)
        assert sum(gained) > 0

    @pytest.mark.heavy
    def test_goes_on_from_what_it_is_told_of_every_rung(self, space: SearchSpace) -> None:
        landscape = Landscape(space, 2)
        whole = climb(HplEngine(space, 2), landscape, 40)
        resumed = HplEngine(space, 2)
        for point, rung in whole[:25]:
            factor = {Fidelity.SMALL: 0.7, Fidelity.PREFIX: 1.04}.get(rung.fidelity, 1.0)
            resumed.tell(space.complete(point), Outcome(landscape.rate(point) * factor, rung=rung))
        told = {(space.key(point), rung) for point, rung in whole[:25]}
        ahead = {(space.key(point), rung) for point, rung in climb(resumed, landscape, 10)}
        assert not told & ahead

    @pytest.mark.heavy
    def test_a_full_run_that_was_given_up_is_not_asked_again(self, space: SearchSpace) -> None:
        engine, landscape = HplEngine(space, 3), Landscape(space, 3)
        climb(engine, landscape, 20)
        given_up = set()
        for _ in range(25):
            question = present(engine.choose(LADDER))
            if question.rung == FULL:
                assert space.key(question.params) not in given_up
                given_up.add(space.key(question.params))
                rung = Rung(Fidelity.PREFIX, 0.3)
                engine.tell(question.params, Outcome(50.0, state=GIVEN_UP, rung=rung))
            else:
                engine.tell(question.params, Outcome(landscape.rate(question.params), rung=question.rung))
        assert given_up

    def test_a_known_point_that_was_given_up_is_seen(self, space: SearchSpace) -> None:
        engine, point = HplEngine(space, 3), space.point(3)
        engine.expect(Question(dict(point)))
        engine.tell(point, Outcome(50.0, state=GIVEN_UP, rung=Rung(Fidelity.PREFIX, 0.3)))
        assert engine.first_unseen([point]) is None

    def test_a_run_in_a_slower_sitting_moves_nothing_before_it_is_known_and_is_worth_the_doubt_that_it_takes(
        self, space: SearchSpace
    ) -> None:
        engine, landscape = HplEngine(space, 3), Landscape(space, 3)
        for number in range(0, 180, 10):
            point, session = space.point(number), int(number >= 120)
            engine.tell(point, Outcome(landscape.rate(point) * 0.9**session, session=session))
        process, pool = engine.model()
        codes, full = pool.codes, pool.modelled(FULL)
        run = codes[[5]], pool.modelled_at([5], FULL), 0
        mean, sd = process.believed(codes, full)
        mean_after, sd_after = process.fantasise(*run).believed(codes, full)
        assert mean_after == pytest.approx(mean, abs=1e-9)
        swayed = process.mean_shift_sd(codes, full, *run, process.alike(codes, run[0]))[:, 0]
        assert swayed**2 == pytest.approx(sd**2 - sd_after**2, rel=1e-3, abs=1e-9)

    def test_look_ahead_of_one_panel_is_taken_to_be_more_like_that_of_two_than_like_none(self) -> None:
        space = space_of("parameters = { NB = [64, 128, 192], DEPTH = [0, 1, 2] }")
        rates = {0: 100.0, 2: 107.0}
        engine = HplEngine(space, 0)
        for NB in (64, 128, 192):
            for DEPTH, rate in rates.items():
                engine.tell({"NB": NB, "DEPTH": DEPTH}, Outcome(rate + NB / 1000))
        engine.model()
        assert engine.expected_gflops({"NB": 128, "DEPTH": 1}) > 101.0

    @pytest.mark.heavy
    def test_the_choice_is_a_configuration_that_was_measured_in_full(self, space: SearchSpace) -> None:
        engine = HplEngine(space, 4)
        assert engine.choice() is None
        asked = climb(engine, Landscape(space, 4), 50)
        full = {space.key(point) for point, rung in asked if rung == FULL}
        assert space.key(present(engine.choice())) in full

    @pytest.mark.parametrize("slow", [0.0, 0.1, 0.25])
    def test_a_few_runs_that_are_slow_by_40_percent_do_not_hide_the_best_that_was_measured(self, slow: float) -> None:
        space, reached = space_of(HICCUPS), []
        points = {space.key(point): point for point in space}
        for seed in range(8):
            landscape, engine = Landscape(space, seed), HplEngine(space, seed)
            chance = random.Random(seed)  # noqa: S311 - not for secrets
            disturbed = {key for key in points if chance.random() < slow}
            for key, point in points.items():
                engine.tell(point, Outcome(landscape.measure(point) * (0.6 if key in disturbed else 1.0)))
            choice = present(engine.choice())
            best = max(landscape.rate(point) for key, point in points.items() if key not in disturbed)
            reached.append(landscape.rate(choice) / best)
        assert min(reached) > 0.98

    def test_repeats_tell_a_lucky_run_from_a_fast_configuration_and_a_slow_run_from_a_slow_one(self) -> None:
        space = space_of("parameters = { NB = [64, 96, 128, 160, 192, 224] }")
        engine = HplEngine(space, 0)
        lucky, steady, disturbed = ({"NB": NB} for NB in (64, 128, 192))
        runs = [(lucky, (130.0, 90.0, 91.0)), (steady, (100.0, 100.2, 99.9)), (disturbed, (103.0, 60.0, 102.8))]
        for point, rates in runs:
            for gflops in rates:
                engine.tell(point, Outcome(gflops))
        assert engine.choice() == disturbed

    def test_probes_of_dgemm_decide_what_is_tried_before_anything_is_known(self, space: SearchSpace) -> None:
        probes = Probes(
            {"openblas": {"Haswell": 20.0, "Zen": 20.0}, "blis": {"zen2": 100.0, "zen": 50.0, "haswell": 50.0}}
        )
        engine = HplEngine(space, 0, EngineContext(probes=probes))
        for _ in range(3):
            point = present(engine.ask())
            engine.tell(point, Outcome(20.0 if point["blas"] == "openblas" else 90.0))
        kernels = {
            kernel: engine.expected_gflops(point) for kernel, point in {str(p["kernel"]): p for p in space}.items()
        }
        assert kernels["zen2"] > kernels["zen"] > kernels["Haswell"]
        following = [engine.ask() for _ in range(4)]
        assert [point["kernel"] for point in following if point].count("zen2") >= 3

    @pytest.mark.heavy
    def test_earlier_runs_elsewhere_point_the_way(self, space: SearchSpace) -> None:
        gained = 0.0
        for seed in range(8):
            landscape = Landscape(space, seed)
            cold, warm = HplEngine(space, seed), HplEngine(space, seed)
            for number in range(0, len(space), 9):
                point = space.point(number)
                warm.tell(point, Outcome(0.4 * landscape.rate(point), rung=Rung(Fidelity.EARLIER, 1.0)))
            reached = [
                max(landscape.rate(point) for point, _ in climb(engine, landscape, 1)) for engine in (warm, cold)
            ]
            gained += reached[0] / reached[1] - 1
        assert gained > 0

    @pytest.mark.heavy
    def test_another_machine_with_another_best_does_not_end_the_search_before(self, space: SearchSpace) -> None:
        elsewhere, landscape = Landscape(space, 3), Landscape(space, 13)
        misled, untold = HplEngine(space, 3), HplEngine(space, 3)
        for number in range(0, len(space), 3):
            point = space.point(number)
            misled.tell(point, Outcome(elsewhere.rate(point), rung=Rung(Fidelity.EARLIER, 1.0)))
        reached = []
        for engine in (misled, untold):
            climb(engine, landscape, 60, noise=True)
            choice = present(engine.choice())
            reached.append(landscape.rate(choice))
        assert reached[0] > 0.98 * reached[1]


@pytest.mark.heavy
def test_a_teacher_for_whom_the_fastest_is_the_slowest_costs_a_few_runs() -> None:
    space = space_of(SMALL_SPACE)
    reached = []
    for seed in range(8):
        landscape, misled = Landscape(space, seed), HplEngine(space, seed)
        for number in range(0, len(space), 2):
            point = space.point(number)
            misled.tell(point, Outcome(1e4 / landscape.rate(point), rung=Rung(Fidelity.EARLIER, 1.0)))
        ran = [landscape.rate(point) for point, _ in climb(misled, landscape, 6, noise=True)]
        reached.append(max(ran) / max(map(landscape.rate, space)))
    assert min(reached) > 0.8
    assert fmean(reached) > 0.93


def test_nodes_that_stay_idle_count_for_nothing_where_the_objective_says_so() -> None:
    machine = Machine(cores=32, memory_bytes=2**40, blas={"openblas": BlasFacts(threaded=False)}, N=8000)
    space = load("layouts", machine, text=LAYOUTS)

    def ranks(point: Point) -> int:
        return ranks_and_threads(point["layout"])[0]

    def worth(point: Point) -> float:
        return 32 / ranks(point)

    rates = {32: 160.0, 16: 112.0, 8: 72.0, 4: 40.0}
    engine = HplEngine(space, 0, EngineContext(probes=Probes(nodes=8, node_cores=4), worth=worth))
    found = []
    for _ in range(16):
        question = present(engine.choose((FULL,)))
        found.append(rates[ranks(question.params)] * worth(question.params))
        engine.tell(question.params, Outcome(found[-1]))
    assert max(found) == 320.0


@pytest.mark.heavy
def test_at_a_larger_n_it_hopes_for_what_is_faster_there_whether_it_ran_or_not() -> None:
    smaller, larger = (RecordedLandscape.read(LANDSCAPES / f"ethernet16{size}.json") for size in ("", "-full"))
    space = smaller.search_space()
    rates, there = ({space.key({**place.params, "N": 32_000}): place.gflops or 0.0 for place in recorded.places}
                    for recorded in (smaller, larger))  # fmt: skip
    probes = Probes(smaller.probes, smaller.nodes, messages=smaller.messages, half_nb=smaller.half_nb)
    engine = HplEngine(space, 0, EngineContext(probes=probes))
    for _ in range(12):
        question = present(engine.choose((FULL,)))
        engine.tell(question.params, Outcome(rates[space.key(question.params)]))
    best, hoped = engine.choice(), engine.hopeful(larger.N / smaller.N, ("NB", "grid"), 3)
    assert best is not None
    assert there[space.key(best)] < 0.98 * max(there.values())
    assert there[space.key(hoped[0])] > 0.99 * max(there.values())
    assert engine.hopeful(1.0, ("NB", "grid"), 1) != hoped[:1]


@pytest.mark.heavy
def test_what_is_under_way_is_not_asked_for_again_in_another_form() -> None:
    space = space_of(CONDITIONAL)
    engine, landscape = HplEngine(space, 0), Landscape(space, 0)
    climb(engine, landscape, 25)
    asked = [question for question in (engine.choose(LADDER) for _ in range(8)) if question is not None]
    assert sum(question.rung == FULL for question in asked) < len(asked)
    assert len({(space.key(question.params), question.rung) for question in asked}) == len(asked)
