"""Engines: the contract for each, and what is special about one."""

import re
from collections import Counter
from statistics import median
from typing import get_args

import pytest
from engine_contract import CONDITIONAL, FAILED, SMALL, EngineContract, MakeEngine, drive, space_of
from landscape import Landscape
from optuna_tpe import OptunaTpe
from present import present

from hpl.params import Scalar
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.asks.shared import Engine as AskedEngine
from tuner.engines.base import Engine, EngineContext
from tuner.engines.baselines.tpe import SHOWN
from tuner.engines.outcomes import Outcome, RunHistory
from tuner.engines.points import starts
from tuner.engines.registry import ENGINES, check_engine, descriptions, make_engine
from tuner.errors import TunerError


def named(name: str, points: int | None = None) -> MakeEngine:
    """Makes engines of a name; of a grid with so many points, as a whole one of a large space takes long."""

    def make(space: SearchSpace, seed: int) -> Engine:
        return make_engine(name, space, seed, EngineContext(points=points or (200 if len(space) > 1_000 else None)))

    return make


class TestOfAllPoints(EngineContract):
    @pytest.fixture(params=["grid", "random", "bayes", "OptunaTpe"])
    def make_engine(self, request: pytest.FixtureRequest) -> MakeEngine:
        return OptunaTpe if request.param == "OptunaTpe" else named(request.param)


class TestOfAPart(EngineContract):
    asks_every_point = False

    @pytest.fixture(params=[("grid", 30), ("one-at-a-time", None)], ids=["coarse grid", "one at a time"])
    def make_engine(self, request: pytest.FixtureRequest) -> MakeEngine:
        return named(*request.param)


# grid

LARGE_GRID = """
[parameters]
layout = "4x1"
blas = "openblas"
kernel = "Haswell"
grid = ["1x4", "2x2", "4x1"]
BCAST = ["1rg", "1rM", "2rg", "2rM", "Lng", "LnM"]
DEPTH = [0, 1]
SWAP = ["bin", "long", "mix"]
PFACT = ["left", "crout", "right"]
NBMIN = [2, 4, 8, 16]
"""


def test_every_beginning_of_a_whole_grid_is_even() -> None:
    space = space_of("parameters = { NB = [64, 128, 192], BCAST = ['1rM', 'Lng', 'LnM'], DEPTH = [0, 1] }")
    engine = make_engine("grid", space, 0)
    asked = drive(engine, Landscape(space, 0), 9)
    for name, parameter in space.varying.items():
        assert {point[name] for point in asked[:4]} == set(parameter.values)
        assert min(Counter(point[name] for point in asked).values()) >= 2
    assert engine.unasked() == 9
    assert len({space.key(point) for point in (*asked, *drive(engine, Landscape(space, 0), 20))}) == 18
    assert engine.unasked() == 0


def test_a_grid_says_how_many_of_its_combinations_hpl_tells_apart() -> None:
    space = space_of("parameters = { grid = '1x4', BCAST = ['1rg', '1rM', '2rg', '2rM'], DEPTH = [0, 1] }")
    engine = make_engine("grid", space, 0)
    tried = len(drive(engine, Landscape(space, 0), 20))
    assert len(space) == 8
    assert tried < 8
    assert engine.nothing_left == f"all {tried} combinations that HPL tells apart were tried; the grid has 8"
    small = space_of("parameters = { NB = [64, 128], DEPTH = [0, 1] }")
    whole = make_engine("grid", small, 0)
    drive(whole, Landscape(small, 0), 20)
    assert whole.nothing_left == "all combinations of the grid were tried"


def test_the_first_points_of_the_largest_grid_come_from_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """To tell all points of a large grid apart takes ten seconds."""
    space = space_of(f"{LARGE_GRID}\nNB = {list(range(32, 800, 32))}\nRFACT = ['left', 'crout', 'right']")
    assert 90_000 < len(space) <= 100_000
    engine = make_engine("grid", space, 0)
    looked_at = list[int]()
    point = SearchSpace.point

    def counted(space: SearchSpace, number: int) -> dict[str, Scalar]:
        looked_at.append(number)
        return point(space, number)

    monkeypatch.setattr(SearchSpace, "point", counted)
    asked = drive(engine, Landscape(space, 0), 12)
    assert 1_000 < len(looked_at) < len(space) / 3
    for name in ("grid", "BCAST", "SWAP", "PFACT"):
        assert {point[name] for point in asked} == set(space.varying[name].values)


@pytest.mark.heavy
def test_a_whole_grid_longer_than_its_beginning_asks_each_point_once_and_knows_what_is_left() -> None:
    space = space_of(f"{LARGE_GRID}\nNB = [64, 128, 192]")
    points = {space.key(point) for point in space}
    engine = make_engine("grid", space, 0)
    before = drive(engine, Landscape(space, 0), 20)
    assert engine.unasked() == len(points) - 20
    after = drive(engine, Landscape(space, 0), len(space))
    assert len(points) == len(before) + len(after)
    assert {space.key(point) for point in (*before, *after)} == points
    assert engine.unasked() == 0


def test_a_coarse_grid_has_the_stated_size() -> None:
    space = space_of(CONDITIONAL)
    asked = drive(make_engine("grid", space, 0, EngineContext(points=24)), Landscape(space, 0), 99)
    assert len(asked) == 24


def test_a_coarse_grid_tries_every_value_about_equally_often() -> None:
    space = load("default", Machine(cores=2, memory_bytes=2**34, blas={"openblas": BlasFacts(("a", "b"))}, N=4000))
    asked = drive(make_engine("grid", space, 0, EngineContext(points=48)), Landscape(space, 0), 99)
    for name in ("NB", "BCAST", "DEPTH", "SWAP", "RFACT", "NBMIN", "kernel"):
        parameter = space.parameters[name]
        times = Counter(point[name] for point in asked)
        fair = 48 / len(parameter.values)
        assert set(times) == set(parameter.values)
        assert max(times.values()) <= 1.7 * fair, name


def test_a_coarse_grid_tries_pairs_of_values_too() -> None:
    space = space_of(
        "parameters = { RFACT = ['left', 'crout', 'right'], SWAP = ['bin', 'long', 'mix'], NB = [64, 96, 128] }"
    )
    asked = drive(make_engine("grid", space, 0, EngineContext(points=9)), Landscape(space, 0), 99)
    for one, other in (("RFACT", "SWAP"), ("RFACT", "NB"), ("SWAP", "NB")):
        assert len({(point[one], point[other]) for point in asked}) >= 7


def test_a_space_too_large_for_a_grid_is_refused_with_its_size_and_the_way_out() -> None:
    space = load("full", Machine(cores=2, memory_bytes=2**34, blas={"openblas": BlasFacts()}, N=4000))
    with pytest.raises(TunerError, match=rf"{len(space):,} valid combinations.*⟦points⟧"):
        make_engine("grid", space, 0)


@pytest.mark.parametrize("points", [0, -3])
def test_a_size_that_is_no_number_above_zero_is_refused(points: int) -> None:
    with pytest.raises(TunerError, match=f"⟦points⟧ {points}: expected a whole number above zero"):
        make_engine("grid", space_of(SMALL), 0, EngineContext(points=points))


# one at a time


def test_one_at_a_time_changes_one_parameter_and_keeps_its_best_value() -> None:
    space = space_of("parameters = { NB = [64, 128, 192, 256], DEPTH = [0, 1], NBMIN = [2, 4] }")
    best = {"NB": 128, "DEPTH": 0, "NBMIN": 2}

    def rate(point: Point) -> float:
        return 10.0 + sum(point[name] == value for name, value in best.items())

    engine = make_engine("one-at-a-time", space, 0)
    asked: list[Point] = []
    while (point := engine.ask()) is not None:
        asked.append(point)
        engine.tell(point, Outcome(rate(point)))
    for place, changed in enumerate(asked[1:], start=1):
        held = max(asked[:place], key=rate)
        assert sum(changed[name] != held[name] for name in changed) == 1
    assert max(asked, key=rate) == best
    assert len(asked) < len(space)


def test_one_at_a_time_changes_with_a_parameter_what_must_follow_it() -> None:
    space = space_of("parameters = { layout = ['4x1', '2x2', '1x4'], grid = ['2x2', '1x4', '1x2', '1x1'] }")
    asked = drive(make_engine("one-at-a-time", space, 0), Landscape(space, 0), 9)
    assert {point["layout"] for point in asked} == {"4x1", "2x2", "1x4"}


def test_the_fastest_of_disturbed_runs_is_what_a_configuration_reaches_at_least() -> None:
    told = RunHistory()
    for key, rates in {"a": (9.0, 2.0, 3.0), "b": (6.0, 6.0)}.items():
        for rate in rates:
            told.add(key, {"NB": key}, Outcome(rate, lost=1.6))
    assert (told.median("a"), told.median("b")) == (9.0, 6.0)
    assert told.fastest() == {"NB": "a"}
    for rate in (7.0, 8.0, 5.0):
        told.add("b", {"NB": "b"}, Outcome(rate))
    assert told.median("b") == 7.0, "quiet runs replace them"


def test_one_at_a_time_judges_repeats_by_their_median() -> None:
    engine = make_engine("one-at-a-time", space_of(SMALL), 0)
    point = present(engine.ask())
    for gflops in (10.0, 99.0, 11.0):
        engine.tell(point, Outcome(gflops))
    engine.tell(point, FAILED)
    assert engine.history.median(engine.key(point)) == 11.0


# random


def test_random_search_takes_every_point_as_often_as_any_other() -> None:
    space = space_of("parameters = { NB = [64, 128, 192], DEPTH = [0, 1] }")
    first = Counter(str(make_engine("random", space, seed).ask()) for seed in range(600))
    assert len(first) == 6
    assert min(first.values()) > 60


# bayes


def test_starts_name_every_library_and_are_few() -> None:
    space = space_of(CONDITIONAL, cores=16)
    points = list(starts(space))
    assert all(space.why_not(point) is None for point in points)
    assert {point["blas"] for point in points} == set(space.parameters["blas"].values)
    assert len({space.key(point) for point in points}) <= 5


def test_starts_take_the_blocking_of_the_library_and_the_squarest_grid() -> None:
    first = next(starts(space_of(CONDITIONAL, cores=4)))
    assert (first["layout"], first["grid"], first["kernel"], first["NB"]) == ("4x1", "2x2", "Haswell", 256)


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [
        ("N = [1000, 2000, 4000]", {"N": 4000}),
        ("N = [2000, 1000]", {"N": 2000}),
        ('N = { by = "NB", "128" = [1000, 1500], "256" = [900, 1800] }', {"N": 1800, "NB": 256}),
        ("memory_fraction = [0.3, 0.5, 0.8]", {"memory_fraction": 0.8}),
    ],
)
def test_starts_take_the_largest_matrix_of_the_space(sizes: str, largest: dict[str, Scalar]) -> None:
    space = space_of(f'parameters = {{ blas = "openblas", kernel = "Haswell", NB = [128, 256], {sizes} }}')
    first = next(starts(space))
    assert {name: first[name] for name in largest} == largest


def test_starts_take_the_largest_matrix_that_fits_with_everything_else_as_advised() -> None:
    text = """
parameters = { N = [1000, 2000, 4000], NB = 128, BCAST = ["1rg", "1rM"] }
forbid = [{ when = { N = 4000, BCAST = "1rM" }, because = "it does not fit" }]
"""
    first = next(starts(space_of(text)))
    assert (first["N"], first["BCAST"]) == (2000, "1rM")


@pytest.mark.heavy
def test_bayes_beats_random_search() -> None:
    machine = Machine(cores=2, memory_bytes=2**34, blas={"a": BlasFacts(("x", "y")), "b": BlasFacts(("z",))}, N=4000)
    space = load("default", machine)

    def found(name: str, seed: int) -> float:
        landscape = Landscape(space, seed)
        engine = make_engine(name, space, seed)
        asked = []
        for _ in range(30):
            point = present(engine.ask())
            asked.append((landscape.measure(point), landscape.rate(point)))
            engine.tell(point, Outcome(asked[-1][0]))
        return max(asked)[1]

    seeds = range(10)
    assert median(found("bayes", seed) / found("random", seed) for seed in seeds) > 1.0


@pytest.mark.heavy
def test_bayes_learns_to_leave_a_library_that_always_crashes() -> None:
    space = space_of(CONDITIONAL)
    late: Counter[Scalar] = Counter()
    for seed in range(3):
        engine, landscape = make_engine("bayes", space, seed), Landscape(space, seed)
        for number in range(60):
            point = present(engine.ask())
            engine.tell(point, FAILED if point["blas"] == "blis" else Outcome(landscape.rate(point)))
            late[point["blas"]] += number >= 30
    of_all_points = Counter(point["blas"] for point in space)["blis"] / len(space)
    assert late["blis"] / late.total() < 0.7 * of_all_points


@pytest.mark.heavy
def test_bayes_goes_on_as_before_when_it_is_shown_only_a_part_of_what_it_was_told() -> None:
    space, landscape = space_of(CONDITIONAL), Landscape(space_of(CONDITIONAL), 0)
    trials = 2 * SHOWN + 12
    whole = drive(make_engine("bayes", space, 0), landscape, trials)
    resumed = make_engine("bayes", space, 0)
    for point in whole[: trials - 20]:
        resumed.tell(point, Outcome(landscape.rate(point)))
    assert drive(resumed, landscape, 20) == whole[-20:]


def test_bayes_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    space = space_of(CONDITIONAL)
    drive(make_engine("bayes", space, 0), Landscape(space, 0), 20)
    assert capfd.readouterr() == ("", "")


# registry


def test_every_engine_says_what_it_does_and_is_named_in_the_help() -> None:
    assert all(map(all, ENGINES.values()))
    field = get_args(AskedEngine)[1]
    assert set(re.split(", | or ", field.help.rstrip("."))) == descriptions().keys() == ENGINES.keys()


@pytest.mark.parametrize(("name", "hint"), [("bayse", "did you mean bayes?"), ("zzz", "choose one of bayes, grid")])
def test_an_unknown_engine_is_named_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(TunerError, match=f"⟦engine⟧ {name}: there is no such engine; {hint.replace('?', '[?]')}"):
        check_engine(name)
