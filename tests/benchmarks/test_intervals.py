"""How often intervals are right, in a few studies drawn from a small table of true rates."""

import numpy as np
import pytest
from intervals import MACHINES, tell


@pytest.mark.heavy
def test_most_true_rates_and_ratios_are_inside_what_is_told_of_them() -> None:
    found = tell(MACHINES[1], [np.log(np.linspace(90.0, 100.0, 12))], 15)
    assert len(found.best) == len(found.compared) == len(found.repeated) == 15
    assert np.mean(found.best) >= 0.8
    assert np.mean(found.compared) >= 0.8
    assert np.mean(found.repeated) >= 0.8
    assert not any(found.slower[0.0]), "the machine did not become slower"
