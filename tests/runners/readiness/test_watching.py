"""What a node did while a program ran there: of real programs here, and of trees of files that a program changes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.disturbance import Cause, judge
from runners.readiness.watching import measured_in, watched_command

COMPUTES = "import time; began = time.process_time()\nwhile time.process_time() - began < 1.0: pass"
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


def watched(folder: Path, *program: str, root: Path | None = None, shell: str = "sh") -> tuple[int, str]:
    """Run a program as nodes do, in a folder of its own."""
    command = watched_command((), program, every_s=1.0)
    words = [shell, *command[:1], *command[1:]] if shell == "busybox" else [shell, *command[1:]]
    environment = {**os.environ, "HPLTUNE_SYSTEM_ROOT": str(root or "")}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.heavy
@pytest.mark.parametrize("shell", SHELLS)
def test_the_time_of_a_program_is_told_from_that_of_others(tmp_path: Path, shell: str) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(busy, start_new_session=True) for _ in range(2)]
    try:
        code, text = watched(tmp_path, sys.executable, "-c", COMPUTES, shell=shell)
    finally:
        for one in others:
            one.kill()
            one.wait()
    found = measured_in(text)
    assert code == 0
    assert 0.9 <= found["cpu_s"] <= 1.6, found
    assert found["cores"] >= 1.0
    assert found["foreign_cpu_s"] > 0.1, found
    assert found["solve_s"] >= 0.9
    _, disturbed = judge(found)
    assert disturbed is not None
    assert disturbed.reasons[0].cause in {Cause.OTHERS, Cause.STEAL}
    named = [name for name in found if name.startswith("foreign_cpu_s:")]
    assert 1 <= len(named) <= 3, found


def test_output_and_exit_code_of_the_program_stay(tmp_path: Path) -> None:
    code, text = watched(tmp_path, "sh", "-c", "echo result; exit 7")
    assert code == 7
    assert text.startswith("result\n")


def node(root: Path) -> Path:
    """A node with two processors and a quota, whose counters stand still."""
    files = {
        "proc/stat": "cpu 1000 0 100 5000 50 0 0 10 0 0\ncpu0 500 0 50 2500 25 0 0 5\ncpu1 500 0 50 2500 25 0 0 5\n",
        "proc/vmstat": "nr_free_pages 7\npswpin 100\npswpout 200\n",
        "proc/self/cgroup": "0::/user/job\n",
        "proc/loadavg": "2.50 1.00 0.50 3/400 999\n",
        "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
        "sys/fs/cgroup/user/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_usec 1000000\n",
        "sys/fs/cgroup/user/job/cpu.stat": "nr_throttled 0\nthrottled_usec 0\n",
        **{f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": f"{cpu}\n" for cpu in range(2)},
        **{f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq": "3000000\n" for cpu in range(2)},
        **{f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count": "5\n" for cpu in range(2)},
        **{f"sys/class/hwmon/hwmon{chip}/name": "coretemp\n" for chip in range(2)},
        **{f"sys/class/hwmon/hwmon{chip}/temp1_label": f"Package id {chip}\n" for chip in range(2)},
        **{f"sys/class/hwmon/hwmon{chip}/temp1_input": "45000\n" for chip in range(2)},
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


HOT = """
cd "$1"
echo 2100000 >sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq
echo 96500 >sys/class/hwmon/hwmon1/temp1_input
while [ "$(grep -c '^socket' "$2/readings")" -lt 4 ]; do sleep 0.1; done
echo 17 >sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count
printf 'nr_throttled 11\\nthrottled_usec 2500000\\n' >sys/fs/cgroup/user/cpu.stat
printf 'pswpin 100\\npswpout 5200\\n' >proc/vmstat
echo "cpu 6000 0 100 5000 50 0 0 5010 0 0
cpu0 1 0 0 1
cpu1 1 0 0 1" >proc/stat
"""


def test_what_happens_while_a_program_runs_is_told_of_the_node_and_of_each_processor(tmp_path: Path) -> None:
    root = node(tmp_path / "root")
    _, text = watched(tmp_path, "sh", "-c", HOT, "sh", str(root), str(tmp_path), root=root)
    found = measured_in(text)
    told = {name: found[name] for name in ("swap_pages", "throttled_s", "throttled_periods", "steal_s", "cores")}
    assert told == {"swap_pages": 5000, "throttled_s": 1.5, "throttled_periods": 7, "steal_s": 50, "cores": 2}
    assert 40.0 < found["foreign_cpu_s"] <= 50.0
    assert (found["clock_mhz:0"], found["clock_mhz:1"], found["clock_mhz"]) == (3000, 2100, 2550)
    assert (found["begin_temperature_c:1"], found["temperature_c:1"], found["temperature_c:0"]) == (45, 96.5, 45)
    assert (found["throttle_events:0"], found["throttle_events:1"], found["throttle_events"]) == (0, 12, 12)
    _, seen = judge(found)
    assert seen is not None
    assert {reason.cause for reason in seen.reasons} == set(Cause) - {Cause.WAITED, Cause.STOPPED}


def test_a_node_without_counters_tells_no_others(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    _, text = watched(tmp_path, "sleep", "0.1", root=tmp_path / "root")
    assert set(measured_in(text)) <= {"solve_s", "cpu_s"}


@given(st.text(alphabet=st.sampled_from("counters\tspent\tbegin1.5e-9nanif\n socket\tsample"), max_size=300))
def test_any_output_is_read_without_an_error(text: str) -> None:
    assert all(value >= 0.0 for value in measured_in(text).values())
