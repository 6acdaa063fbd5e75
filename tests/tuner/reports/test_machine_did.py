"""The table of what the machine did during a run."""

import pytest
from golden import hold_scene, told
from record_builders import finished

from results.report.model import Report
from tuner.reports.lists import trial_json
from tuner.reports.machine_did import machine_did_table

SCENES: dict[str, dict[str, float]] = {
    "what ranks got and others took": {
        "solve_s": 12.0,
        "cpu_s": 18.2,
        "waited_s": 5.5,
        "cores": 2,
        "foreign_cpu_s": 9.6,
        "foreign_for_s": 9.0,
    },
    "memory": {"major_faults": 1, "swap_pages": 0, "huge_page_bytes": 2**31},
    "clock and heat": {"clock_mhz": 2449.7, "lowest_clock_mhz": 1200.0, "temperature_c": 84.5, "throttle_events": 3},
    "programs of others, those that took most first": {
        "foreign_cpu_s": 9.6,
        "foreign_cpu_s:cc1": 2.0,
        "foreign_cpu_s:python3": 7.0,
    },
    "energy with its source": {"rapl_energy_j": 1234.5, "rapl_power_w": 102.9},
    "a figure that no line knows": {"moons_count": 2.0},
}


@pytest.mark.parametrize("scene", SCENES)
def test_figures_that_belong_together_are_one_line_with_units(request: pytest.FixtureRequest, scene: str) -> None:
    table = machine_did_table(finished(1, measurements=SCENES[scene]))
    assert table is not None
    hold_scene(request, "machine_did", SCENES, scene, told(Report("", (table,))))


def test_a_run_without_measurements_has_no_table_and_an_empty_object() -> None:
    unwatched = finished(1, measurements={})
    assert machine_did_table(unwatched) is None
    assert trial_json(unwatched, ())["measurements"] == {}
