"""GPUs through stand-ins of their libraries, and a command of the user."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from as_user import program
from power_lab import quick, watch

from tuner.trial.observers.energy import meter
from tuner.trial.observers.energy.meters import PowerMeters


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(tmp_path / "root"))
    quick(monkeypatch, gap_s=1.5)
    monkeypatch.setattr(meter, "LONGEST_READING_S", 1.0)
    return tmp_path


def nap() -> None:
    time.sleep(0.6)


class NvmlError(Exception):
    """What nvidia-ml-py raises."""


def nvml(
    monkeypatch: pytest.MonkeyPatch,
    millijoules: Callable[[float], float] | None,
    milliwatts: Callable[[float], float] = lambda _: 300_000.0,
    gpus: int = 2,
) -> None:
    """A stand-in of nvidia-ml-py; without a counter it says that it is not supported, as before Volta."""
    module, began_s = ModuleType("pynvml"), time.monotonic()

    def energy(device: int) -> float:
        assert device in range(gpus)
        if millijoules is None:
            raise NvmlError("Not Supported")
        return millijoules(time.monotonic() - began_s)

    told: dict[str, object] = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: gpus,
        "nvmlDeviceGetHandleByIndex": lambda number: number,
        "nvmlDeviceGetTotalEnergyConsumption": energy,
        "nvmlDeviceGetPowerUsage": lambda _: milliwatts(time.monotonic() - began_s),
    }
    for name, one in told.items():
        setattr(module, name, one)
    monkeypatch.setitem(sys.modules, "pynvml", module)


def test_the_energy_counters_of_all_gpus_are_taken(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    nvml(monkeypatch, lambda at_s: 1e9 + 250e3 * at_s)
    meters = PowerMeters.found()
    assert meters.names == ["nvml"]
    assert watch(meters, nap, folder=places).measured[0]["nvml_power_w"] == pytest.approx(500, rel=0.02)


def test_the_power_over_the_time_of_each_solve_is_kept(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    nvml(monkeypatch, lambda at_s: 1e9 + 250e3 * at_s)
    watched = watch(PowerMeters.found(), nap, folder=places, runs=2)
    assert [(one.solve, one.source) for one in watched.power] == [(0, "nvml"), (1, "nvml")]
    for number, one in enumerate(watched.power):
        assert list(one.times_s) == sorted(one.times_s)
        assert 0 <= one.times_s[0] <= one.times_s[-1] <= 5.0
        assert watched.measured[number]["nvml_power_w"] == pytest.approx(500, rel=0.02)
        assert sum(one.watts) / len(one.watts) == pytest.approx(500, rel=0.2)


def test_a_source_that_lies_keeps_no_power(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    nvml(monkeypatch, lambda _: 0.0)
    assert watch(PowerMeters.found(), nap, folder=places).power == ()


def test_a_gpu_without_a_counter_tells_its_power(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    nvml(monkeypatch, None)
    assert watch(PowerMeters.found(), nap, folder=places).measured[0]["nvml_power_w"] == pytest.approx(600)


@pytest.mark.parametrize(
    ("millijoules", "milliwatts", "why"),
    [(lambda at_s: 1e9 - 1e6 * at_s, 3e5, "of GPU 0 jumped back"), (None, 65_535_000.0, "told 65535 W")],
)
def test_a_gpu_that_lies_gives_nothing(
    monkeypatch: pytest.MonkeyPatch,
    places: Path,
    millijoules: Callable[[float], float] | None,
    milliwatts: float,
    why: str,
) -> None:
    nvml(monkeypatch, millijoules, lambda _: milliwatts)
    done = watch(PowerMeters.found(), nap, folder=places)
    assert done.measured == [{}]
    assert why in done.said[0]


def test_a_gpu_that_vanishes_gives_nothing(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    def lost(at_s: float) -> float:
        if at_s > 0.4:
            raise NvmlError("GPU is lost")
        return 1e9 + 1e6 * at_s

    nvml(monkeypatch, lost)
    done = watch(PowerMeters.found(), nap, folder=places)
    assert done.measured == [{}]
    assert "does not tell: 'GPU is lost'" in done.said[0]


def test_a_library_that_hangs_is_left_alone_from_then_on(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    from tuner.trial.observers.energy import sampling

    monkeypatch.setattr(sampling, "LAST_READING_S", 0.2)

    def hang(at_s: float) -> float:
        if at_s > 0.4:
            time.sleep(3.0)
        return 1e9 + 1e6 * at_s

    nvml(monkeypatch, hang)
    meters = PowerMeters.found()
    done = watch(meters, nap, folder=places)
    assert done.measured == [{}]
    assert "The power source nvml hangs: it has not answered for" in done.said[0]
    assert meters.usable(()) == []


@pytest.mark.parametrize("fault", ["nvmlInit", "nvmlDeviceGetCount"])
def test_a_library_without_a_driver_is_no_source(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    nvml(monkeypatch, lambda at_s: at_s)

    def fail() -> None:
        raise NvmlError("Driver Not Loaded")

    monkeypatch.setattr(sys.modules["pynvml"], fault, fail)
    assert PowerMeters.found().names == []


def test_the_energy_of_amds_gpus_is_counted_in_units_of_their_own(
    monkeypatch: pytest.MonkeyPatch, places: Path
) -> None:
    module, began_s = ModuleType("amdsmi"), time.monotonic()
    told: dict[str, object] = {
        "amdsmi_init": lambda: None,
        "amdsmi_get_processor_handles": lambda: ["a", "b"],
        "amdsmi_get_energy_count": lambda _: {
            "energy_accumulator": int((time.monotonic() - began_s) * 400e6 / 15.3),
            "counter_resolution": 15.3,
            "timestamp": 1,
        },
        "amdsmi_get_power_info": lambda _: {"current_socket_power": "N/A", "average_socket_power": 90},
    }
    for name, one in told.items():
        setattr(module, name, one)
    monkeypatch.setitem(sys.modules, "amdsmi", module)
    assert watch(PowerMeters.found(), nap, folder=places).measured[0]["amdsmi_power_w"] == pytest.approx(800, rel=0.02)
    monkeypatch.setattr(module, "amdsmi_get_energy_count", lambda _: {"counter_resolution": 15.3})
    assert watch(PowerMeters.found(), nap, folder=places).measured[0]["amdsmi_power_w"] == pytest.approx(180)


def test_a_command_of_the_user_prints_the_watts_of_all_nodes(places: Path) -> None:
    program(places / "plug", '#!/bin/sh\n[ "$1" = "of the rack" ] && echo "128.5 W"\n')
    meters = PowerMeters.found(command=f"{places}/plug 'of the rack'")
    assert meters.names == ["meter"]
    for nodes in ((), ("n1", "n2")):
        assert watch(meters, nap, nodes=nodes, folder=places).measured[0]["meter_power_w"] == pytest.approx(128.5)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 3", "does not tell: {}/plug ended with code 3"),
        ("echo 'no such ups' >&2; exit 1", "ended with code 1 and said 'no such ups'"),
        ("echo about 5 watts", "told 'about 5 watts' in place of watts"),
        ("echo 250 '|' cat", "told '250 | cat' in place of watts"),
        ("echo 250 mW", "told '250 mW' in place of watts"),
        ("echo 1,250", "told '1,250' in place of watts"),
        ("echo -5", "told -5 W"),
        ("true", "told '' in place of watts"),
        ("sleep 600 & sleep 600", "hangs: {}/plug did not end within 1 s, and was ended"),
        ("yes", "prints too much, and was ended"),
    ],
)
def test_a_command_that_tells_nothing_is_refused_in_one_sentence(places: Path, script: str, sentence: str) -> None:
    program(places / "plug", f"#!/bin/sh\n{script}\n")
    (said,) = PowerMeters.found(command=f"{places}/plug").sentences()
    assert sentence.format(places) in said
    assert "\n" not in said


@pytest.mark.parametrize("command", ["/no/such/program", "plug 'unclosed", "''", "\0"])
def test_a_command_that_cannot_be_started_is_refused_in_one_sentence(command: str) -> None:
    (said,) = PowerMeters.found(command=command).sentences()
    assert said.startswith("The power source meter cannot be started: ")


def test_a_meter_that_lies_or_hangs_in_the_middle_gives_nothing(places: Path) -> None:
    watts = places / "watts"
    watts.write_text("100")
    program(places / "plug", f"#!/bin/sh\n[ -e {places}/hang ] && sleep 600\ncat {watts}\n")
    meters = PowerMeters.found(command=f"{places}/plug")

    def lie() -> None:
        time.sleep(0.3)
        watts.write_text("nan")
        time.sleep(0.4)

    assert watch(meters, lie, folder=places).measured == [{}]
    watts.write_text("100")
    meters = PowerMeters.found(command=f"{places}/plug")

    def hang() -> None:
        time.sleep(0.2)
        (places / "hang").touch()
        time.sleep(1.6)

    done = watch(meters, hang, folder=places)
    assert done.measured == [{}]
    assert "hangs" in done.said[0]
