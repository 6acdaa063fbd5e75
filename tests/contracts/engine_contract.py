"""What every engine must do. A test class inherits it and gives a fixture `make_engine(space, seed)`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest
from landscape import Landscape

from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.base import Engine
from tuner.engines.companions import alike, launched
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Question, Rung

MakeEngine = Callable[[SearchSpace, int], Engine]
FAILED = Outcome(gflops=None, state="failed")
SMALL_RUN = Rung(Fidelity.SMALL, 0.35)

ONE_POINT = "parameters = { NB = 128, DEPTH = 0 }"
SMALL = """
[parameters]
grid = "auto"
NB = [64, 128, 192]
BCAST = ["1rg", "1rM", "LnM"]
DEPTH = [0, 1]
"""
CONDITIONAL = """
[parameters]
layout = "auto"
blas = "auto"
kernel = "auto"
NB = [64, 128, 192, 256]
NBMIN = 4
grid = "auto"
DEPTH = [0, 1]
SWAP = ["bin", "mix"]
swap_threshold = { by = "SWAP", mix = [32, 64, 128] }
"""
LARGE = """
[parameters]
layout = "4x1"
blas = "auto"
kernel = "auto"
NB = [64, 80, 96, 112, 128, 144, 160, 180, 192, 208, 224, 240]
grid = ["1x4", "2x2", "4x1"]
BCAST = ["1rg", "1rM", "2rg", "2rM", "Lng", "LnM"]
DEPTH = [0, 1]
SWAP = ["bin", "long", "mix"]
PFACT = ["left", "crout", "right"]
RFACT = ["left", "crout", "right"]
NBMIN = [2, 4, 8, 16]
"""
MANY_VALUES = """
[parameters]
layout = "4x1"
blas = "openblas"
kernel = "Haswell"
NB = { low = 32, high = 1024, step = 2 }
grid = ["1x4", "2x2", "4x1"]
BCAST = ["1rg", "1rM", "2rg"]
DEPTH = [0, 1]
SWAP = ["bin", "long"]
"""


def space_of(text: str, cores: int = 4) -> SearchSpace:
    """A space on a machine with two libraries that have kernels of their own and one without threads."""
    libraries = {
        "openblas": BlasFacts(("Haswell", "Zen"), threaded=True),
        "blis": BlasFacts(("haswell", "zen", "zen2"), threaded=True),
        "reference": BlasFacts(("auto",), threaded=False),
    }
    return load("made for a test", Machine(cores=cores, memory_bytes=2**34, blas=libraries, N=4000), text=text)


def drive(engine: Engine, landscape: Landscape, trials: int) -> list[Point]:
    """Ask and tell; the points that were asked, without those whose run the engine doubted."""
    return [question.params for question in questions(engine, landscape, trials) if not question.doubted]


def questions(
    engine: Engine, landscape: Landscape, trials: int, slowed: Mapping[int, float] | None = None
) -> list[Question]:
    """Ask and tell; what was asked in full.

    Args:
        slowed: the factor of rates of disturbed runs, by their number from 0.
    """
    asked: list[Question] = []
    for number in range(trials):
        question = engine.choose((FULL,))
        if question is None:
            break
        asked.append(question)
        engine.tell(question.params, Outcome(landscape.rate(question.params) * (slowed or {}).get(number, 1.0)))
    return asked


def assert_new_and_legal(space: SearchSpace, points: Sequence[Point], before: Sequence[Point] = ()) -> None:
    """Every point is legal, and HPL can tell each from all others and from those before."""
    assert [space.why_not(point) for point in points] == [None] * len(points)
    keys = [space.key(point) for point in (*before, *points)]
    assert len(set(keys)) == len({space.key(point) for point in before}) + len(points)


class EngineContract:
    asks_every_point = True
    """Whether it goes on until nothing is left, or may stop when it expects nothing more."""
    doubts = False
    """Whether it may ask the point of a full run once more which it doubts."""

    @pytest.fixture
    def small(self) -> SearchSpace:
        return space_of(SMALL)

    @pytest.fixture
    def conditional(self) -> SearchSpace:
        return space_of(CONDITIONAL)

    # what it asks

    def test_asks_each_distinct_point_of_a_small_space_once_and_then_none(
        self, make_engine: MakeEngine, small: SearchSpace
    ) -> None:
        engine = make_engine(small, 0)
        asked = drive(engine, Landscape(small, 0), len(small) + 1)
        assert_new_and_legal(small, asked)
        assert engine.ask() is None
        assert engine.ask() is None
        if self.asks_every_point:
            assert {small.key(point) for point in asked} == {small.key(point) for point in small}

    def test_asks_only_new_and_legal_points_where_parameters_depend_on_others(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        asked = drive(make_engine(conditional, 1), Landscape(conditional, 1), 60)
        assert_new_and_legal(conditional, asked)
        assert len(asked) > 10

    def test_asks_the_only_point_of_a_space_once(self, make_engine: MakeEngine) -> None:
        space = space_of(ONE_POINT)
        engine = make_engine(space, 0)
        assert engine.ask() == {"NB": 128, "DEPTH": 0}
        assert engine.ask() is None

    @pytest.mark.parametrize("space_name", ["default", "full", "quick"])
    def test_copes_with_shipped_spaces_on_one_core(self, make_engine: MakeEngine, space_name: str) -> None:
        machine = Machine(cores=1, memory_bytes=2**34, blas={"openblas": BlasFacts()}, N=4000)
        space = load(space_name, machine)
        assert_new_and_legal(space, drive(make_engine(space, 0), Landscape(space, 0), 15))

    def test_leaves_out_what_somebody_else_runs_until_that_was_left_unfinished(
        self, make_engine: MakeEngine, small: SearchSpace
    ) -> None:
        engine = make_engine(small, 0)
        theirs = Question(small.point(len(small) // 2))
        engine.expect(theirs)
        asked = drive(engine, Landscape(small, 0), len(small) + 1)
        assert small.key(theirs.params) not in {small.key(point) for point in asked}
        engine.release(theirs)
        left = engine.ask()
        assert left is not None
        assert small.key(left) == small.key(theirs.params)
        assert engine.ask() is None

    def test_a_small_run_that_somebody_else_left_unfinished_changes_nothing_of_a_full_one_of_its_own(
        self, make_engine: MakeEngine, small: SearchSpace
    ) -> None:
        engine = make_engine(small, 0)
        mine = engine.ask()
        assert mine is not None
        theirs = Question(mine, SMALL_RUN)
        engine.expect(theirs)
        engine.release(theirs)
        assert engine.seen(mine)
        assert small.key(mine) not in {small.key(point) for point in drive(engine, Landscape(small, 0), len(small))}

    def test_what_has_a_single_value_changes_nothing_of_what_it_asks(
        self, make_engine: MakeEngine, small: SearchSpace
    ) -> None:
        more = space_of(SMALL + f"NBMIN = {small.complete(small.point(0))['NBMIN']}")
        engine, landscape = make_engine(small, 0), Landscape(small, 0)
        beside = make_engine(more, 0)
        for _ in range(15):
            point, theirs = engine.ask(), beside.ask()
            assert (point is None) == (theirs is None)
            if point is None or theirs is None:
                break
            assert {name: theirs[name] for name in point} == point
            engine.tell(point, Outcome(landscape.rate(point)))
            beside.tell(theirs, Outcome(landscape.rate(point)))

    def test_asks_nothing_more_with_a_value_that_cannot_be_had(
        self, make_engine: MakeEngine, small: SearchSpace
    ) -> None:
        engine, landscape = make_engine(small, 0), Landscape(small, 0)
        before = drive(engine, landscape, 4)
        engine.bar({"NB": 128})
        engine.bar({"NB": 64, "grid": "2x2"})
        after = drive(engine, landscape, len(small))
        assert not [point for point in after if point["NB"] == 128]
        assert not [point for point in after if point["NB"] == 64 and point["grid"] == "2x2"]
        assert engine.ask() is None
        if self.asks_every_point:
            possible = {small.key(point) for point in small if not engine.barred(point)}
            assert possible <= {small.key(point) for point in (*before, *after)}

    def test_puts_nothing_into_a_launch_that_has_a_value_that_cannot_be_had(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        engine, landscape = make_engine(conditional, 6), Landscape(conditional, 6)
        for NB in (64, 256):
            engine.bar({"NB": NB})
        for _ in range(15):
            launch = engine.choose_launch((SMALL_RUN, FULL), lambda _: 5)
            if not launch:
                break
            question, batch = launch[0], [one.params for one in launch]
            assert {point["NB"] for point in batch} <= {128, 192}
            for point in batch:
                rate = landscape.rate(point)
                time_s = question.rung.operations * 100.0 / rate
                outcome = Outcome(
                    rate, time_s, rung=question.rung, cost_s=time_s + 5.0 / len(batch), sharing=len(batch)
                )
                engine.tell(point, outcome)

    def test_asks_a_point_again_only_where_it_doubts_its_only_run_and_says_so(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        doubted = 0
        for seed in range(3):
            engine, landscape = make_engine(conditional, seed), Landscape(conditional, seed)
            runs = Counter[str]()
            for question in questions(engine, landscape, 40, slowed=dict.fromkeys(range(7, 40, 8), 0.65)):
                key = conditional.key(question.params)
                assert runs[key] == (1 if question.doubted else 0), "asked twice, and only where it is doubted"
                runs[key] += 1
                doubted += bool(question.doubted)
        assert bool(doubted) == self.doubts

    # repeatable

    def test_the_same_seed_and_outcomes_lead_to_the_same_questions(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        first, second = (drive(make_engine(conditional, 5), Landscape(conditional, 5), 30) for _ in range(2))
        assert first == second

    def test_goes_on_after_a_restart_as_if_there_had_been_none(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        landscape = Landscape(conditional, 2)
        whole = drive(make_engine(conditional, 2), landscape, 40)
        resumed = make_engine(conditional, 2)
        for point in whole[:17]:
            resumed.tell(conditional.complete(point), Outcome(landscape.rate(point)))
        assert whole[:17] + drive(resumed, landscape, 23) == whole

    def test_can_be_rebuilt_from_records_in_any_order(self, make_engine: MakeEngine, conditional: SearchSpace) -> None:
        landscape = Landscape(conditional, 3)
        before = drive(make_engine(conditional, 3), landscape, 25)
        engine = make_engine(conditional, 3)
        for point in reversed(before):
            engine.tell(point, Outcome(landscape.rate(point)))
        assert_new_and_legal(conditional, drive(engine, landscape, 10), before)

    # what it is told

    def test_never_asks_a_point_that_the_user_measured_already(
        self, make_engine: MakeEngine, small: SearchSpace
    ) -> None:
        engine = make_engine(small, 0)
        known = [small.point(number) for number in (0, 7, 20)]
        for point in known:
            engine.tell(small.complete(point), Outcome(10.0))
        assert_new_and_legal(small, drive(engine, Landscape(small, 0), len(small)), known)

    @pytest.mark.parametrize(
        "foreign",
        [
            {},
            {"NB": 77, "grid": "2x2", "BCAST": "1rg", "DEPTH": 0},
            {"NB": 64, "grid": "2x3", "BCAST": "1rg", "DEPTH": 0},
            {"NB": 64, "grid": "2x2", "BCAST": "1rg", "DEPTH": 0, "N": 1000},
            {"NB": 64, "grid": "2x2", "BCAST": "1rg", "DEPTH": 0, "kernel": "Zen"},
            {"NB": 64, "grid": "2x2", "BCAST": "1rg", "DEPTH": 0, "mpi.btl": "tcp"},
            {"NB": "many", "colour": "green"},
        ],
    )
    def test_passes_over_what_is_not_of_its_space(
        self, make_engine: MakeEngine, small: SearchSpace, foreign: Point
    ) -> None:
        engine, untold = make_engine(small, 0), make_engine(small, 0)
        engine.tell(foreign, Outcome(1e6))
        engine.tell(foreign, FAILED)
        landscape = Landscape(small, 0)
        assert drive(engine, landscape, 12) == drive(untold, landscape, 12)

    def test_takes_repeats_of_a_point_it_asked(self, make_engine: MakeEngine, small: SearchSpace) -> None:
        engine = make_engine(small, 0)
        asked = []
        for _ in range(6):
            point = engine.ask()
            assert point is not None
            asked.append(point)
            for gflops in (10.0, 11.0, 10.5):
                engine.tell(point, Outcome(gflops))
        assert_new_and_legal(small, asked)

    def test_goes_on_when_every_trial_fails(self, make_engine: MakeEngine, conditional: SearchSpace) -> None:
        engine = make_engine(conditional, 0)
        asked = []
        for _ in range(40):
            point = engine.ask()
            if point is None:
                break
            asked.append(point)
            engine.tell(point, FAILED)
        assert_new_and_legal(conditional, asked)
        assert len(asked) > 10

    def test_may_be_asked_several_times_before_it_is_told(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        engine, landscape = make_engine(conditional, 4), Landscape(conditional, 4)
        asked: list[Point] = []
        for _ in range(6):
            pending = [point for point in (engine.ask() for _ in range(4)) if point is not None]
            asked += pending
            for point in reversed(pending):
                engine.tell(point, Outcome(landscape.rate(point)))
        assert_new_and_legal(conditional, asked)
        assert len(asked) > 10

    def test_hopes_for_close_points_that_differ_where_it_matters(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        engine, landscape = make_engine(conditional, 7), Landscape(conditional, 7)
        assert engine.hopeful(4.0, ("NB", "blas"), 3) == []
        drive(engine, landscape, 12)
        found = engine.hopeful(4.0, ("NB", "blas"), 3)
        assert 1 <= len(found) <= 3
        assert len({(point["NB"], point["blas"]) for point in found}) == len(found)
        assert all(conditional.why_not(point) is None for point in found)
        engine.bar({"blas": found[0]["blas"]})
        left = engine.hopeful(4.0, ("NB", "blas"), 3)
        assert found[0]["blas"] not in {point["blas"] for point in left}

    # what shares a launch

    def test_what_it_puts_into_one_launch_is_new_and_fits_one_file(
        self, make_engine: MakeEngine, conditional: SearchSpace
    ) -> None:
        engine, landscape = make_engine(conditional, 6), Landscape(conditional, 6)
        asked: set[tuple[str, Rung]] = set()
        for _ in range(25):
            launch = engine.choose_launch((SMALL_RUN, FULL), lambda _: 5)
            if not launch:
                break
            question, batch = launch[0], [one.params for one in launch]
            assert len(batch) <= 6
            assert [conditional.why_not(point) for point in batch] == [None] * len(batch)
            assert alike([launched(conditional, point) for point in batch])
            keys = {(conditional.key(point), question.rung) for point in batch}
            assert len(keys) == len(batch)
            assert question.rung == FULL or not keys & asked
            asked |= keys
            for point in batch:
                rate = landscape.rate(point)
                time_s = question.rung.operations * 100.0 / rate
                cost_s = time_s + 5.0 / len(batch)
                engine.tell(point, Outcome(rate, time_s, rung=question.rung, cost_s=cost_s, sharing=len(batch)))
