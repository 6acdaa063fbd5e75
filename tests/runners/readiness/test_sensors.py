"""Clock, temperature and load of a node, from files as Linux has them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.readiness.sensors import SENSORS, SensorReading, parse_sensors

CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2400.500\nprocessor\t: 1\ncpu MHz\t\t: 2600.500\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/loadavg": "2.50 1.00 0.50 3/400 999\n", "proc/cpuinfo": CPUINFO, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def sample(root: Path) -> SensorReading:
    script = f'root="$1"\n{SENSORS}\nsample'
    done = subprocess.run(["sh", "-c", script, "sh", str(root)], capture_output=True, text=True, check=True)
    (found,) = parse_sensors(done.stdout)
    return found


def test_all_sensors_of_a_server_are_read_and_disks_do_not_count(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu"
    files = {
        **{f"{cpu}/cpu{number}/cpufreq/scaling_cur_freq": f"{khz}\n" for number, khz in enumerate((3400000, 3200000))},
        **{f"{cpu}/cpu{number}/thermal_throttle/core_throttle_count": f"{number + 3}\n" for number in range(2)},
        "sys/class/hwmon/hwmon0/name": "nvme\n",
        "sys/class/hwmon/hwmon0/temp1_input": "99850\n",
        "sys/class/hwmon/hwmon1/name": "coretemp\n",
        "sys/class/hwmon/hwmon1/temp1_input": "71000\n",
        "sys/class/hwmon/hwmon1/temp2_input": "83500\n",
        "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
        "sys/class/thermal/thermal_zone0/temp": "82000\n",
    }
    found = sample(write(tmp_path, files))
    assert (found.mhz, found.celsius, found.throttled, found.load) == (3300.0, 83.5, 7.0, 2.5)
    assert found.up_s > 0


def test_a_board_has_its_temperature_in_a_thermal_zone(tmp_path: Path) -> None:
    zone = "sys/class/thermal/thermal_zone0"
    assert sample(write(tmp_path, {f"{zone}/type": "cpu-thermal\n", f"{zone}/temp": "64500\n"})).celsius == 64.5


def test_a_virtual_machine_has_only_the_clock_of_cpuinfo(tmp_path: Path) -> None:
    found = sample(write(tmp_path, {}))
    assert (found.mhz, found.celsius, found.throttled, found.load) == (2500.0, None, None, 2.5)


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    for one in parse_sensors(text):
        assert one.up_s >= 0


@pytest.mark.parametrize("word", ["nan", "inf", "-5", "abc", ""])
def test_a_sensor_that_shows_no_figure_is_none(word: str) -> None:
    (found,) = parse_sensors(f"sample\t10.5\t{word}\t{word}\t{word}\t{word}\n")
    assert found == SensorReading(10.5)
