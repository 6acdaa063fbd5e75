"""The engine `hpl` where several runs may share a launch."""

import pytest
from engine_contract import LARGE, MANY_VALUES, SMALL, space_of
from landscape import Landscape

from hpl.sizing import flop_count
from search_spaces.space import SearchSpace
from tuner.engines.companions import shared_seconds
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Rung

CHEAP = Rung(Fidelity.SMALL, 0.35)


class TestSharingALaunch:
    @pytest.fixture
    def space(self) -> SearchSpace:
        return space_of(SMALL)

    def launches(self, space: SearchSpace, start_s: float, most: int = 7) -> list[tuple[Rung, int]]:
        """The rung and the size of each launch of a study where starting takes so long and a full run half a second."""
        engine, landscape = HplEngine(space, 0), Landscape(space, 0)
        found = []
        for _ in range(20):
            launch = engine.choose_launch((CHEAP, FULL), lambda _: most)
            if not launch:
                break
            question, batch = launch[0], [one.params for one in launch]
            found.append((question.rung, len(batch)))
            for point in batch:
                rate = landscape.rate(point)
                time_s = question.rung.operations * flop_count(space.machine.N or 0) / rate / 1e9
                cost_s = time_s + start_s / len(batch)
                engine.tell(point, Outcome(rate, time_s, rung=question.rung, cost_s=cost_s, sharing=len(batch)))
        return found

    def test_small_runs_share_it_where_starting_takes_longer_than_running(self) -> None:
        found = self.launches(space_of(MANY_VALUES), start_s=0.1)
        assert max(size for rung, size in found if rung == CHEAP) > 1
        assert {size for rung, size in found if rung == FULL} == {1}

    @pytest.mark.heavy
    def test_they_share_it_with_what_the_sample_of_a_large_space_does_not_hold(self) -> None:
        small = [size for rung, size in self.launches(space_of(LARGE), start_s=0.2) if rung == CHEAP][1:]
        assert sum(small) / len(small) > 4

    @pytest.mark.heavy
    def test_a_value_that_the_sample_has_not_met_does_not_disturb(self) -> None:
        assert max(size for rung, size in self.launches(space_of(MANY_VALUES), start_s=0.2) if rung == CHEAP) > 4

    def test_nothing_shares_it_where_starting_takes_no_time(self, space: SearchSpace) -> None:
        assert {size for _, size in self.launches(space, start_s=0.0)} == {1}

    @pytest.mark.parametrize("most", [0, 1, 2])
    def test_no_more_than_there_is_room_for(self, most: int) -> None:
        assert max(size for _, size in self.launches(space_of(MANY_VALUES), start_s=0.5, most=most)) == 1 + most


def test_starting_and_running_are_told_apart_by_launches_that_differ() -> None:
    rests = [(1, 0.35, 0.6 + 0.4 * 0.35**2), (4, 0.35, 0.15 + 0.4 * 0.35**2), (1, 1.0, 1.0)]
    assert shared_seconds(rests, 1.0) == pytest.approx((0.6, 0.4))
    assert shared_seconds(rests[:1], 0.35) == pytest.approx((rests[0][2] / 2, rests[0][2] / 2))
    assert shared_seconds([], 1.0) == (0.0, 0.0)


def test_where_all_launches_were_alike_what_each_run_added_is_scaled_to_the_size_that_is_asked_for() -> None:
    of_eight = (8, 0.35, 0.5)
    assert shared_seconds([of_eight] * 8, 0.35) == pytest.approx((8 * 0.25, 0.25))
    assert shared_seconds([of_eight] * 8, 0.7) == pytest.approx((8 * 0.25, 4 * 0.25))
