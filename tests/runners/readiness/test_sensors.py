"""Clock, temperature and load of a node, from files as Linux has them."""

import subprocess
from pathlib import Path

import pytest
from as_user import tree
from hypothesis import given
from hypothesis import strategies as st

from runners.readiness.sensors import SENSORS, SensorReading, SocketReading, parse_sensors

CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2400.500\nprocessor\t: 1\ncpu MHz\t\t: 2600.500\n"


def write(root: Path, files: dict[str, str]) -> Path:
    return tree(root, {"proc/loadavg": "2.50 1.00 0.50 3/400 999\n", "proc/cpuinfo": CPUINFO, **files})


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
    assert found == SensorReading(up_s=10.5)


def two_sockets() -> dict[str, str]:
    """Four CPUs of two processors, which heat and throttling tell apart."""
    cpu = "sys/devices/system/cpu"
    return {
        **{f"{cpu}/cpu{number}/topology/physical_package_id": f"{number // 2}\n" for number in range(4)},
        **{f"{cpu}/cpu{number}/cpufreq/scaling_cur_freq": f"{3000 - 100 * number}000\n" for number in range(4)},
        **{f"{cpu}/cpu{number}/thermal_throttle/core_throttle_count": f"{number}\n" for number in range(4)},
    }


def test_the_chips_of_intel_tell_their_socket_by_a_label(tmp_path: Path) -> None:
    chips = {
        f"sys/class/hwmon/hwmon{number}/{name}": text
        for number, socket, hot in ((3, 1, 71000), (4, 0, 64000))
        for name, text in {
            "name": "coretemp\n",
            "temp1_label": f"Package id {socket}\n",
            "temp1_input": f"{hot}\n",
            "temp2_label": "Core 0\n",
            "temp2_input": f"{hot + 2500}\n",
        }.items()
    }
    found = sample(write(tmp_path, {**two_sockets(), **chips}))
    assert found.sockets == {0: SocketReading(2950.0, 66.5, 1.0), 1: SocketReading(2750.0, 73.5, 5.0)}
    assert (found.mhz, found.celsius, found.throttled) == (2850.0, 73.5, 6.0)


def test_the_chips_of_amd_tell_their_socket_by_their_numa_node(tmp_path: Path) -> None:
    chips = {
        f"sys/class/hwmon/hwmon{number}/{name}": text
        for number, near, hot in ((0, 1, 71250), (1, 0, 64000))
        for name, text in {"name": "k10temp\n", "device/numa_node": f"{near}\n", "temp1_input": f"{hot}\n"}.items()
    }
    nodes = {f"sys/devices/system/node/node{near}/cpulist": f"{2 * near}-{2 * near + 1}\n" for near in range(2)}
    found = sample(write(tmp_path, {**two_sockets(), **chips, **nodes}))
    assert {number: one.celsius for number, one in found.sockets.items()} == {0: 64.0, 1: 71.2}


def test_a_chip_that_tells_no_socket_is_one_of_the_whole_node(tmp_path: Path) -> None:
    chip = {"sys/class/hwmon/hwmon0/name": "k10temp\n", "sys/class/hwmon/hwmon0/device/numa_node": "-1\n"}
    found = sample(write(tmp_path, {**two_sockets(), **chip, "sys/class/hwmon/hwmon0/temp1_input": "64000\n"}))
    assert found.celsius == 64.0
    assert {one.celsius for one in found.sockets.values()} == {None}


def test_a_sensor_out_of_all_bounds_is_not_the_hottest(tmp_path: Path) -> None:
    chip = "sys/class/hwmon/hwmon0"
    files = {f"{chip}/name": "coretemp\n", f"{chip}/temp1_input": "255000\n", f"{chip}/temp2_input": "50000\n"}
    assert sample(write(tmp_path, files)).celsius == 50.0


def test_cpuinfo_tells_the_clock_of_each_socket_where_nothing_else_does(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu"
    files = {f"{cpu}/cpu{number}/topology/physical_package_id": f"{number}\n" for number in range(2)}
    found = sample(write(tmp_path, files))
    assert {number: one.mhz for number, one in found.sockets.items()} in (
        {0: 2400.0, 1: 2600.0},
        {0: 2401.0, 1: 2601.0},
    )
