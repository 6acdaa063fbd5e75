"""RAPL, hwmon and Cray's counters, in a folder that looks like /sys."""

import time
from pathlib import Path

import pytest
from power_lab import meanwhile, put, quick, rapl_zone, watch, write

from tuner.trial.observers.energy.meters import PowerMeters

RANGE_UJ = 50_000_000
"""Of a counter that begins again after 50 J, so that it does within a test."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPLTUNE_SYSTEM_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("PATH", str(tmp_path))
    quick(monkeypatch)
    return tmp_path / "root"


def nap() -> None:
    time.sleep(0.6)


def test_a_machine_without_sensors_says_so_in_one_sentence(root: Path) -> None:
    assert root
    meters = PowerMeters.found()
    assert meters.sources == ()
    assert meters.sentences() == ["Nothing here measures the power, so no energy is told."]


def test_rapl_counts_packages_and_their_memory_once_also_where_a_counter_begins_again(root: Path) -> None:
    begin = RANGE_UJ - 20_000_000
    package = rapl_zone(root, "0", "package-0", begin, RANGE_UJ)
    core = rapl_zone(root, "0:0", "core", 0, RANGE_UJ)
    dram = rapl_zone(root, "0:1", "dram", 0, RANGE_UJ)
    board = rapl_zone(root, "1", "psys", 0, RANGE_UJ)
    mmio = root / "sys/class/powercap/intel-rapl-mmio:0"
    write(mmio, name="package-0", energy_uj=0, max_energy_range_uj=RANGE_UJ)
    meters = PowerMeters.found()
    assert meters.names == ["rapl"]
    assert [str(part) for part in meters.sources[0].parts] == ["package-0", "dram of package 0"]

    def draw(at_s: float) -> None:
        put(package, int(begin + 50e6 * at_s) % RANGE_UJ)
        put(dram, int(10e6 * at_s) % RANGE_UJ)
        for file in (core, board):
            put(file, int(1000e6 * at_s) % RANGE_UJ)

    with meanwhile(draw):
        done = watch(meters, nap, folder=root, runs=2)
    assert [round(run["rapl_power_w"]) for run in done.measured] == [pytest.approx(60, abs=6)] * 2
    for run, solve in zip(done.measured, done.solves, strict=True):
        assert solve.began_s is not None
        assert solve.ended_s is not None
        assert run["rapl_energy_j"] == pytest.approx(run["rapl_power_w"] * (solve.ended_s - solve.began_s))
    assert done.said == []


@pytest.mark.parametrize(
    ("lie", "why"), [(4_000_000, "told 0 W: the counter stood still"), ("none", "told 'none' in place of a number")]
)
def test_a_counter_that_lies_gives_nothing_and_is_named_once(root: Path, lie: object, why: str) -> None:
    package = rapl_zone(root, "0", "package-0", 4_000_000, RANGE_UJ)
    meters = PowerMeters.found()
    with meanwhile(lambda _: put(package, lie)):
        first, second = (watch(meters, nap, folder=root) for _ in range(2))
    assert first.measured == second.measured == [{}]
    (sentence,) = first.said
    assert sentence.startswith("The power source rapl ")
    assert why in sentence
    assert second.said == []


def test_a_counter_that_vanishes_in_the_middle_gives_nothing(root: Path) -> None:
    package = rapl_zone(root, "0", "package-0", 0, RANGE_UJ)
    meters = PowerMeters.found()

    def draw(at_s: float) -> None:
        if at_s < 0.3:
            put(package, int(10e6 * at_s))
        else:
            package.unlink(missing_ok=True)

    with meanwhile(draw):
        done = watch(meters, nap, folder=root)
    assert done.measured == [{}]
    assert "stopped telling" in done.said[0]


def test_a_short_solve_has_no_power(root: Path) -> None:
    package = rapl_zone(root, "0", "package-0", 0, RANGE_UJ)
    meters = PowerMeters.found()
    with meanwhile(lambda at_s: put(package, int(10e6 * at_s))):
        done = watch(meters, lambda: time.sleep(0.1), folder=root)
    assert (done.measured, done.said) == ([{}], [])


def test_counters_that_only_root_may_read_are_named_with_the_remedy(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rapl_zone(root, "0", "package-0", 0)
    opened = Path.open

    def as_a_user(file: Path, *arguments: object, **more: object) -> object:
        if file.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *arguments, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", as_a_user)
    meters = PowerMeters.found()
    assert meters.sources == ()
    (sentence,) = meters.sentences()
    assert "is for root alone" in sentence
    assert "`sudo chmod a+r /sys/class/powercap/intel-rapl*/energy_uj`" in sentence


def test_hwmon_takes_the_meter_of_the_node_and_leaves_its_parts_out(root: Path) -> None:
    hwmon = root / "sys/class/hwmon"
    write(hwmon / "hwmon0", name="amdgpu", power1_average=250_000_000)
    write(hwmon / "hwmon1", name="power_meter", power1_average=420_000_000, power1_average_min=1)
    write(hwmon / "hwmon2", name="amd_energy", energy1_label="Esocket0", energy1_input=1)
    meters = PowerMeters.found()
    assert meters.names == ["hwmon"]
    done = watch(meters, nap, folder=root)
    assert done.measured[0]["hwmon_power_w"] == pytest.approx(420)


def test_hwmon_counts_the_energy_of_sockets_where_nothing_nearer_to_the_wall_is_there(root: Path) -> None:
    chip = write(root / "sys/class/hwmon/hwmon0", name="amd_energy")
    for number, label in enumerate(["Ecore000", "Esocket0", "Esocket1"], start=1):
        write(chip, **{f"energy{number}_label": label, f"energy{number}_input": 0})
    meters = PowerMeters.found()

    def draw(at_s: float) -> None:
        for number in (1, 2, 3):
            put(chip / f"energy{number}_input", int(30e6 * at_s))

    with meanwhile(draw):
        done = watch(meters, nap, folder=root)
    assert done.measured[0]["hwmon_power_w"] == pytest.approx(60, abs=6)


def test_a_board_that_lies_gives_nothing(root: Path) -> None:
    write(root / "sys/class/hwmon/hwmon1", name="power_meter", power1_average=65_535_000_000)
    done = watch(PowerMeters.found(), nap, folder=root)
    assert done.measured == [{}]
    assert "told 65535 W" in done.said[0]


def test_a_cray_counts_the_whole_node(root: Path) -> None:
    folder = write(root / "sys/cray/pm_counters", energy="1000 J 1700000000 us", cpu_energy="500 J 1700000000 us")
    meters = PowerMeters.found()
    with meanwhile(lambda at_s: put(folder / "energy", f"{1000 + int(2000 * at_s)} J {int(1e6 * at_s)} us")):
        done = watch(meters, nap, folder=root)
    assert meters.names == ["pm_counters"]
    assert done.measured[0]["pm_counters_power_w"] == pytest.approx(2000, rel=0.1)
