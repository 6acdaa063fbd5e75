"""What holds for every observer of a launch; a test class of one inherits this and says how it is made."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from hpl.sizing import fraction_done
from hpl.witness import Panel
from runners.job import Job
from tuner.clock import RealClock
from tuner.events import Event, Notice
from tuner.trial.early_stopping import EarlyStopping
from tuner.trial.observers.contract import LaunchObserver, Measurements, SolveTime, WatchedLaunch

NAMED_WITH_UNIT = re.compile(
    r"[a-z][a-z0-9_]*_(s|j|w|ghz|mhz|percent|c|bytes|count|switches|periods|faults|pages|misses|errors|retransmits|events)"
    r"|cores|foreign_cpu_s:[ -9;-~]{1,15}"
)
N = 4096


def panels() -> list[Panel]:
    """The panels of a run of ten seconds."""
    return [Panel(N, column, 10.0 * fraction_done(N, column)) for column in range(0, N, 256)]


class ObserverContract:
    """The contract of `tuner/trial/observers/contract.py`."""

    def make(self, launch: WatchedLaunch) -> LaunchObserver | None:
        """The observer of a launch, as its registry makes it."""
        raise NotImplementedError

    @pytest.fixture
    def events(self) -> list[Event]:
        return []

    @pytest.fixture
    def launch(self, events: list[Event]) -> WatchedLaunch:
        """A launch of two runs that need reach next to nothing."""
        return WatchedLaunch(
            labels={7: "first", 8: "second"},
            listener=events.append,
            clock=RealClock(),
            expected_s=10.0,
            early_stopping=EarlyStopping(),
            must_reach_gflops=1e-9,
        )

    @pytest.fixture
    def job(self, tmp_path: Path) -> Job:
        return Job(program=("/bin/true",), ranks=1, directory=tmp_path)

    def made(self, launch: WatchedLaunch) -> LaunchObserver:
        observer = self.make(launch)
        assert observer is not None
        return observer

    def watched(self, observer: LaunchObserver, job: Job, looks: Sequence[Sequence[Panel]]) -> Sequence[Measurements]:
        """A launch of two runs, looked at so often."""
        observer.begin(job, ("node-1",))
        for new in looks:
            assert observer.look(new) is None, "a run that can win goes on"
        return observer.end([SolveTime(1.0, 11.0), SolveTime(12.0)])

    @pytest.mark.parametrize("at_once", [True, False])
    def test_what_it_measures_is_numbers_of_each_run_by_names_with_units(
        self, launch: WatchedLaunch, job: Job, *, at_once: bool
    ) -> None:
        both = [*panels(), *panels()]
        looks = [[], both, []] if at_once else [[], *([panel] for panel in both), []]
        measured = self.watched(self.made(launch), job, looks)
        assert len(measured) <= 2
        for of_run in measured:
            assert all(math.isfinite(figure) for figure in of_run.values())
            assert all(NAMED_WITH_UNIT.fullmatch(name) for name in of_run), of_run

    def test_it_ends_without_a_figure_where_nothing_could_be_started(self, launch: WatchedLaunch, job: Job) -> None:
        observer = self.made(launch)
        observer.begin(job, ())
        assert not any(observer.end(()))

    def test_a_program_that_tells_no_progress_is_no_mistake(self, launch: WatchedLaunch, job: Job) -> None:
        assert len(self.watched(self.made(launch), job, [[], []])) <= 2

    def test_a_further_launch_has_one_of_its_own(self, launch: WatchedLaunch) -> None:
        assert self.make(launch) is not self.make(launch)

    def test_it_says_nothing_where_all_is_well(self, launch: WatchedLaunch, job: Job, events: list[Event]) -> None:
        self.watched(self.made(launch), job, [panels()])
        assert not [event for event in events if isinstance(event, Notice)]
