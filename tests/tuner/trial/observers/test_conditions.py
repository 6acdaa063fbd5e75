"""What the machine did during a run: from the lines of ranks and nodes to measurements."""

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from as_user import Run
from hypothesis import given
from hypothesis import strategies as st
from made_study import SMALL, MakeStudy, point
from observer_contract import ObserverContract, panels
from waiting import until

from hpl.witness import NodeSeries, NodeSolve, RankSolve, SolveConditions
from results.record import Kind
from runners.job import Job
from tuner.clock import RealClock
from tuner.engines.outcomes import FULL
from tuner.trial.observers.conditions import ConditionsObserver, measured
from tuner.trial.observers.contract import LaunchObserver, SolveTime, WatchedLaunch
from tuner.trial.observers.sensors.contract import FileSensor
from tuner.trial.observers.sensors.registry import FILE_SENSORS


@pytest.fixture
def launch() -> WatchedLaunch:
    return WatchedLaunch(labels={1: "one"}, listener=lambda _: None, clock=RealClock())


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(program=("/bin/true",), ranks=2, directory=tmp_path)


def rank(number: int, host: str = "n1", **figures: float) -> RankSolve:
    return RankSolve(number, host, 100.0, 110.0, {"of": 2, "cpu_s": 9.0, "waited_s": 1.0, **figures})


def node(host: str = "n1", **figures: float) -> NodeSolve:
    known = {"cores": 2, "ranks": 2, "busy_s": 20.0, "ranks_cpu_s": 18.0, "steal_s": 0.0}
    return NodeSolve(host, 100.0, 110.0, {**known, **figures})


def series(name: str, *values: float, host: str = "n1") -> NodeSeries:
    return NodeSeries(host, name, [float(time) for time in range(len(values))], values)


class TestConditions(ObserverContract):
    def make(self, launch: WatchedLaunch) -> LaunchObserver | None:
        return ConditionsObserver.of(launch)

    def test_it_measures_what_ranks_told(self, launch: WatchedLaunch, job: Job) -> None:
        observer = self.made(launch)
        observer.begin(job, ("n1",))
        observer.look(panels())
        told = SolveConditions([rank(0), rank(1)], [node()])
        first, second = observer.end([SolveTime(1.0, 11.0, told), SolveTime(12.0)])
        assert first == {
            "solve_s": 10.0,
            "cpu_s": 18.0,
            "waited_s": 2.0,
            "most_waited": 0.1,
            "cores": 2,
            "foreign_cpu_s": 2.0,
            "steal_s": 0.0,
        }
        assert second == {}, "of which nothing is known"


def test_a_rank_that_begins_after_the_first_of_its_node_stood_still_till_then() -> None:
    late = replace(rank(1, still_s=0.1), begin_s=101.5)
    told = measured(SolveConditions([rank(0, still_s=0.2), late], [node()]), 2)
    assert [told["still_s"], told["least_still_s"]] == pytest.approx([1.6, 0.2])
    elsewhere = replace(late, host="n2")
    told = measured(SolveConditions([rank(0, still_s=0.2), elsewhere], [node()]), 2)
    assert told["still_s"] == pytest.approx(0.2), "another node has another clock"


def test_what_others_took_is_told_of_the_node_on_which_it_was_most() -> None:
    told = SolveConditions(
        [rank(0), rank(1, "n2")],
        [
            NodeSolve("n1", 100.0, 110.0, {"cores": 2, "ranks": 1, "busy_s": 12.0, "ranks_cpu_s": 9.0}, {"cp": 3.0}),
            NodeSolve("n2", 100.0, 110.0, {"cores": 64, "ranks": 1, "busy_s": 13.0, "ranks_cpu_s": 9.0}, {"dd": 4.0}),
        ],
    )
    found = measured(told, 2)
    assert {name: found[name] for name in found if name.startswith(("foreign", "cores"))} == {
        "cores": 2,
        "foreign_cpu_s": 3.0,
        "foreign_cpu_s:cp": 3.0,
    }


def test_cores_are_those_that_ranks_use_with_how_many_of_them_are_whole() -> None:
    found = measured(SolveConditions([rank(0), rank(1)], [node(cores=4, physical_cores=2)]), 2)
    assert (found["cores"], found["physical_cores"]) == (4, 2)


def test_how_long_others_took_something_is_told_by_the_samples_of_that_node() -> None:
    told = SolveConditions(
        [rank(0), rank(1)],
        [node(ranks_cpu_s=18.36)],
        [series("busy_s", 0, 2, 4, 6, 8), series("ranks_cpu_s", 0, 2, 3.2, 4.4, 6.36)],
    )
    assert measured(told, 2)["foreign_for_s"] == 2.0, "0.04 CPU seconds in a second are less than 3 % of 2 cores"


@pytest.mark.parametrize("kept", [slice(0, 3), slice(2, None)])
def test_samples_that_were_lost_on_their_way_hide_nothing_of_what_others_took(kept: slice) -> None:
    """Others took 0.9 of a core all the time; the lines with one end of one counter are lost."""
    times = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    busy = NodeSeries("n1", "busy_s", times, [2.0 * at for at in times])
    own = NodeSeries("n1", "ranks_cpu_s", times[kept], [1.1 * at for at in times[kept]])
    told = SolveConditions([rank(0), rank(1)], [node(ranks_cpu_s=11.0)], [busy, own])
    assert measured(told, 2)["foreign_for_s"] == 10.0


def test_a_rank_whose_line_was_lost_makes_no_sum_smaller() -> None:
    found = measured(SolveConditions([rank(0)], [node()]), 2)
    assert set(found) == {"solve_s", "cores", "foreign_cpu_s", "steal_s"}


def test_a_node_whose_line_was_lost_makes_no_sum_smaller() -> None:
    both = [node(nic_errors=1, throttled_s=2.0, throttled_periods=7), node("n2", nic_errors=3, throttled_s=1.0)]
    assert measured(SolveConditions([rank(0), rank(1, "n2")], both), 2)["nic_errors"] == 4
    found = measured(SolveConditions([rank(0), rank(1, "n2")], both[:1]), 2)
    assert "nic_errors" not in found
    assert (found["throttled_s"], found["throttled_periods"]) == (2.0, 7)


def test_where_a_node_knows_only_one_of_its_ranks_their_own_lines_are_taken() -> None:
    found = measured(SolveConditions([rank(0), rank(1)], [node(ranks=1, ranks_cpu_s=9.0)]), 2)
    assert found["foreign_cpu_s"] == 2.0


def test_busy_time_below_that_of_the_ranks_is_no_negative_time_of_others() -> None:
    assert measured(SolveConditions([rank(0), rank(1)], [node(busy_s=17.9)]), 2)["foreign_cpu_s"] == 0.0


def test_without_a_line_of_a_rank_nothing_is_measured() -> None:
    assert measured(SolveConditions(nodes=[node()]), 2) == {}


KHZ = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"
THROTTLED = "/sys/devices/system/cpu/cpu{}/thermal_throttle/{}_throttle_count"
CORE = "/sys/bus/platform/drivers/coretemp/coretemp.0/hwmon/hwmon3/temp1_input"


def of_files(*told: NodeSeries) -> dict[str, float]:
    found = measured(SolveConditions([rank(0), rank(1)], [], told), 2)
    of_ranks = ("solve_s", "cpu_s", "waited_s", "most_waited")
    return {name: figure for name, figure in found.items() if name not in of_ranks}


def test_the_clock_is_the_mean_of_all_cpus_and_the_lowest_that_of_a_moment() -> None:
    found = of_files(series(KHZ.format(0), 3e6, 2e6), series(KHZ.format(1), 3e6, 1e6))
    assert found == {"clock_mhz": 2250.0, "lowest_clock_mhz": 1500.0}


def test_a_clock_that_tells_nonsense_is_none() -> None:
    assert of_files(series(KHZ.format(0), 0.0, 99e9)) == {}


def test_a_processor_tells_the_temperature_before_other_parts_of_the_board() -> None:
    board = series("/sys/class/thermal/thermal_zone0/temp", 95000, 96000)
    assert of_files(board) == {"temperature_c": 96.0}
    assert of_files(board, series(CORE, 71000, 84500, 0, 999000)) == {"temperature_c": 84.5}


def test_events_of_throttling_are_those_of_all_cores_and_of_each_package_once() -> None:
    told = [series(THROTTLED.format(cpu, "package"), 5, 9) for cpu in range(4)]
    told += [series(THROTTLED.format(cpu, "core"), 1, 1 + cpu) for cpu in range(4)]
    assert of_files(*told) == {"throttle_events": 10}
    assert of_files(series(THROTTLED.format(0, "core"), 8, 8)) == {"throttle_events": 0}


@pytest.mark.parametrize("sensor", FILE_SENSORS, ids=lambda sensor: type(sensor).__name__)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_no_value_of_a_file_is_a_mistake(sensor: FileSensor, values: list[float]) -> None:
    for glob in sensor.globs:
        assert sensor.measure([series(glob, *values)]).keys() <= sensor.words.keys()


def test_the_patterns_of_sensors_fit_into_lines_of_absolute_paths() -> None:
    for sensor in FILE_SENSORS:
        assert all(glob.startswith("/") and glob.isprintable() for glob in sensor.globs)


@pytest.mark.usefixtures("mpirun")
def test_each_run_of_a_launch_has_what_was_told_of_its_own_solve(make_study: MakeStudy) -> None:
    def tells(NB: int, cpu_s: float) -> dict[str, object]:
        node = {"busy_s": 2.0, "ranks_cpu_s": cpu_s, "ranks": 1, "cores": 2, "programs": {"cc1": 0.5}}
        return {"when": {"NB": NB}, "time_s": 1.0, "pace": 0.0, "conditions": {"rank": {"cpu_s": cpu_s}, "node": node}}

    study = make_study(runs=[tells(32, 1.0), tells(64, 1.5)])
    records = study.launch([point(NB=NB) for NB in (32, 64)], Kind.SMALL, SMALL)
    measured = [record.measurements for record in study.store.records("study")]
    assert [one["cpu_s"] for one in measured] == [1.0, 1.5]
    assert [one["foreign_cpu_s"] for one in measured] == [1.0, 0.5]
    assert [record.measurements["foreign_cpu_s:cc1"] for record in records] == [0.5, 0.5]


@pytest.mark.usefixtures("mpirun")
def test_a_real_run_on_this_machine_has_its_conditions(make_study: MakeStudy) -> None:
    record = make_study(real=True).launch([point()], Kind.SEARCH, FULL)[0]
    assert record.measurements["solve_s"] == pytest.approx(record.time_s, abs=0.02)
    assert record.measurements["cpu_s"] > 0
    assert {"cores", "foreign_cpu_s"} <= set(record.measurements)


def stop_a_rank_for_a_moment() -> None:
    """Wait until HPL solves, and stop the second of this test's ranks for half a second."""
    own = os.environ["HPLTUNE_DATA"]
    until(lambda: any('"column": 128' in file.read_text() for file in Path(own).rglob("stderr")), "a solve")
    ranks = {
        process.info["environ"].get("OMPI_COMM_WORLD_RANK") or process.info["environ"].get("PMI_RANK"): process
        for process in psutil.process_iter(["name", "environ"])
        if process.info["name"] == "xhpl" and (process.info["environ"] or {}).get("HPLTUNE_DATA") == own
    }
    ranks["1"].suspend()
    time.sleep(0.5)
    ranks["1"].resume()


@pytest.mark.usefixtures("real_hpl")
def test_a_rank_that_was_stopped_for_a_moment_disturbs_a_run_on_every_face(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "5000", "--NB", "128", "--ranks", "2")
    stopping = threading.Thread(target=stop_a_rank_for_a_moment)
    stopping.start()
    done = hpltune("run", str(home / "HPL.dat"), "--blas", "openblas", "--json")
    stopping.join()
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)["study"]
    (stored,) = hpltune.told("show", study)
    assert (stored["conditions"], "a rank stood still for" in stored["disturbed"]) == ("disturbed", True), stored
    assert "disturbed" in hpltune("show", study).stdout
    assert "a rank stood still for" in " ".join(hpltune("show", study, "1").stdout.split())
    assert "disturbed" in hpltune("best", study).stdout
    ranked = hpltune.told("best", study)
    assert "a rank stood still" in json.dumps(ranked)
