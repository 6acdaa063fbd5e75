"""The games of `benchmarks/shootouts.py`: a clear order is found, and equal libraries are a tie nearly always."""

import numpy as np
from shootouts import MACHINES, played


def test_a_clear_order_is_found_and_equal_libraries_are_a_tie() -> None:
    draw = np.random.default_rng(3)
    assert [played((0.05, 0.0), MACHINES[0], draw)[0] for _ in range(3)] == ["right"] * 3
    assert "right" not in {played((0.0, 0.0), MACHINES[0], draw)[0] for _ in range(3)}
