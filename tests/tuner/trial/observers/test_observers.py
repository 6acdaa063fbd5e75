"""What watches a launch: the first two observers, and a sensor of this test that a real launch calls."""

import math
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pytest
from made_study import SMALL, MakeStudy, point
from observer_contract import ObserverContract, panels
from power_lab import EVERY_S, Readings, quick

from hpl.witness import Panel
from results.export.json_lines import from_json_lines, json_line
from results.record import Kind, TrialState
from runners.job import Job
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from tuner.clock import RealClock
from tuner.engines.outcomes import FULL
from tuner.events import Event, TrialProgress, TrialStarted
from tuner.trial.early_stopping import FEWEST, EarlyStopping, StopDecision
from tuner.trial.observers import registry
from tuner.trial.observers.contract import LaunchObserver, Measurements, SolveTime, WatchedLaunch, together
from tuner.trial.observers.early_stopping import EarlyStoppingObserver
from tuner.trial.observers.energy import trace
from tuner.trial.observers.energy.contract import HERE, Places, PowerPart, PowerSource
from tuner.trial.observers.energy.meters import PowerMeters
from tuner.trial.observers.energy_observer import EnergyObserver
from tuner.trial.observers.progress import ProgressObserver


class TestProgress(ObserverContract):
    def make(self, launch: WatchedLaunch) -> LaunchObserver | None:
        return ProgressObserver.of(launch)

    def test_it_tells_of_each_run_when_hpl_comes_to_it(
        self, launch: WatchedLaunch, job: Job, events: list[Event]
    ) -> None:
        self.watched(self.made(launch), job, [panels()[:3], panels()[3:], panels()[:2]])
        told = [(event.number, round(event.fraction, 2)) for event in events if isinstance(event, TrialProgress)]
        assert told == [(7, 0.33), (7, 1.0), (8, 0.18)]
        started = [event for event in events if isinstance(event, TrialStarted)]
        assert started == [TrialStarted(8, "second", 10.0, after=7)], "the display has heard of the first"

    def test_it_tells_at_the_end_of_runs_that_told_no_progress(
        self, launch: WatchedLaunch, job: Job, events: list[Event]
    ) -> None:
        self.watched(self.made(launch), job, [])
        assert [event.number for event in events if isinstance(event, TrialStarted)] == [8]


class TestEarlyStopping(ObserverContract):
    def make(self, launch: WatchedLaunch) -> LaunchObserver | None:
        return EarlyStoppingObserver.of(launch)

    def test_a_run_that_cannot_win_is_ended(self) -> None:
        early_stopping = EarlyStopping()
        for _ in range(FEWEST):
            early_stopping.learn(panels(), 4.6)
        launch = WatchedLaunch(
            labels={7: "first"},
            listener=lambda _: None,
            clock=RealClock(),
            early_stopping=early_stopping,
            must_reach_gflops=50.0,
        )
        decision = self.made(launch).look(panels())
        assert decision is not None
        assert (decision.part, decision.best_gflops) == (0.05, 50.0)
        assert decision.most_gflops < 50.0

    def test_a_run_that_need_reach_nothing_is_not_looked_at(self) -> None:
        launch = WatchedLaunch(labels={7: "first"}, listener=lambda _: None, clock=RealClock())
        assert self.make(launch) is None


class Steady(PowerSource):
    """A meter at the wall that tells 200 W."""

    name, what = "steady", "a lamp"

    def __init__(self) -> None:
        super().__init__([PowerPart(HERE)])

    @classmethod
    def find(cls, places: Places) -> Self:
        del places
        return cls()

    def read(self) -> Sequence[float]:
        return [200.0]


class TestEnergy(ObserverContract):
    @pytest.fixture
    def launch(self, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> WatchedLaunch:
        quick(monkeypatch, gap_s=30.0)
        meters = PowerMeters((Steady(),))
        return WatchedLaunch(labels={7: "first", 8: "second"}, listener=events.append, clock=RealClock(), meters=meters)

    def make(self, launch: WatchedLaunch) -> LaunchObserver | None:
        return EnergyObserver.of(launch)

    def watched(self, observer: LaunchObserver, job: Job, looks: Sequence[Sequence[Panel]]) -> Sequence[Measurements]:
        assert isinstance(observer, EnergyObserver)
        readings = Readings(observer.meters.sources[0])
        observer.begin(job, ())
        readings.wait_for(1)
        began_s = time.monotonic()
        for new in looks:
            assert observer.look(new) is None
        time.sleep(trace.FEWEST * EVERY_S)
        readings.wait_for(trace.FEWEST + 1)
        ended_s = time.monotonic()
        measured = observer.end([SolveTime(began_s, ended_s), SolveTime(ended_s)])
        assert measured[0]["steady_energy_j"] == pytest.approx(200.0 * (ended_s - began_s))
        return measured


SENSORS = list["Sensor"]()


@dataclass
class Sensor(LaunchObserver):
    """Notes what a launch tells it, and measures each run."""

    job: Job | None = None
    nodes: Sequence[str] = ()
    looks: int = 0
    panels: list[Panel] = field(default_factory=list)
    ends: list[Sequence[SolveTime]] = field(default_factory=list)

    @classmethod
    def of(cls, launch: WatchedLaunch) -> Self:
        del launch
        sensor = cls()
        SENSORS.append(sensor)
        return sensor

    def begin(self, job: Job, nodes: Sequence[str]) -> None:
        self.job, self.nodes = job, nodes

    def look(self, panels: Sequence[Panel]) -> StopDecision | None:
        self.looks += 1
        self.panels += panels
        return None

    def end(self, solves: Sequence[SolveTime]) -> Sequence[Measurements]:
        self.ends.append(solves)
        return [{"solve_count": number, "broken_w": math.nan} for number, _ in enumerate(solves, start=1)]


class TestSensor(ObserverContract):
    def make(self, launch: WatchedLaunch) -> LaunchObserver | None:
        return Sensor.of(launch)

    def test_what_it_measures_is_numbers_of_each_run_by_names_with_units(  # type: ignore[override]
        self, launch: WatchedLaunch, job: Job
    ) -> None:
        measured = together([self.watched(self.made(launch), job, [panels()])])
        assert measured == [{"solve_count": 1}, {"solve_count": 2}], "what is no number is left out"


@pytest.fixture
def sensors(monkeypatch: pytest.MonkeyPatch) -> list[Sensor]:
    """A registry with one line more, and what it has made."""
    SENSORS.clear()
    monkeypatch.setattr(registry, "OBSERVERS", (*registry.OBSERVERS, Sensor.of))
    return SENSORS


@pytest.mark.usefixtures("mpirun")
def test_a_sensor_is_one_line_and_what_it_measures_is_kept_with_the_trial(
    make_study: MakeStudy, sensors: list[Sensor]
) -> None:
    study = make_study()
    records = study.launch([point(NB=NB) for NB in (32, 64)], Kind.SMALL, SMALL)
    (sensor,) = sensors
    assert sensor.job is not None
    assert str(sensor.job.directory) == records[0].directory
    assert sensor.nodes == (socket.gethostname(),)
    assert sensor.looks > 1
    assert [panel.column for panel in sensor.panels].count(0) == 2
    (solves,) = sensor.ends
    for solve, record in zip(solves, records, strict=True):
        assert solve.began_s is not None
        assert solve.ended_s == pytest.approx(solve.began_s + (record.time_s or 0.0))
    assert [record.measurements for record in records] == [{"solve_count": 1}, {"solve_count": 2}]
    stored = study.store.records("study")
    assert [record.measurements for record in stored] == [{"solve_count": 1}, {"solve_count": 2}]
    assert from_json_lines("".join(map(json_line, stored))) == list(stored)


@pytest.mark.usefixtures("mpirun")
def test_a_sensor_hears_of_the_end_of_a_launch_that_cannot_be_started(
    make_study: MakeStudy, sensors: list[Sensor], home: Path
) -> None:
    runner = LocalRunner(OpenMpi.installed(home / "no-mpirun", "4.1.4"))
    made = make_study()
    study = replace(made, evaluators=(replace(made.evaluators[0], runner=runner),))
    record = study.trial(point(), Kind.SEARCH)
    assert record.state is TrialState.FAILED
    assert record.measurements == {}
    assert [sensor.ends for sensor in sensors] == [[()]]


@pytest.mark.usefixtures("mpirun")
def test_where_nothing_is_measured_the_column_is_empty(make_study: MakeStudy) -> None:
    study = make_study()
    record = study.launch([point()], Kind.SEARCH, FULL)[0]
    assert record.measurements == {}
    assert study.store.get("study", record.number).measurements == {}
