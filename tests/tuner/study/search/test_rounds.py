"""Repeats of a grid are run in rounds, so that a machine that becomes slower is not taken for a slow configuration."""

import pytest
from as_user import Run

pytestmark = pytest.mark.usefixtures("prints_hpl")
GRID = ("--space", "quick", "--set", "N=600", "--set", "NB=32,64", "--xhpl", "xhpl", "--engine", "grid")
ROUNDS = (*GRID, "--points", "3", "--repeats", "3", "--confirm", "0", "--study", "rounds")


def searched(hpltune: Run) -> list[str]:
    trials = hpltune.told("show", "rounds")
    return [trial["key"] for trial in trials if trial["kind"] == "search"]


def test_each_configuration_of_a_grid_runs_once_before_any_runs_again(hpltune: Run) -> None:
    hpltune("tune", *ROUNDS, "--trials", "5")
    began = searched(hpltune)
    assert (len(began), len(set(began[:3]))) == (5, 3)
    assert began[3:] == began[:2]
    hpltune("tune", "--resume", "--study", "rounds", "--trials", "20")
    keys = searched(hpltune)
    assert keys == began[:3] * 3, "a resumed study goes on with the round it was in"
