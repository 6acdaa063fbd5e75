"""The table of what the machine did during a run."""

import re
from pathlib import Path

import pytest
from golden import hold_scene, told
from observer_contract import NAMED_WITH_UNIT
from record_builders import finished

from results.report.model import Report
from tuner.reports.lists import trial_json
from tuner.reports.machine_did import machine_did_table, measured_sentence
from tuner.trial.observers.sensors.registry import FILE_SENSORS

SCENES: dict[str, dict[str, float]] = {
    "what ranks got and others took": {
        "solve_s": 12.0, "cpu_s": 18.2, "waited_s": 5.5, "cores": 2, "foreign_cpu_s": 9.6, "foreign_for_s": 9.0,
    },
    "memory": {"major_faults": 1, "swap_pages": 0, "huge_page_bytes": 2**31},
    "clock and heat": {"clock_mhz": 2449.7, "lowest_clock_mhz": 1200.0, "temperature_c": 84.5, "throttle_events": 3},
    "programs of others, those that took most first": {
        "foreign_cpu_s": 9.6, "foreign_cpu_s:cc1": 2.0, "foreign_cpu_s:python3": 7.0,
    },
    "energy with its source": {"rapl_energy_j": 1234.5, "rapl_power_w": 102.9},
    "a figure that no line knows": {"moons_count": 2.0},
}  # fmt: skip


@pytest.mark.parametrize("scene", SCENES)
def test_figures_that_belong_together_are_one_line_with_units(request: pytest.FixtureRequest, scene: str) -> None:
    table = machine_did_table(finished(1, measurements=SCENES[scene]))
    assert table is not None
    hold_scene(request, "machine_did", SCENES, scene, told(Report("", (table,))))


def test_all_that_is_measured_is_told_in_words_has_a_unit_and_stands_on_its_page() -> None:
    page = (Path(__file__).parents[3] / "docs/conditions.md").read_text("utf-8").partition("## ")[0]
    named = set(
        re.findall("`([a-z_]+)`", "".join(line.split("|")[1] for line in page.splitlines() if line[:3] == "| `"))
    )
    table = machine_did_table(finished(1, measurements=dict.fromkeys(named, 1.0)))
    assert table is not None
    assert not {str(head) for head, _ in table.rows} & named
    sensed = {name for sensor in FILE_SENSORS for name in sensor.words}
    assert sensed <= named, "say in docs/conditions.md what these are and where they come from"
    assert all(map(NAMED_WITH_UNIT.fullmatch, sensed)), "NAMED_WITH_UNIT has the units"


def test_a_run_without_measurements_has_no_table_and_an_empty_object() -> None:
    unwatched = finished(1, measurements={})
    assert machine_did_table(unwatched) is None
    foreign = finished(1, measurements={"solve_s": 1.0, "cores": 4.0, "moons_count": 2.0})
    assert measured_sentence([foreign]) == measured_sentence([unwatched])
    assert trial_json(unwatched, ())["measurements"] == {}
