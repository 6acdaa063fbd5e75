"""What every site promises; a site's tests inherit the class and give their own `site` and `wish`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hpl.params import Scalar
from results.record import SIMULATOR, Invalidity, Kind, TrialRecord, TrialState
from tuner.engines.outcomes import FULL
from tuner.stopping import StopRequest
from tuner.trial.launch import LaunchLimits, LaunchWatch
from tuner.trial.launching import NO_STUDY, Launching, MemoryBook, PlannedTrial, planned
from tuner.trial.records import started
from tuner.trial.site import Site

LIMITS = LaunchLimits(limit_s=120.0)
Params = Mapping[str, Scalar]


def trials(site: Site[Any], *wishes: Params) -> list[PlannedTrial[Any]]:
    return [
        PlannedTrial(started(NO_STUDY, wish, Kind.RUN, str(number)), planned(site.plan, wish, FULL, str(number), 0))
        for number, wish in enumerate(wishes)
    ]


class SiteContract:
    """Give a `site` and the `wish` of a complete point that takes a second or two."""

    @pytest.fixture
    def launching(self, site: Site[Any], home: Path) -> Callable[[int], Launching[Any]]:
        return lambda jobs: Launching(
            sites=[site] * jobs, book=MemoryBook(home / "site-runs"), listener=lambda _: None, stop=StopRequest()
        )

    def test_a_trial_becomes_a_record_and_keeps_what_went_in_and_came_out(
        self, site: Site[Any], wish: Params, launching: Callable[[int], Launching[Any]]
    ) -> None:
        (record,) = launching(1).measure(dict(enumerate(trials(site, wish))), LIMITS).in_order
        assert (record.state, record.reason) == (TrialState.COMPLETE, "")
        assert record.gflops
        assert record.versions == ({SIMULATOR: site.simulator} if site.simulator else {})
        assert "T/V" in record.output
        assert (Path(record.directory) / "HPL.dat").is_file()

    def test_what_cannot_be_had_is_a_record_with_the_reason(
        self, site: Site[Any], wish: Params, launching: Callable[[int], Launching[Any]]
    ) -> None:
        asked = dict(enumerate(trials(site, {**wish, "NB": "many"})))
        (record,) = launching(1).measure(asked, LIMITS).in_order
        assert (record.state, record.invalidity) == (TrialState.FAILED, Invalidity.CONSTRAINTS)
        assert "many" in record.reason

    def test_a_run_that_is_ended_at_once_is_cancelled(self, site: Site[Any], wish: Params, home: Path) -> None:
        stop, plan = StopRequest(), planned(site.plan, wish, FULL, "key", 0)
        assert plan == planned(site.plan, wish, FULL, "key", 0), "planning is pure"
        stop.ask(at_once=True)
        assert site.run(plan, home / "ended", 120.0, stop, LaunchWatch()).verdict.cancelled

    def test_several_run_at_a_time_and_each_is_told_of_once(
        self, site: Site[Any], wish: Params, launching: Callable[[int], Launching[Any]]
    ) -> None:
        several, ended = launching(2), list[TrialRecord]()
        tickets = [several.start({0: trial}, lambda _: LIMITS) for trial in trials(site, wish, wish)]
        while several.under_way:
            assert not several.free or len(ended) == 1
            ended += several.next().in_order
        assert len(set(tickets)) == 2
        several.close()
        assert sorted(record.key for record in ended) == ["0", "1"]
        assert all(record.state is TrialState.COMPLETE for record in ended)
