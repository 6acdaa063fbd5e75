"""How many points of a space HPL can tell apart, counted and estimated."""

import pytest

from search_spaces import distinct as module
from search_spaces.distinct import Alike, Distinct, distinct
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.space import SearchSpace

MACHINE = Machine(4, 2**34, {"openblas": BlasFacts(("Haswell", "Zen")), "atlas": BlasFacts(("auto",), False)}, 4000)
RECURSION = """
[parameters]
layout = "auto"
blas = "auto"
grid = "auto"
NB = [8, 16]
NBMIN = [1, 4, 8, 16]
NDIV = [2, 3, 4]
RFACT = ["left", "crout", "right"]
BCAST = ["1rg", "1rM", "2rM", "LnM"]
DEPTH = [0, 1]
"""
SWAPS = """
[parameters]
layout = "4x1"
grid = ["1x4", "2x2", "4x1"]
SWAP = ["bin", "long", "mix"]
EQUIL = ["yes", "no"]
U = ["transposed", "notransposed"]
PMAP = ["row", "column"]
"""
FORBIDDEN = """
[[forbid]]
when = { SWAP = "bin", EQUIL = "no", DEPTH = 1 }
because = "a rule makes one block of them"
"""
SPACES = {
    "recursion": RECURSION,
    "swap alone": SWAPS,
    "threshold by swap": SWAPS + 'swap_threshold = { by = "SWAP", mix = [0, 64] }',
    "threshold for itself": SWAPS + "swap_threshold = [0, 64, 128]",
    "a block across": SWAPS + "DEPTH = [0, 1]" + FORBIDDEN,
}


def space(text: str) -> SearchSpace:
    return load("test", MACHINE, text=text)


@pytest.mark.heavy
@pytest.mark.parametrize("text", SPACES.values(), ids=SPACES)
def test_points_that_are_alike_are_one_together(text: str) -> None:
    found = space(text)
    alike = Alike(found)
    assert sum(1 / alike.count(point) for point in found) == pytest.approx(len({found.key(point) for point in found}))


@pytest.mark.heavy
@pytest.mark.parametrize("text", SPACES.values(), ids=SPACES)
def test_an_estimate_is_as_near_as_it_says_and_always_the_same(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    found = space(text)
    counted = distinct(found)
    assert counted == Distinct(len({found.key(point) for point in found}))
    monkeypatch.setattr(module, "COUNTED", 10)
    estimated = distinct(found)
    assert estimated == distinct(found)
    assert 0 < estimated.error < counted.points / 5
    assert abs(estimated.points - counted.points) < 3 * estimated.error


def test_a_space_of_millions_is_estimated_though_it_cannot_be_listed() -> None:
    found = load("full", MACHINE)
    assert len(found) > 1e8
    assert 0 < distinct(found).points < len(found) / 2


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Distinct(1234), "1,234"),
        (Distinct(9612, 218), "about 9,600 (± 400)"),
        (Distinct(1_234_567, 60_000), "about 1,200,000 (± 100,000)"),
        (Distinct(5_432, 3), "about 5,432 (± 6)"),
    ],
)
def test_an_estimate_has_no_more_figures_than_are_known(found: Distinct, words: str) -> None:
    assert str(found) == words
