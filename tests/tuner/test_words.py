"""Counts with their noun."""

import ast
import re
from pathlib import Path

import pytest

from tuner.budget import Budget
from tuner.words import counted

TUNER = Path(__file__).parents[2] / "tuner"


@pytest.mark.parametrize(("count", "words"), [(1, "1 trial"), (0, "0 trials"), (2, "2 trials"), (1200, "1,200 trials")])
def test_a_count_has_its_noun_in_the_singular_only_for_one(count: int, words: str) -> None:
    assert counted(count, "trial") == words


@pytest.mark.parametrize("left", [1, 3])
def test_no_trial_is_told_in_the_plural_of_one(left: int) -> None:
    assert str(Budget(trials=left)) == counted(left, "trial")


@pytest.mark.heavy
def test_trials_and_runs_are_counted_by_the_helper_alone() -> None:
    """A number before `trials` or `runs` may be 1, but not in "3 of {n} runs" or "all {n} trials"."""
    found = []
    for file in TUNER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
                text = "".join(parts)
                if re.search(r"(?<!of )(?<!of its )(?<!all )\{\} (trials|runs)\b", text):
                    found.append(f"{file.name}: {text}")
    assert found == []
