import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpl.programs.terms import OwnParameter, Terms
from search_spaces.errors import SpaceError
from search_spaces.load import KEYS, check_overrides, describe, load, passed_over, shipped, wants_all_blas
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import DIMENSIONS
from tuner.settings.dimensions import setting_dimensions

BLAS = {
    "openblas": BlasFacts(("SkylakeX", "Haswell")),
    "blis": BlasFacts(("skx",)),
    "atlas": BlasFacts(("auto",), False),
}


def machine(cores: int = 4, N: int | None = 4000) -> Machine:
    return Machine(cores, 2**35, BLAS, N)


def write(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(text)
    return str(folder / "mine.toml")


def test_a_space_for_a_virtual_cluster_names_it_on_a_machine_that_is_too_small() -> None:
    with pytest.raises(SpaceError) as refused:
        load("kronos", machine(4))
    assert "needs 8 cores, but there are 4: add ⟦cluster⟧ kronos, which this space is made for" in str(refused.value)


@pytest.mark.parametrize("cores", [1, 2, 8, 96])
@pytest.mark.parametrize("name", sorted(set(shipped()) - {"kronos", "kronos-free", "kronos-steps"}))
def test_every_shipped_space_has_points_on_every_machine(name: str, cores: int) -> None:
    space = load(name, machine(cores))
    assert len(space) > 0
    for number in {0, len(space) // 2, len(space) - 1}:
        assert space.why_not(space.point(number)) is None
    assert describe(name)


def test_a_value_of_the_user_s_that_no_legal_point_has_is_named() -> None:
    given = {"NB": ["64", "384"], "N": ["512"], "grid": ["1x2"], "layout": ["2x1"], "DEPTH": ["0"]}
    (sentence,) = passed_over(load("quick", machine(2), given), given)
    assert sentence == (
        "⟦set.NB⟧: no valid combination has 384: N = 512 leaves some of 2 process columns without a panel of NB = 384: "
        "take a larger N or a smaller NB."
    )


def test_what_auto_leaves_out_was_not_given(tmp_path: Path) -> None:
    name = write(tmp_path, '[[forbid]]\nwhen = {grid = "1x4"}\nbecause = "slow"\n[parameters]\nNB = 64\ngrid = "auto"')
    assert passed_over(load(name, machine(4)), {}) == []
    assert passed_over(load(name, machine(4), {"grid": ["auto"]}), {"grid": ["auto"]}) == []
    (sentence,) = passed_over(load(name, machine(4), {"grid": ["1x4", "2x2"]}), {"grid": ["1x4", "2x2"]})
    assert sentence == "⟦set.grid⟧: no valid combination has 1x4: slow."


def test_blocks_without_effect_are_told_unless_the_command_line_may_be_why(tmp_path: Path) -> None:
    forbid = '{when = {NB = 128, DEPTH = 5}, because = "a"}, {when = {NB = 128, SWAP = "mix"}, because = "b"}'
    blocks = f'name = "mine"\nforbid = [{forbid}]\nstart = [{{NB = 96}}, {{NB = 64, DEPTH = 1}}]\n'
    name = write(tmp_path, f"{blocks}[parameters]\nNB = [64, 128]")
    assert passed_over(load(name, machine()), {}) == [
        "Space mine: start 1 is not tried: NB: 96 is not among 64, 128.",
        "Space mine: forbid 1 has no effect here: no combination that is valid without it matches it.",
    ]
    assert [start["NB"] for start in load(name, machine()).starts] == [64]
    assert passed_over(load(name, machine(), {"NB": ["32"]}), {"NB": ["32"]}) == []


@pytest.mark.parametrize("name", shipped())
def test_of_what_ships_nothing_is_without_effect(name: str) -> None:
    assert passed_over(load(name, machine(8)), {}) == []


def test_the_kronos_spaces_need_their_eight_ranks() -> None:
    with pytest.raises(SpaceError, match="8x1 needs 8 cores, but there are 2"):
        load("kronos", machine(2))
    space = load("kronos", machine(8))
    assert space.parameters["net.mtu"].values == (1500, 6000, 9000)
    assert {point["grid"] for point in (space.point(0), space.point(len(space) - 1))} == {"1x8", "2x4"}


def test_only_the_space_that_compares_libraries_wants_slow_ones() -> None:
    assert [name for name in shipped() if wants_all_blas(name)] == ["blas"]


def test_whether_libraries_are_compared_is_read_from_the_text_at_hand() -> None:
    assert wants_all_blas("gone.toml", "all_blas = true")
    assert not wants_all_blas("blas", "all_blas = false")


def test_auto_means_what_the_machine_has() -> None:
    space = load("full", machine())
    assert space.parameters["blas"].values == ("openblas", "blis", "atlas")
    assert space.parameters["layout"].values == ("4x1", "2x2", "1x4")
    assert set(space.parameters["grid"].values) == {"2x2", "1x4", "4x1", "1x2", "2x1", "1x1"}


def test_values_from_the_command_line_replace_and_add(tmp_path: Path) -> None:
    file = write(tmp_path, 'name = "m"\n[parameters]\nNB = [64]\nmemory_fraction = 0.5\n')
    space = load(file, machine(), {"NB": ["100", "200"], "DEPTH": ["0"], "N": ["500"]})
    assert space.parameters["NB"].values == (100, 200)
    assert space.complete(space.point(0))["N"] == 500


def test_a_kernel_from_the_command_line_goes_to_the_library_that_has_it() -> None:
    space = load("default", machine(), {"kernel": ["SkylakeX"]})
    assert {point["blas"] for point in space} == {"openblas"}


def test_ranges_lists_cases_and_rules_are_read(tmp_path: Path) -> None:
    text = """
name = "m"
description = "mine"
restrictions = ["grid_flat"]
[parameters]
grid = "auto"
NB = { low = 64, high = 256, step = 64 }
NBMIN = { low = 1, high = 8, log = true }
SWAP = ["bin", "mix"]
swap_threshold = { by = "SWAP", mix = [32, 64] }
mpi.btl = ["self,vader", "self,tcp"]
[[forbid]]
when = { SWAP = "mix", NB = [64, 128] }
because = "small panels swap by binary exchange"
[[start]]
NB = 192
"""
    space = load(write(tmp_path, text), machine())
    assert space.parameters["NB"].values == (64, 128, 192, 256)
    assert space.parameters["NBMIN"].values == (1, 2, 4, 8)
    assert space.parameters["mpi.btl"].values == ("self,vader", "self,tcp")
    assert all(point["grid"] in {"2x2", "1x4"} for point in space)
    assert space.starts[0]["NB"] == 192
    illegal = {**space.point(0), "SWAP": "mix", "swap_threshold": 32, "NB": 64}
    assert space.why_not(illegal) == "small panels swap by binary exchange"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[parameters]\nNB = [64\n", "is not TOML"),
        ("[paramters]\nNB = [64]\n", "unknown key paramters: did you mean parameters?"),
        ('name = "m"\n', "[parameters] is missing"),
        ("[parameters]\nNBB = [64]\n", "unknown parameter NBB: did you mean NB?"),
        ("[parameters]\nNB = []\n", "parameters.NB: NB has no value"),
        ("[parameters]\nNB = [0]\n", "parameters.NB: NB = 0: expected a whole number of at least 1"),
        ("[parameters]\nNB = [64, 64]\n", "names a value twice"),
        ('[parameters]\nBCAST = ["3rg"]\n', "1rg, 1rM, 2rg, 2rM, Lng, LnM"),
        ('[parameters]\ngrid = ["2by4"]\n', "expected P x Q"),
        ('[parameters]\nlayout = ["4"]\n', "parameters.layout"),
        ('[parameters]\nblas = "auto"\nlayout = { by = "blas", openblas = "4" }\n',
         "parameters.layout: layout = 4: expected ranks x threads as 4x2"),
        ("[parameters]\nNB = { low = 64 }\n", "low and high"),
        ("[parameters]\nNB = { low = 64, high = 1 }\n", "is empty"),
        ('[parameters]\nNB = { low = 64, high = "x" }\n', "whole numbers"),
        ('[parameters]\nNB = "auto"\n',
         '"auto" is known for blas, kernel, mpi, layout, grid, nodes_dropped, rank_order and settings only'),
        ('[parameters]\nkernel = { by = "blas", openblas = ["Zen"] }\n', "does not have"),
        ('restrictions = ["square"]\n[parameters]\nNB = 64\n', "unknown name square"),
        ("[parameters]\nNB = 64\n[[forbid]]\nwhen = { NB = 64 }\n", "forbid 1: expected `when`"),
        ('[parameters]\nNB = 64\n[[forbid]]\nwhen = { NB = 64 }\nbecause = "no"\n',
         "no valid combination: no (forbid 1)"),
        ("[parameters]\nthreshold = [0]\n", "HPL would not check"),
        ("[parameters]\nthreshold = inf\n", "HPL would not check"),
        ("[parameters]\nN = 3_000_000_000\n", "N = 3000000000: expected a whole number of at least 1, below 2^31"),
        ("[parameters]\nN = 4000\nmemory_fraction = 0.5\n", "N and memory_fraction both say how large"),
        ('[parameters]\nblas = ["auto"]\n', "blas = auto: expected a BLAS name"),
        ('[parameters]\ngrid = ["02x2"]\n', "expected P x Q"),
        ("[parameters]\nnet.mtu = -1\n", "net.mtu = -1: expected a whole number of bytes, at least 68, at most 65535"),
        ("[parameters]\nsus.colour = 1\n", "parameters.sus.colour: unknown parameter sus.colour: known are "),
        ("[parameters]\nNB = 64\n[[start]]\nnet.mtu = 9\n", "start 1: net.mtu = 9: expected a whole number of bytes"),
        ("[parameters]\nNB = { low = 1, high = 2_000_000_000 }\n", "has more than 10000 values"),
        ("[parameters]\nNB = { low = 1, high = 8, log = 1 }\n", "log must be true or false"),
        ("[parameters]\nNB = { low = 1, high = 8, step = 2, log = true }\n",
         "parameters.NB: log = true doubles each value"),
        ('[parameters]\nN = "budget"\nNB = { by = "N", 4000 = 64 }\n',
         "parameters.NB: NB depends on N, whose value the budget chooses: give N its values as numbers"),
        ("[parameters]\nNB = { by = 'N', 4000 = 64 }\n", "NB depends on N, which the space does not have: add N"),
        ("[parameters]\nNB = 1979-05-27\n", "expected texts or numbers, not 1979-05-27"),
        ("[parameters]\nmpi.a = [[1]]\n", "parameters.mpi.a: expected texts or numbers"),
        ('[parameters]\nSWAP = "mix"\nswap_threshold = { by = "SWAP", mxi = 64 }\n', "mxi is no value of SWAP"),
        ('[parameters]\nkernel = { by = "bals", openblas = "Zen" }\n', "unknown parameter bals: did you mean blas?"),
        ('[parameters]\nNB = { by = "NB", 64 = 64 }\n', "NB depend on one another in a circle"),
        ("parameters = 3\n", "parameters: expected a table"),
        ("name = 3\n[parameters]\nNB = 64\n", "name: expected a text, not 3"),
        ('all_blas = "yes"\n[parameters]\nNB = 64\n', "all_blas: expected true or false"),
        ('restrictions = "grid_flat"\n[parameters]\nNB = 64\n', "restrictions: expected a list of names"),
        ('restrictions = ["grid_flt"]\n[parameters]\nNB = 64\n', "did you mean grid_flat?"),
        ("forbid = [3]\n[parameters]\nNB = 64\n", "forbid 1: expected a table"),
        ('[parameters]\nNB = 64\n[[forbid]]\nwhen.NBB = 1\nbecause = "no"\n',
         "forbid 1: when.NBB: unknown parameter NBB"),
        ('[parameters]\nNB = 64\n[[forbid]]\nwhen.NB = "x"\nbecause = "no"\n',
         "forbid 1: when.NB = x: expected a whole"),
        ("[parameters]\nNB = 64\n[start]\nNB = 64\n", "start: expected [[start]] tables"),
        ("[parameters]\nNB = 64\n[[start]]\nNBB = 64\n", "start 1: NBB: unknown parameter NBB: did you mean NB?"),
        ("[parameters]\nNB = 64\n[[start]]\nNB = [64, 128]\n", "start 1: NB: expected one value"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SpaceError) as caught:
        load(file, machine(), settings=setting_dimensions())
    assert words in str(caught.value)
    assert file in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('blas = "auto"\nNB = { by = "blas", opneblas = [256], blis = [144] }\n',
         "NB: opneblas is no value of blas: did you mean openblas? A library of your own must be in `blas`"),
        ('mpi = "auto"\nNB = { by = "mpi", opnempi = 64 }\n', "opnempi is no value of mpi: did you mean openmpi?"),
        ('blas = ["openblas", "mine"]\nNB = { by = "blas", minne = 64 }\n',
         "minne is no value of blas: did you mean mine?"),
        ("NB = { low = 64, high = 192, step = 64 }\nNBMIN = { by = 'NB', 182 = 4 }\n",
         "parameters.NBMIN: 182 is no value of NB: did you mean 192?"),
        ("NB = [64, 96]\nNBMIN = { by = 'NB', 7 = 4 }\n", "7 is no value of NB: expected one of 64, 96"),
        ('SWAP = "mix"\nswap_threshold = { by = "SWAP", mix = 64 }\nNB = { by = "swap_threshold", 32 = 64 }\n',
         "parameters.NB: 32 is no value of swap_threshold: expected one of 64"),
    ],
)  # fmt: skip
def test_a_case_the_decider_never_has_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        load(write(tmp_path, f"[parameters]\n{text}"), machine())
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "wished"),
    [
        ('blas = "auto"\nNB = { by = "blas", mkl = 256, openblas-pypi = 256, openblas = 192 }\n', {}),
        ('mpi = "auto"\nNB = { by = "mpi", mpich = 64, intelmpi = 96 }\n', {}),
        ('kernel = "auto"\nblas = "auto"\nNB = { by = "kernel", Zen = 64 }\n', {}),
        ('layout = "auto"\nNB = { by = "layout", 96x1 = 64 }\n', {}),
        ("NB = [64, 96]\nNBMIN = { by = 'NB', 64 = 4, 96 = 8 }\n", {"NB": ["64"]}),
        ('blas = ["openblas", "mine"]\nNB = { by = "blas", mine = 64 }\n', {"blas": ["openblas"]}),
    ],
    ids=["a BLAS of another machine", "its MPI", "its kernel", "its layout", "a narrowed list", "a narrowed BLAS"],
)
def test_a_case_that_another_machine_or_command_line_would_have_stays_legal(
    tmp_path: Path, text: str, wished: dict[str, list[str]]
) -> None:
    assert len(load(write(tmp_path, f"[parameters]\n{text}"), machine(), wished)) > 0


JUNK_KEYS = ["NB", "grid", "mpi", "by", "low", "high", "step", "log", "when", "because", "mix", "64"]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["auto", "budget"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(JUNK_KEYS), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*KEYS, "other"]), JUNK, max_size=4), st.sampled_from(sorted(DIMENSIONS)), JUNK)
def test_whatever_a_file_holds_it_is_a_space_or_a_sentence(table: dict[str, object], name: str, entry: object) -> None:
    parameters = table.get("parameters")
    table["parameters"] = {**(parameters if isinstance(parameters, dict) else {}), name: entry}
    with suppress(SpaceError):
        space = load("junk.toml", machine(), text=toml(table))
        assert space.key(space.point(0))
        assert all(space.why_not(start) is None for start in space.starts)


def toml(value: object) -> str:
    """A table as TOML, every entry on one line."""
    assert isinstance(value, dict)
    return "".join(f"{json.dumps(key)} = {inline(entry)}\n" for key, entry in value.items())


def inline(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {inline(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, float):
        return str(value)
    return json.dumps("" if value is None else value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"NB": ["abc"]}, "⟦set.NB⟧: NB = abc: expected a whole number"),
        ({"NBB": ["1"]}, "⟦set.NBB⟧: unknown parameter NBB: did you mean NB?"),
        (
            {"BCAST": ["1RM"]},
            "⟦set.BCAST⟧: BCAST = 1RM: expected one of 1rg, 1rM, 2rg, 2rM, Lng, LnM, bc6, bc7; did you mean 1rM?",
        ),
        ({"N": ["100"], "memory_fraction": ["0.5"]}, "keep one of them"),
        ({"layout": ["4"]}, "⟦set.layout⟧: layout = 4: expected ranks x threads"),
    ],
)
def test_a_mistake_on_the_command_line_is_named_with_its_option(values: dict[str, list[str]], words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        load("quick", machine(), values)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ({"N": ["10", "000"]}, "a comma separates values, so these are 10, 000; write 10000 for one number"),
        ({"net.mtu": ["1", "5k"]}, "a comma separates values, so these are 1, 5k)"),
    ],
)
def test_a_number_that_was_written_with_a_comma_gets_a_hint(values: dict[str, list[str]], hint: str) -> None:
    with pytest.raises(SpaceError) as caught:
        check_overrides(values, setting_dimensions())
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("line", "hint"),
    [("NB = 144,5", "write 144.5 for one number, [144, 5] for two"), ("blas = atlas", 'names need quotes: "atlas"')],
)
def test_what_toml_does_not_read_gets_a_hint_what_to_write(line: str, hint: str) -> None:
    with pytest.raises(SpaceError, match="is not TOML") as caught:
        load("mine", machine(), {}, f"[parameters]\n{line}\n")
    assert str(caught.value).endswith(f": {hint}")


def test_a_size_from_the_command_line_replaces_the_other_kind_of_size(tmp_path: Path) -> None:
    file = write(tmp_path, 'name = "m"\n[parameters]\nN = [500]\n')
    space = load(file, machine(), {"memory_fraction": ["0.5"]})
    assert int(space.complete(space.point(0))["N"]) > 40_000


def test_settings_hpltune_does_not_know_keep_their_digits() -> None:
    space = load("quick", machine(), {"mpi.a": ["007", "7", "1e3"], "memory_fraction": ["0.50"]})
    assert space.parameters["mpi.a"].values == ("007", 7, "1e3")
    assert space.parameters["memory_fraction"].values == (0.5,)


def test_grids_are_those_of_the_ranks_a_space_can_start() -> None:
    assert load("quick", machine()).parameters["grid"].values == ("2x2", "1x4", "4x1")


def test_a_layout_may_depend_on_the_library_and_grids_are_those_of_all_its_cases(tmp_path: Path) -> None:
    text = """
[parameters]
blas = ["openblas", "atlas"]
layout = { by = "blas", openblas = ["2x2", "1x4"], atlas = "3x1" }
grid = "auto"
"""
    space = load(write(tmp_path, text), machine())
    assert {(point["blas"], point["layout"], point["grid"]) for point in space} == {
        ("openblas", "2x2", "1x2"),
        ("openblas", "2x2", "2x1"),
        ("openblas", "1x4", "1x1"),
        ("atlas", "3x1", "1x3"),
        ("atlas", "3x1", "3x1"),
    }
    assert set(space.parameters["grid"].values) == {"1x2", "2x1", "1x1", "1x3", "3x1"}


def test_where_a_layout_has_no_case_the_grids_are_those_of_one_rank_per_core(tmp_path: Path) -> None:
    text = '[parameters]\nblas = ["openblas", "atlas"]\nlayout = { by = "blas", openblas = "1x4" }\ngrid = "auto"\n'
    space = load(write(tmp_path, text), machine())
    assert {point["grid"] for point in space if point["blas"] == "openblas"} == {"1x1"}
    assert {point["grid"] for point in space if point["blas"] == "atlas"} == {"2x2", "1x4", "4x1"}


def test_rules_that_always_hold_may_be_named(tmp_path: Path) -> None:
    text = 'restrictions = ["fits_memory"]\n[parameters]\nNB = [64]\n'
    assert len(load(write(tmp_path, text), machine())) == 1


def test_a_forbidden_grid_is_judged_by_the_layout_of_the_point(tmp_path: Path) -> None:
    text = """
[parameters]
DEPTH = [0, 1]
layout = ["4x1", "2x1"]
[[forbid]]
when = { grid = "2x2" }
because = "not this one"
"""
    space = load(write(tmp_path, text), machine())
    assert {point["layout"] for point in space} == {"2x1"}


def test_a_file_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[parameters]\nNB = [64]\n", encoding="utf-8-sig")
    assert len(load(str(tmp_path / "mine.toml"), machine())) == 1


def test_rules_that_read_n_judge_nothing_before_it_is_chosen(tmp_path: Path) -> None:
    text = '[parameters]\nDEPTH = [0, 1]\nlayout = "3x1"\n[[forbid]]\nwhen = {N = 600}\nbecause = "odd"'
    unknown = load(write(tmp_path, text), machine(3, N=None))
    assert (len(unknown), unknown.largest_n, "N" in unknown.first) == (2, 0, False)
    assert unknown.why_not(unknown.first) is None
    with pytest.raises(SpaceError, match="N = 512 leaves some of 3 process columns without a panel of NB = 192"):
        unknown.at(512)
    with pytest.raises(SpaceError, match="odd"):
        unknown.at(600)
    assert len(unknown.at(640)) == 2


def test_a_space_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="did you mean default"):
        load("defalt", machine())
    with pytest.raises(SpaceError, match="cannot be read"):
        load(str(tmp_path / "none.toml"), machine())


def two_programs() -> Machine:
    """A machine with a program that is built and one of a vendor, as each sees it."""
    picky = Terms(
        takes={"SWAP": ("long",)}, own=(OwnParameter("split", (0.3, 0.5), 0.3, (0.0, 1.0)),), bcasts=("bc6",),
        ranks_on_node=lambda _: (1,), no_other_ranks=True,
    )  # fmt: skip
    vendor = Machine(4, 2**35, {"vendor": BlasFacts()}, 4000, terms=picky)
    blas = {**BLAS, **vendor.blas}
    return Machine(4, 2**35, blas, 4000, programs={"netlib": machine(4), "vendor": vendor})


@pytest.mark.parametrize("name", ["quick", "default"])
def test_each_point_has_what_its_own_program_takes(name: str) -> None:
    space = load(name, two_programs())
    programs = set()
    for number in range(0, len(space), max(1, len(space) // 500)):
        point = space.complete(space.point(number))
        programs.add(point["program"])
        if point["program"] == "vendor":
            assert (point["blas"], point["layout"], point["SWAP"]) == ("vendor", "1x4", "long")
            assert 0.3 <= float(point["program.split"]) <= 0.5
        else:
            assert point["blas"] in BLAS
            assert point.get("BCAST") != "bc6"
            assert "program.split" not in point
    assert programs == {"netlib", "vendor"}


def test_a_program_without_a_legal_point_is_told() -> None:
    given = {"SWAP": ["mix"], "layout": ["1x4"]}
    (sentence,) = passed_over(load("default", two_programs(), given), {"program": ["vendor"]})
    assert "no valid combination has vendor: SWAP = mix is refused by the program: it takes long" in sentence
