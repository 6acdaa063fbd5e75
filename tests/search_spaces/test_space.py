from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpl.params import Scalar
from search_spaces import blocks
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point, dimension
from search_spaces.parameters.parameter import Parameter, integers
from search_spaces.restriction import ALWAYS, RESTRICTIONS, Restriction, forbidden
from search_spaces.space import SearchSpace

MACHINE = Machine(4, 2**34, {"openblas": BlasFacts(("Haswell", "Zen")), "atlas": BlasFacts(("auto",), False)}, 4000)
VALUES: dict[str, tuple[Scalar, ...]] = {
    "NB": (2, 64, 128, 192),
    "NBMIN": (1, 4, 100),
    "layout": ("4x1", "2x2", "1x4", "2x1"),
    "grid": ("1x1", "1x2", "2x1", "2x2", "1x4", "4x1"),
    "blas": ("openblas", "atlas"),
    "DEPTH": (0, 1, 2),
    "BCAST": ("1rg", "1rM", "Lng"),
    "N": (100, 4000, 8000),
    "SWAP": ("bin", "mix"),
    "alignment": (4, 8),
}


def space(
    *names: str,
    extra: tuple[Parameter, ...] = (),
    values: dict[str, tuple[Scalar, ...]] = VALUES,
    rules: tuple[Restriction, ...] = (),
) -> SearchSpace:
    parameters = [*(Parameter(name, values[name]) for name in names), *extra]
    return SearchSpace("test", MACHINE, parameters, [*ALWAYS, *rules])


CHOSEN = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5, unique=True)
SUBSETS = st.fixed_dictionaries(
    {name: st.lists(st.sampled_from(values), min_size=1, unique=True).map(tuple) for name, values in VALUES.items()}
)


FORBIDDEN = st.lists(st.sampled_from(sorted(VALUES)), max_size=2, unique=True).flatmap(
    lambda names: st.fixed_dictionaries(
        {name: st.sampled_from(VALUES[name]).map(lambda value: (value,)) for name in names}
    )
)


@settings(max_examples=60, deadline=None)
@given(CHOSEN, SUBSETS, FORBIDDEN)
def test_the_points_of_a_space_are_just_the_legal_ones(
    names: list[str], values: dict[str, tuple[Scalar, ...]], when: dict[str, tuple[Scalar, ...]]
) -> None:
    rules = (forbidden(1, when, "not this"),) if when else ()
    every = [dict(zip(names, point, strict=True)) for point in product(*(values[name] for name in names))]
    whole = [(point, space("NB").complete(point)) for point in every]
    legal = [point for point, full in whole if all(rule.check(full, MACHINE) is None for rule in (*ALWAYS, *rules))]
    if not legal:
        with pytest.raises(SpaceError, match="no valid combination: "):
            space(*names, values=values, rules=rules)
        return
    found = space(*names, values=values, rules=rules)
    assert [point for point in every if found.why_not(point) is None] == legal
    points = list(found)
    assert len(points) == len(found) == len(legal)
    assert sorted(map(str, (sorted(point.items()) for point in points))) == sorted(
        map(str, (sorted(point.items()) for point in legal))
    )


def test_a_space_of_millions_is_counted_without_being_listed() -> None:
    wide = space("NB", "layout", "grid", "blas", "DEPTH", "BCAST", "SWAP", "alignment")
    assert len(wide) == len(space("NB", "layout", "grid", "blas")) * 3 * 3 * 2 * 2
    assert wide.why_not(wide.point(len(wide) - 1)) is None
    with pytest.raises(IndexError):
        wide.point(len(wide))


def test_a_kernel_belongs_to_its_blas() -> None:
    kernel = Parameter.depending("kernel", "blas", {"openblas": ("Haswell", "Zen")})
    found = list(space("blas", extra=(kernel,)))
    assert found == [
        {"blas": "openblas", "kernel": "Haswell"},
        {"blas": "openblas", "kernel": "Zen"},
        {"blas": "atlas"},
    ]
    sentence = space("blas", extra=(kernel,)).why_not({"blas": "atlas", "kernel": "Zen"})
    assert sentence == "kernel: Zen does not go with blas = atlas (none)"


def test_what_depends_on_an_absent_parameter_is_absent_too() -> None:
    kernel = Parameter.depending("kernel", "blas", {"openblas": ("Haswell",)})
    NB = Parameter.depending("NB", "kernel", {"Haswell": (64, 128)})
    found = space("blas", extra=(kernel, NB))
    assert list(found) == [
        {"blas": "openblas", "kernel": "Haswell", "NB": 64},
        {"blas": "openblas", "kernel": "Haswell", "NB": 128},
        {"blas": "atlas"},
    ]
    assert [found.why_not(point) for point in found] == [None, None, None]
    assert found.why_not({"blas": "atlas", "NB": 64}) == "NB: it depends on kernel, which the point does not give"
    assert found.why_not({"blas": "openblas"}) == "kernel: no value is given; valid are Haswell"


KERNELS = Machine(
    4,
    2**34,
    {
        "openblas": BlasFacts(("SkylakeX",), known_kernels=("SkylakeX", "Haswell")),
        "blis": BlasFacts(("skx",), known_kernels=("skx", "haswell")),
        "atlas": BlasFacts(("auto",), False),
    },
    4000,
)


def with_kernels(*kernels: str, blas: tuple[str, ...] = ("openblas", "blis", "atlas")) -> SearchSpace:
    parameters = [Parameter("blas", blas), Parameter("kernel", kernels)]
    return SearchSpace("kernels", KERNELS, parameters, ALWAYS)


@pytest.mark.parametrize("kernel", ["SkylakeX", "Haswell"])
def test_a_kernel_of_one_library_is_not_asked_of_another_whether_it_is_worth_a_search_or_not(kernel: str) -> None:
    assert list(with_kernels(kernel)) == [{"blas": "openblas", "kernel": kernel}]


def test_why_a_library_does_not_run_a_kernel_names_those_that_have_it_and_what_it_has_itself() -> None:
    found = with_kernels("SkylakeX", "skx")
    assert found.why_not({"blas": "blis", "kernel": "SkylakeX"}) == (
        "kernel = SkylakeX is one of openblas, not of blis: take auto, skx, haswell"
    )
    assert found.why_not({"blas": "atlas", "kernel": "skx"}) == "kernel = skx is one of blis, not of atlas: take auto"


def test_the_library_s_own_choice_and_a_kernel_that_no_library_is_known_to_have_are_left_to_every_library() -> None:
    assert len(with_kernels("auto", "Zen9")) == 6


def test_a_library_of_which_nothing_is_known_may_have_any_kernel() -> None:
    assert len(with_kernels("SkylakeX", blas=("openblas", "mine"))) == 2


def test_a_kernel_without_a_library_is_asked_of_the_first_one() -> None:
    with pytest.raises(SpaceError, match="kernel = skx is one of blis, not of openblas"):
        SearchSpace("kernels", KERNELS, [Parameter("kernel", ("skx",))], ALWAYS)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"NB": 63, "layout": "4x1", "grid": "2x2"}, "NB: 63 is not among 2, 64, 128, 192"),
        ({"NB": 64, "layout": "4x1", "grid": "1x2"}, "the grid 1x2 needs 2 ranks, but the layout 4x1 starts 4"),
        ({"NB": 64, "layout": "4x1"}, "grid: no value is given"),
        ({"NB": 64, "layout": "4x1", "grid": "2x2", "DEPTH": 7}, "DEPTH = 7 is not a value of the space test"),
        ({"NB": 2, "layout": "4x1", "grid": "2x2"}, "NBMIN = 4 is larger than NB = 2"),
    ],
)
def test_why_a_point_is_illegal_is_said_with_its_numbers(point: Point, words: str) -> None:
    assert words in str(space("NB", "layout", "grid").why_not(point))


def test_threads_need_a_threaded_library_and_cores() -> None:
    found = space("layout", "grid", "blas")
    sentence = found.why_not({"layout": "2x2", "grid": "1x2", "blas": "atlas"})
    assert sentence == "the layout 2x2 wants 2 threads a rank, but atlas has no threaded build: take one thread"
    with pytest.raises(SpaceError, match="8x1 needs 8 cores, but there are 4"):
        SearchSpace("big", MACHINE, [Parameter("layout", ("8x1",))], ALWAYS)


def test_a_matrix_larger_than_the_memory_is_illegal() -> None:
    with pytest.raises(SpaceError, match=r"N = 90000 .* only 16.0 GiB may be used"):
        SearchSpace("huge", MACHINE, [Parameter("N", (90_000,))], ALWAYS)


def test_n_follows_from_the_fraction_of_the_memory_and_nb() -> None:
    found = SearchSpace("m", MACHINE, [Parameter("memory_fraction", (0.1, 0.5)), Parameter("NB", (100, 128))], ALWAYS)
    for point in found:
        N = int(found.complete(point)["N"])
        assert N % int(point["NB"]) == 0
        assert float(point["memory_fraction"]) * MACHINE.memory_bytes >= 8 * N * N


def test_a_space_that_forbids_everything_says_which_rule_did() -> None:
    rule = forbidden(1, {"DEPTH": (0, 1, 2)}, "look-ahead is not wanted here")
    with pytest.raises(SpaceError, match="look-ahead is not wanted here"):
        SearchSpace("none", MACHINE, [Parameter("DEPTH", (0, 1, 2))], [*ALWAYS, rule])


def test_an_impossible_space_names_each_rule_that_left_nothing_with_an_example() -> None:
    with pytest.raises(SpaceError) as caught:
        space("layout", "grid", values={**VALUES, "layout": ("3x1", "8x1"), "grid": ("2x2",)})
    assert str(caught.value) == (
        "no valid combination: "
        "the grid 2x2 needs 4 ranks, but the layout 3x1 starts 3: choose a grid of 3 (grid_uses_all_ranks); "
        "the layout 8x1 needs 8 cores, but there are 4: take fewer ranks or threads (layout_fits_cores)"
    )


def test_a_block_too_large_to_list_is_refused_before_it_takes_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_PARTS", 1000)
    parameters = [Parameter("N", integers(2000, 11_999)), Parameter("NB", integers(1, 200))]
    with pytest.raises(SpaceError, match="more than 1,000 combinations of N, NB, which depend on one another"):
        SearchSpace("huge", MACHINE, parameters, ALWAYS)


def test_mpi_libraries_are_told_apart() -> None:
    found = space(extra=(Parameter("mpi", ("openmpi", "mpich")),))
    assert len({found.key(point) for point in found}) == 2


def test_points_that_hpl_cannot_tell_apart_share_a_key() -> None:
    found = space("layout", "grid", "BCAST", "DEPTH")
    one_column = {"layout": "4x1", "grid": "4x1"}
    keys = {found.key({**one_column, "BCAST": b, "DEPTH": d}) for b in VALUES["BCAST"] for d in VALUES["DEPTH"]}
    assert len(keys) == 1


def test_a_threshold_written_without_its_point_is_the_same_one() -> None:
    found = space(extra=(Parameter("threshold", (16, 16.5)),))
    assert found.key({"threshold": 16}) == found.key({"threshold": 16.0}) == found.key({})
    assert found.key({"threshold": 16.5}) != found.key({})


def test_the_nearest_legal_point_moves_what_must_follow_a_value_that_is_kept() -> None:
    found = space("layout", "grid", "NB").nearest({"layout": "2x2", "grid": "2x2", "NB": 128}, keep="layout")
    assert found["layout"] == "2x2"
    assert found["grid"] in {"1x2", "2x1"}
    assert found["NB"] == 128


def test_the_nearest_legal_point_keeps_most_of_a_wish() -> None:
    found = space("layout", "grid", "NB", "DEPTH")
    assert found.nearest({"layout": "4x1", "grid": "1x1", "NB": 128, "DEPTH": 2}) | {"grid": "?"} == {
        "layout": "4x1",
        "grid": "?",
        "NB": 128,
        "DEPTH": 2,
    }


def test_ranges_include_both_ends() -> None:
    assert integers(64, 256, 64) == (64, 128, 192, 256)
    assert integers(1, 32, log=True) == (1, 2, 4, 8, 16, 32)
    for low, high, step in ((5, 4, 1), (1, 4, 0)):
        with pytest.raises(SpaceError, match="empty"):
            integers(low, high, step)


def test_every_dimension_accepts_its_own_default() -> None:
    found = space("NB").complete({"NB": 64})
    assert all(dimension(name).accepts(value) for name, value in found.items())


def test_restrictions_a_space_may_ask_for_judge_grids() -> None:
    full = {"layout": "4x1", "grid": "4x1"}
    assert RESTRICTIONS["grid_flat"].check(full, MACHINE)
    assert RESTRICTIONS["grid_near_square"].check({**full, "grid": "1x4"}, MACHINE) is None


def test_the_largest_n_is_that_of_all_values_not_of_the_first() -> None:
    sizes = Parameter("N", (8000, 32000, 16000))
    assert space("NB", extra=(sizes,)).largest_n == 32000
    parts = Parameter("memory_fraction", (0.2, 0.8, 0.4))
    assert space("NB", extra=(parts,)).largest_n > 1.9 * space("NB", extra=(replace(parts, values=(0.2,)),)).largest_n


def test_a_space_for_another_n_is_the_one_that_is_loaded_for_it() -> None:
    for text in (
        "parameters = { NB = [64, 128], grid = ['1x4', '2x2'] }",
        "parameters = { N = [2000, 3000], NB = 64 }",
    ):
        small, large = (load("test", replace(MACHINE, N=N), text=text) for N in (1024, 30_000))
        changed = small.at(30_000)
        assert [changed.complete(point) for point in changed] == [large.complete(point) for point in large]
        assert (changed.largest_n, changed.asked_n) == (large.largest_n, large.asked_n)


def test_where_no_point_of_another_n_is_legal_the_sentence_names_the_space() -> None:
    with pytest.raises(SpaceError, match=r"^test: .*N = 90000"):
        load("test", MACHINE, text="parameters = { NB = [64, 128] }").at(90_000)
