"""`hpltune export sheet`: what the TOP500 and the Green500 ask for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from golden import hold_scene, told
from record_builders import a_study, begun, finished

from hpl.params import HplParams
from results.errors import ResultsError
from results.record import SIMULATOR, BlasObservation, Kind, StudyNotes, TrialRecord
from results.report.model import Report
from results.stats.headline import fastest_run, half_rate_n
from results.store.store import Store
from tuner.commands.stored.export import submission_sheet
from tuner.reports.context import Context
from tuner.reports.submission import Sheet


def filled(store: Store, *records: TrialRecord) -> None:
    store.create_study(a_study(host={"cpu_model": "AMD EPYC", "physical_cores": 2}))
    for record in records:
        store.finish(replace(record, number=store.begin(begun(key=record.key, kind=record.kind))))
    store.end_study("study", "complete")


def at(N: int, gflops: float, kind: Kind = Kind.SEARCH) -> TrialRecord:
    return finished(1, gflops, hpl=HplParams(N, 192, 1, 2), kind=kind)


def sheet(records: Sequence[TrialRecord], power_w: float | None = None, **changes: Any) -> Sheet:
    study = a_study(power_w=power_w, **{"host": {"memory_available_bytes": 2**29}, **changes})
    found = fastest_run(study, records)
    assert found is not None
    return Sheet(study, found, records)


def of_minutes(*rates: float, **changes: Any) -> list[TrialRecord]:
    """Runs of one configuration that took minutes each, of a matrix that fills the half of 512 MiB."""
    runs = [at(6000, gflops) for gflops in rates]
    return [replace(run, number=number, time_s=95.0, **changes) for number, run in enumerate(runs, start=1)]


def test_n_half_is_told_only_between_measured_sizes() -> None:
    best = at(6000, 80.0)
    assert half_rate_n(best, [best, at(1000, 30.0, Kind.EXTRAPOLATION), at(2000, 50.0, Kind.EXTRAPOLATION)]) == 1500.0
    assert half_rate_n(best, [best, at(2000, 50.0, Kind.EXTRAPOLATION)]) is None


def test_without_a_run_that_counts_there_is_nothing_to_submit(store: Store) -> None:
    filled(store, replace(at(6000, 75.5), passed=None))
    with pytest.raises(ResultsError, match="nothing to submit"):
        submission_sheet(store)


def simulated() -> TrialRecord:
    return replace(at(6000, 75.0), versions={SIMULATOR: "SimGrid 3.32"}, passed=None)


def watched(name: str, **measured: float) -> Sheet:
    """A sheet of runs beside which a source told the power."""
    power = {f"{name}_power_w": 900.0, **measured}
    host = {"memory_available_bytes": 2**29, "nodes": 2}
    notes = StudyNotes(power_source=name)
    return sheet(of_minutes(75.0, 74.8, measurements=power), 400.0, host=host, notes=notes)


OLD = of_minutes(75.0, 74.8, versions={"hpl": "2.0"})
WAITED = [replace(one, measurements={"solve_s": one.time_s or 0.0, "cpu_s": 0.5, "waited_s": 90.0}) for one in OLD]
LOOSE = replace(at(6000, 75.0), hpl=HplParams(6000, 192, 1, 2, threshold=1e6))
SCENES = {
    "nothing is found": sheet(of_minutes(75.0, 74.8)),
    "the memory is not known": sheet(of_minutes(75.0, 74.8), host={}),
    "a power that the user gave": sheet([at(6000, 75.0)], 900.0),
    "a simulated run": sheet([simulated()]),
    "a simulated run with a power": sheet([simulated()], 900.0),
    "a rate above Rpeak": sheet([at(6000, 175.0)]),
    "an imported run": sheet([at(6000, 75.0, Kind.IMPORTED)]),
    "a configuration that ran once": sheet(of_minutes(75.0)),
    "the fastest of three": sheet(of_minutes(70.0, 75.0, 60.0)),
    "the fastest of many": sheet(of_minutes(50.0, 60.0, 65.0, 70.0, 75.0, 80.0, 55.0)),
    "an old HPL": sheet(OLD),
    "a version as HPL prints it": sheet(of_minutes(75.0, 74.8, versions={"hpl": "HPLinpack 2.3"})),
    "a version of a vendor": sheet(of_minutes(75.0, 74.8, versions={"hpl": "HPL-NVIDIA 26.2.0"})),
    "a disturbed run": sheet(WAITED),
    "a loose threshold": sheet([LOOSE]),
    "a smaller size ran too": sheet([at(6000, 75.0), at(3000, 60.0, Kind.EXTRAPOLATION)]),
    "a small N is no Rmax": sheet(of_minutes(0.5, 0.49), host={"memory_available_bytes": 2**36}),
    "too short for HPL's clock": sheet([replace(run, time_s=0.02) for run in of_minutes(0.5, 0.49)]),
    "a measured power": watched("redfish", redfish_energy_j=85_500.0),
    "a power that is measured behind the supplies": watched("rapl"),
    "a short core phase": sheet([replace(run, time_s=9.0) for run in of_minutes(75.0, 74.8)], 900.0),
}
WHOLE = {"nothing is found", "a measured power"}


@pytest.mark.parametrize("scene", SCENES)
def test_a_sheet_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    """Two scenes have what people read, the others what scripts do: the same without tables."""
    report = SCENES[scene].report()
    shown = report if scene in WHOLE else Report("", facts=report.facts)
    hold_scene(request, "sheets", SCENES, scene, told(shown))


def test_the_machine_on_a_sheet_is_the_nodes_on_which_the_run_ran() -> None:
    host = {"nodes": 3, "physical_cores": 12, "memory_total_bytes": 3 * 2**30}
    on_two = BlasObservation("", "", "", 1, ("h1", "h2"))
    facts: Any = sheet(of_minutes(75.0, observed=on_two), host=host).report().facts
    assert [facts["top500"][name] for name in ("nodes", "total cores", "memory")] == ["2", "8", "2.0 GiB"]
    below_figures = Context([a_study(host=host, notes=StudyNotes(nodes_left=2))]).origin()
    assert "2 nodes, 8 cores, 2.0 GiB" in below_figures
