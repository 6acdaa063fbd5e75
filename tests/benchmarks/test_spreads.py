"""What is told of virtual clusters whose nodes differ as those of today."""

import numpy as np
import pytest
from spreads import ONE_SLOW, judged


@pytest.mark.heavy
def test_bad_nodes_are_counted_as_named_or_waited_for_and_sound_ones_as_blamed() -> None:
    healthy, one = judged(16, 0.01, [], 6), judged(16, 0.01, [ONE_SLOW], 6)
    assert (healthy.named, healthy.told, len(healthy.blamed)) == ([], [], 6)
    assert (one.named, one.told) == ([True] * 6, [True] * 6)
    assert np.median(healthy.waits) < 3.0
    assert 8.0 < np.median(one.waits) < 12.0


def test_where_sound_nodes_differ_by_three_percent_hot_ones_are_named_and_hpl_waits_for_them() -> None:
    hot = judged(16, 0.03, [14.0, 18.0], 6)
    assert len(hot.told) == 12
    assert min(sum(hot.named), sum(hot.told)) >= 10
    assert np.median(hot.gains) > 0.0
