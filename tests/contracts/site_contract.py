"""What every site promises; a site's tests inherit the class and give their own `site`, `wish`, `slow` and `rung`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hpl import variant
from hpl.output import HplResult
from hpl.params import Scalar
from hpl.sizing import flop_count
from results.record import SIMULATOR, Invalidity, Kind, TrialRecord, TrialState
from runners.errors import Mishap, RunnerError
from tuner.engines.outcomes import FULL, Rung
from tuner.stopping import StopRequest
from tuner.trial.judge import Verdict
from tuner.trial.ladder import part_at
from tuner.trial.launch import LaunchLimits, LaunchResult, LaunchWatch
from tuner.trial.launching import NO_STUDY, Launching, MemoryBook, PlannedTrial, planned
from tuner.trial.plan import TrialPlan
from tuner.trial.plausible import MachineLimits
from tuner.trial.records import started
from tuner.trial.site import Site

LIMITS = LaunchLimits(limit_s=120.0)
Params = Mapping[str, Scalar]
Does = Callable[[TrialPlan], LaunchResult]


def trials(site: Site[Any], *wishes: Params, rung: Rung = FULL) -> dict[int, PlannedTrial[Any]]:
    new = [replace(started(NO_STUDY, wish, Kind.RUN, str(number)), part=part_at(wish, rung))
           for number, wish in enumerate(wishes)]  # fmt: skip
    return {n: PlannedTrial(one, planned(site.plan, one.params, rung, one.key, 0)) for n, one in enumerate(new)}


def told(plan: TrialPlan, *, count: int = 1, **changes: Any) -> LaunchResult:
    """What a sound run of half a second tells, so many times, but for changes of its result."""
    run, now = plan.runs[0], datetime.now(UTC)
    rate = flop_count(run.N) / 0.5e9
    result = HplResult(variant.encode(run), run.N, run.NB, run.P, run.Q, 0.5, rate, residual=0.001, passed=True)
    verdict = Verdict((replace(result, **changes),) * count, (None,) * count, None, cancelled=False)
    return LaunchResult(verdict, "it", "T/V", "", now, now, 1.0, "")


@dataclass
class Foreign:
    """A site whose runs come out as a stranger's may: the last way counts for all further ones."""

    site: Site[Any]
    ways: list[Does | Exception]
    plans: list[TrialPlan] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.site, name)

    def limits(self, *_: Any, **__: Any) -> MachineLimits:
        return MachineLimits(1e6, 0.0, dgemm=False)

    def run(self, plan: TrialPlan, *_: Any) -> LaunchResult:
        self.plans.append(plan)
        way = self.ways[min(len(self.plans), len(self.ways)) - 1]
        if isinstance(way, Exception):
            raise way
        return way(plan)


class SiteContract:
    """Give a `site`, the `wish` of a complete point that takes a second or two, one that takes minutes, and a rung."""

    @pytest.fixture
    def book(self, home: Path) -> MemoryBook:
        return MemoryBook(home / "site-runs")

    @pytest.fixture
    def launching(self, site: Site[Any], book: MemoryBook) -> Callable[..., Launching[Any]]:
        return lambda jobs, site=site: Launching(
            sites=[site] * jobs, book=book, listener=lambda _: None, stop=StopRequest()
        )

    def test_a_trial_becomes_a_record_and_keeps_what_went_in_and_came_out(
        self, site: Site[Any], wish: Params, launching: Callable[..., Launching[Any]]
    ) -> None:
        (record,) = launching(1).measure(trials(site, wish), LIMITS).in_order
        assert (record.state, record.reason) == (TrialState.COMPLETE, "")
        assert record.gflops
        assert record.versions == ({SIMULATOR: site.simulator} if site.simulator else {})
        assert "T/V" in record.output
        assert (Path(record.directory) / "HPL.dat").is_file()

    def test_what_cannot_be_had_is_a_record_with_the_reason(
        self, site: Site[Any], wish: Params, launching: Callable[..., Launching[Any]]
    ) -> None:
        (record,) = launching(1).measure(trials(site, {**wish, "NB": "many"}), LIMITS).in_order
        assert (record.state, record.invalidity) == (TrialState.FAILED, Invalidity.CONSTRAINTS)
        assert "many" in record.reason

    def test_a_part_of_a_run_is_no_full_run(
        self, site: Site[Any], wish: Params, rung: Rung, launching: Callable[..., Launching[Any]]
    ) -> None:
        (record,) = launching(1).measure(trials(site, wish, rung=rung), LIMITS).in_order
        assert (record.state, record.reason) == (TrialState.COMPLETE, "")
        assert record.hpl is not None
        assert record.part < 1
        assert int(wish["N"]) > record.hpl.N or record.gflops is None

    def test_a_run_that_takes_longer_than_its_limit_is_ended_and_its_record_says_so(
        self, slow: tuple[Site[Any], Params], launching: Callable[..., Launching[Any]]
    ) -> None:
        site, wish = slow
        began_s = time.monotonic()
        (record,) = launching(1, site).measure(trials(site, wish), LaunchLimits(limit_s=1.0)).in_order
        assert (record.state, record.invalidity) == (TrialState.FAILED, Invalidity.TIMEOUT)
        assert "limit of 1 s" in record.reason
        assert time.monotonic() - began_s < 30

    def test_a_run_that_is_ended_at_once_is_cancelled(self, site: Site[Any], wish: Params, home: Path) -> None:
        stop, plan = StopRequest(), planned(site.plan, wish, FULL, "key", 0)
        assert plan == planned(site.plan, wish, FULL, "key", 0), "planning is pure"
        stop.ask(at_once=True)
        assert site.run(plan, home / "ended", 120.0, stop, LaunchWatch()).verdict.cancelled

    def test_several_run_at_a_time_and_each_is_told_of_once(
        self, site: Site[Any], wish: Params, launching: Callable[..., Launching[Any]]
    ) -> None:
        several, ended = launching(2), list[TrialRecord]()
        tickets = [several.start({0: trial}, lambda _: LIMITS) for trial in trials(site, wish, wish).values()]
        while several.under_way:
            assert not several.free or len(ended) == 1
            ended += several.next().in_order
        assert len(set(tickets)) == 2
        several.close()
        assert sorted(record.key for record in ended) == ["0", "1"]
        assert all(record.state is TrialState.COMPLETE for record in ended)

    def test_nothing_runs_or_stays_running_after_a_close(
        self, slow: tuple[Site[Any], Params], launching: Callable[..., Launching[Any]], book: MemoryBook
    ) -> None:
        site, wish = slow
        several, began_s = launching(2, site), time.monotonic()
        for trial in trials(site, wish, wish).values():
            several.start({0: trial}, lambda _: LaunchLimits(limit_s=3.0))
        several.close()
        assert not several.under_way
        assert len(book.records) == 2
        assert not {record.state for record in book.records.values()} & {TrialState.RUNNING, TrialState.COMPLETE}
        assert time.monotonic() - began_s < 30

    @pytest.mark.parametrize(
        ("changes", "invalidity", "why"),
        [
            ({"residual": 17.0, "passed": False}, Invalidity.CORRECTNESS, "the residual check FAILED (17.0)"),
            ({"gflops": 1.0}, Invalidity.CORRECTNESS, "1.0 GFLOPS do not fit 0.5 s"),
            ({"gflops": 1e9, "passed": None}, Invalidity.CORRECTNESS, "are 1e+03 times Rpeak (1e+06 GFLOPS)"),
            ({"NB": 33}, Invalidity.RUNTIME, "HPL ran a configuration that was not asked for"),
            ({"count": 0}, Invalidity.RUNTIME, "of 1 run the site told what came of 0"),
        ],
    )
    def test_whatever_a_site_tells_is_judged_alike(
        self, site: Site[Any], wish: Params, launching: Callable[..., Launching[Any]],
        changes: dict[str, Any], invalidity: Invalidity, why: str,
    ) -> None:  # fmt: skip
        foreign = Foreign(site, [lambda plan: told(plan, **changes)])
        (record,) = launching(1, foreign).measure(trials(foreign, wish), LIMITS).in_order
        assert (record.state, record.invalidity) == (TrialState.FAILED, invalidity)
        assert why in record.reason

    def test_what_befalls_a_launch_is_answered_whether_its_site_returns_or_raises_it(
        self, site: Site[Any], wish: Params, launching: Callable[..., Launching[Any]], book: MemoryBook
    ) -> None:
        foreign = Foreign(site, [RunnerError("taken away", Mishap.PREEMPTED), told, RunnerError("no program")])
        ended = [launching(1, foreign).measure(trials(foreign, wish), LIMITS) for _ in range(2)]
        assert [one.event for one in ended] == [None, None]
        found = [(record.state, record.reason) for record in book.records.values()]
        assert [state for state, _ in found] == [TrialState.CANCELLED, TrialState.COMPLETE, TrialState.FAILED]
        assert [reason for _, reason in found] == ["taken away", "", "no program"]

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_nothing_stays_running_after_an_error_of_its_site(
        self, site: Site[Any], wish: Params, launching: Callable[..., Launching[Any]], book: MemoryBook, jobs: int
    ) -> None:
        at_work = launching(jobs, Foreign(site, [ValueError("a fault of a stranger")]))
        at_work.start(trials(site, wish), lambda _: LIMITS)
        with pytest.raises(ValueError, match="stranger"):
            at_work.next()
        assert at_work.free
        at_work.start(trials(site, wish), lambda _: LIMITS)
        at_work.close()
        assert [record.state for record in book.records.values()] == [TrialState.CANCELLED] * 2
