import time
from pathlib import Path

import pytest

from search_spaces.errors import SpaceError
from search_spaces.load import describe, load, shipped, wants_all_blas
from search_spaces.machine import BlasFacts, Machine

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


@pytest.mark.parametrize("cores", [1, 2, 8, 96])
@pytest.mark.parametrize("name", sorted(set(shipped()) - {"kronos"}))
def test_every_shipped_space_has_points_on_every_machine_and_is_counted_soon(name: str, cores: int) -> None:
    began = time.monotonic()
    space = load(name, machine(cores))
    assert time.monotonic() - began < 10
    assert len(space) > 0
    for number in {0, len(space) // 2, len(space) - 1}:
        assert space.why_not(space.point(number)) is None
    assert describe(name)


def test_kronos_needs_its_eight_ranks() -> None:
    with pytest.raises(SpaceError, match="8x1 needs 8 cores, but there are 2"):
        load("kronos", machine(2))
    space = load("kronos", machine(8))
    assert space.parameters["net.mtu"].values == (1500, 6000, 9000)
    assert {point["grid"] for point in (space.point(0), space.point(len(space) - 1))} == {"1x8", "2x4"}


def test_only_the_space_that_compares_libraries_wants_slow_ones() -> None:
    assert [name for name in shipped() if wants_all_blas(name)] == ["blas"]


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
        ("[parameters]\nNB = { low = 64 }\n", "low and high"),
        ("[parameters]\nNB = { low = 64, high = 1 }\n", "is empty"),
        ('[parameters]\nNB = { low = 64, high = "x" }\n', "whole numbers"),
        ('[parameters]\nNB = "auto"\n', '"auto" is known for blas, kernel, layout and grid only'),
        ('[parameters]\nkernel = { by = "blas", openblas = ["Zen"] }\n', "does not have"),
        ('restrictions = ["square"]\n[parameters]\nNB = 64\n', "unknown name square"),
        ("[parameters]\nNB = 64\n[[forbid]]\nwhen = { NB = 64 }\n", "forbid 1: expected `when`"),
        ('[parameters]\nNB = 64\n[[forbid]]\nwhen = { NB = 64 }\nbecause = "no"\n', "no legal point: no"),
        ("[parameters]\nthreshold = [0]\n", "HPL would not check"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SpaceError) as caught:
        load(file, machine())
    assert words in str(caught.value)
    assert file in str(caught.value)


def test_n_left_to_a_budget_that_was_not_given_is_said() -> None:
    with pytest.raises(SpaceError, match="--set N="):
        load("quick", machine(N=None))


def test_a_space_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="did you mean default"):
        load("defalt", machine())
    with pytest.raises(SpaceError, match="cannot be read"):
        load(str(tmp_path / "none.toml"), machine())
