"""The table of what the machine did during a run."""

import re
from pathlib import Path

from observer_contract import NAMED_WITH_UNIT
from record_builders import finished

from tuner.reports.lists import trial_json
from tuner.reports.machine_did import machine_did_table
from tuner.trial.observers.sensors.registry import FILE_SENSORS


def told(**measured: float) -> dict[str, str]:
    table = machine_did_table(finished(1, measurements=measured))
    assert table is not None
    return dict(table.rows)  # type: ignore[arg-type]


def test_figures_that_belong_together_are_one_line_with_units() -> None:
    assert told(solve_s=12.0, cpu_s=18.2, waited_s=5.5, cores=2, foreign_cpu_s=9.6, foreign_for_s=9.0) == {
        "ranks got": "18 s of CPU time, and waited 5.5 s for a core in a solve of 12 s, all ranks together",
        "others took": "9.6 s of CPU time of 2 cores, noticeably for 9.0 s",
    }
    assert told(major_faults=1, swap_pages=0, huge_page_bytes=2**31) == {
        "memory": "1 major fault, 0 swapped pages, 2.0 GiB in huge pages"
    }
    assert told(clock_mhz=2449.7, lowest_clock_mhz=1200.0, temperature_c=84.5, throttle_events=3) == {
        "clock": "2450 MHz, at least 1200 MHz",
        "temperature": "at most 84 °C",
        "throttling for heat": "3 times",
    }


def test_all_that_is_measured_is_told_in_words_has_a_unit_and_stands_on_its_page() -> None:
    page = (Path(__file__).parents[3] / "docs/conditions.md").read_text("utf-8").partition("## ")[0]
    named = set(
        re.findall("`([a-z_]+)`", "".join(line.split("|")[1] for line in page.splitlines() if line[:3] == "| `"))
    )
    assert not told(**dict.fromkeys(named, 1.0)).keys() & named
    sensed = {name for sensor in FILE_SENSORS for name in sensor.words}
    assert sensed <= named, "say in docs/conditions.md what these are and where they come from"
    assert all(map(NAMED_WITH_UNIT.fullmatch, sensed)), "NAMED_WITH_UNIT has the units"


def test_programs_of_others_are_named_those_that_took_most_first() -> None:
    measured = {"foreign_cpu_s": 9.6, "foreign_cpu_s:cc1": 2.0, "foreign_cpu_s:python3": 7.0}
    assert told(**measured)["others took"] == "9.6 s of CPU time: python3 7.0 s, cc1 2.0 s"


def test_energy_names_its_source() -> None:
    assert told(rapl_energy_j=1234.5, rapl_power_w=102.9) == {"energy (rapl)": "1,234 J, on average 102.9 W"}


def test_a_figure_that_no_line_knows_is_told_by_its_name() -> None:
    assert told(moons_count=2.0) == {"moons_count": "2"}


def test_a_run_without_measurements_has_no_table_and_an_empty_object() -> None:
    unwatched = finished(1, measurements={})
    assert machine_did_table(unwatched) is None
    assert trial_json(unwatched, ())["measurements"] == {}
