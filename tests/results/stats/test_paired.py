"""What rounds tell of rivals: right where the difference is large, silent where there is none."""

import numpy as np
import pytest

from results.stats.paired import leads, order_of


def test_a_rival_that_is_faster_in_every_round_surely_is() -> None:
    (lead,) = leads([[100.0, 101.0, 99.5], [98.0, 99.0, 97.6]], [(0, 1)])
    assert lead.chance > 0.99
    assert lead.interval_percent[0] < lead.percent < lead.interval_percent[1]
    assert lead.percent == pytest.approx(2.0, abs=0.2)


def test_the_same_lead_seen_from_the_other_side_is_its_opposite() -> None:
    rates = [[100.0, 101.0, 99.5], [98.5, 101.5, 97.6]]
    ours, theirs = leads(rates, [(0, 1), (1, 0)])
    assert ours.chance == pytest.approx(1 - theirs.chance, abs=1e-3)
    assert 1 + ours.percent / 100 == pytest.approx(1 / (1 + theirs.percent / 100), rel=1e-4)


def test_equal_rivals_are_a_toss_up() -> None:
    (lead,) = leads([[100.0] * 4, [100.0] * 4], [(0, 1)])
    assert lead.chance == pytest.approx(0.5)


def test_a_machine_that_slows_down_from_round_to_round_hides_nothing() -> None:
    slower = np.array([1.0, 0.8, 0.5, 0.45])
    steady, drifting = ([100.0, 100.5, 99.8, 100.1], [98.1, 98.4, 98.0, 98.2])
    (still,) = leads([steady, drifting], [(0, 1)])
    (moved,) = leads([list(steady * slower), list(drifting * slower)], [(0, 1)])
    assert moved.chance == pytest.approx(still.chance, abs=1e-6)
    assert moved.percent == pytest.approx(still.percent, abs=1e-6)


def test_one_disturbed_run_does_not_turn_the_order() -> None:
    (lead,) = leads([[100.0, 101.0, 60.0, 100.2], [98.0, 99.0, 97.6, 98.1]], [(0, 1)])
    assert lead.chance > 0.9


def test_a_machine_that_has_shown_more_noise_is_believed_less() -> None:
    rates = [[100.0, 101.0, 99.5], [98.0, 99.9, 97.0]]
    (usual,), (noisy,) = leads(rates, [(0, 1)]), leads(rates, [(0, 1)], shown=0.2)
    assert 0.5 < noisy.chance < usual.chance


def test_rivals_are_sorted_by_their_mean_rate() -> None:
    assert order_of([[1.0, 1.0], [3.0, 3.0], [2.0, 2.0]]) == [1, 2, 0]
