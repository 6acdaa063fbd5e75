"""`hpltune export sheet`: what the TOP500 and the Green500 ask for."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from hpl.params import HplParams
from results.errors import ResultsError
from results.record import SIMULATOR, Kind, TrialRecord
from results.report.text_forms import to_markdown
from results.stats.headline import fastest_run, half_rate_n
from results.store.store import Store
from tuner.commands.stored.export import submission_sheet
from tuner.reports.submission import Sheet


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        yield opened


def filled(store: Store, *records: TrialRecord) -> None:
    store.create_study(a_study(host={"cpu_model": "AMD EPYC", "physical_cores": 2}))
    for record in records:
        store.finish(replace(record, number=store.begin(begun(key=record.key, kind=record.kind))))
    store.end_study("study", "complete")


def at(N: int, gflops: float, kind: Kind = Kind.SEARCH) -> TrialRecord:
    return finished(1, gflops, hpl=HplParams(N, 192, 1, 2), kind=kind)


def objections(records: Sequence[TrialRecord], power_w: float | None = 900.0) -> str:
    return " ".join(sheet(records, power_w).objections())


def sheet(records: Sequence[TrialRecord], power_w: float | None = None, **changes: Any) -> Sheet:
    study = a_study(power_w=power_w, **{"host": {"memory_available_bytes": 2**29}, **changes})
    found = fastest_run(study, records)
    assert found is not None
    return Sheet(study, found, records)


def of_minutes(*rates: float, **changes: Any) -> list[TrialRecord]:
    """Runs of one configuration that took minutes each, of a matrix that fills the half of 512 MiB."""
    runs = [at(6000, gflops) for gflops in rates]
    return [replace(run, number=number, time_s=95.0, **changes) for number, run in enumerate(runs, start=1)]


def test_what_is_known_is_filled_and_the_rest_is_marked(store: Store) -> None:
    filled(store, at(6000, 75.5), at(6000, 80.25))
    text = to_markdown(submission_sheet(store).report())
    for line in (
        "| Rmax in GFLOPS | 80.25 |", "| Nmax | 6,000 |", "| Rpeak in GFLOPS | 134.4 |", "| total cores | 2 |",
        "| site | to fill in |", "| N½ | to fill in |", "| level of measurement (1, 2 or 3) | to fill in |",
        "| math library | openblas 0.3.21 |", "| HPL | 2.3 |", "| GFLOPS/W | 0.08917 |",
    ):  # fmt: skip
        assert line in text


def test_n_half_is_told_only_between_measured_sizes() -> None:
    best = at(6000, 80.0)
    assert half_rate_n(best, [best, at(1000, 30.0, Kind.EXTRAPOLATION), at(2000, 50.0, Kind.EXTRAPOLATION)]) == 1500.0
    assert half_rate_n(best, [best, at(2000, 50.0, Kind.EXTRAPOLATION)]) is None


def test_what_the_rules_would_not_accept_is_said() -> None:
    assert objections(of_minutes(75.0, 74.8), power_w=None) == ""
    assert "given by the user" in objections([at(6000, 75.0)])
    simulated = replace(at(6000, 75.0), versions={SIMULATOR: "SimGrid 3.32"}, passed=None)
    assert "is small" not in objections([simulated]), "54 % of the memory is not little"
    assert objections([simulated], power_w=None).startswith("The run was simulated")
    assert "above Rpeak" in objections([at(6000, 175.0)])
    assert "imported" in objections([at(6000, 75.0, Kind.IMPORTED)])
    assert "Its configuration ran once" in objections(of_minutes(75.0))
    assert "gave 60.00, 70.00, 75.00 GFLOPS: the fastest of 3 may be due to luck" in objections(
        of_minutes(70.0, 75.0, 60.0)
    )
    assert "slowest, middle and fastest runs of its configuration gave 50.00, 65.00, 80.00 GFLOPS" in objections(
        of_minutes(50.0, 60.0, 65.0, 70.0, 75.0, 80.0, 55.0)
    )
    assert "took 1.91 s: the Green500 takes the average power over the whole core phase" in objections([at(6000, 75.0)])
    old = of_minutes(75.0, 74.8, versions={"hpl": "2.0"})
    assert objections(old, None) == (
        "HPL 2.0 ran, and HPL 2.3 is the current one: check whether the list still takes it."
    )
    printed = of_minutes(75.0, 74.8, versions={"hpl": "HPLinpack 2.3"})
    assert objections(printed, None) == ""
    assert objections(of_minutes(75.0, 74.8, versions={"hpl": "HPL-NVIDIA 26.2.0"}), None) == ""
    waited = [replace(one, measurements={"solve_s": one.time_s or 0.0, "cpu_s": 0.5, "waited_s": 90.0}) for one in old]
    assert "The run was disturbed: " in objections(waited)
    loose = replace(at(6000, 75.0), hpl=HplParams(6000, 192, 1, 2, threshold=1e6))
    assert "compared with 1e+06" in objections([loose])
    assert "measured" in objections([at(6000, 75.0), at(3000, 60.0, Kind.EXTRAPOLATION)])


def test_a_rate_at_a_small_n_is_no_rmax() -> None:
    small = sheet(of_minutes(0.5, 0.49), host={"memory_available_bytes": 2**36})
    assert "N=6,000 is small: its matrix takes 0.42 % of the memory, and HPL's advice is 80 %." in small.objections()[0]
    facts = small.report().facts
    assert isinstance(facts, dict)
    assert (facts["top500"]["Rmax in GFLOPS"], facts["top500"]["Nmax"]) == (None, None)
    assert facts["top500"]["rate at N=6,000 in GFLOPS"] == "0.5"
    text = to_markdown(small.report())
    assert "| Rmax in GFLOPS | to fill in |" in text
    assert "All figures of a run are of trial 1, the fastest full run of study study." in text


def test_a_rate_of_a_run_that_is_too_short_for_hpls_clock_is_no_rmax() -> None:
    short = sheet([replace(run, time_s=0.02) for run in of_minutes(0.5, 0.49)], host={"memory_available_bytes": 2**29})
    said = (
        "That is no Rmax: trial 1 took 0.02 s, and HPL's clock cannot tell a rate of so short a run; choose a larger N."
    )
    assert said in short.objections()
    facts = short.report().facts
    assert isinstance(facts, dict)
    assert facts["top500"]["Rmax in GFLOPS"] is None


def test_without_an_objection_the_sheet_says_what_was_looked_at_and_that_nothing_else_was() -> None:
    text = to_markdown(sheet(of_minutes(75.0, 74.8)).report())
    assert "hpltune found nothing; it looked at how the run was made, the residual and its threshold, what" in text
    assert "and at nothing else." in text
    unknown = sheet(of_minutes(75.0, 74.8), host={}).objections()
    assert unknown == ["hpltune does not know the memory of the machine, so it cannot tell whether N is large enough."]


def test_without_a_run_that_counts_there_is_nothing_to_submit(store: Store) -> None:
    filled(store, replace(at(6000, 75.5), passed=None))
    with pytest.raises(ResultsError, match="nothing to submit"):
        submission_sheet(store)


def test_a_user_gets_markdown_or_json(hpltune: Run, store: Store) -> None:
    filled(store, at(6000, 75.5))
    told = hpltune("export", "sheet").stdout
    assert told.startswith("# Submission sheet of study study")
    assert "; N=6,000." in told, "it is of one run, and how often its configuration ran is said once"
    facts = json.loads(hpltune("export", "sheet", "--json").stdout)
    assert facts["top500"]["Nmax"] == "6,000"
    assert facts["green500"]["level of measurement (1, 2 or 3)"] is None


def test_a_measured_power_is_told_with_its_source_and_what_each_level_lacks() -> None:
    runs = of_minutes(75.0, 74.8, measurements={"redfish_power_w": 900.0, "redfish_energy_j": 85_500.0})
    host = {"memory_available_bytes": 2**29, "power_source": "redfish", "nodes": 2}
    facts = sheet(runs, 400.0, host=host).report().facts
    assert isinstance(facts, dict)
    green = facts["green500"]
    assert green["power in kW, average over the core phase"] == "0.9 (measured by redfish)"
    assert green["GFLOPS/W"] == "0.08333", "not of the 400 W that were given"
    assert facts["levels"]["level 1"] == [
        "the largest of 1/10 of the system, 2 kW, 15 nodes, or 40 kW, or the whole system",
        "the power of the interconnect, measured or estimated from above",
        "a meter that is exact to 5 %, as its maker says",
    ]
    assert "the power of the idle machine" in facts["levels"]["level 2"]
    assert not any("given by the user" in one for one in facts["objections"])


def test_what_measures_behind_the_power_supplies_is_no_level() -> None:
    runs = of_minutes(75.0, 74.8, measurements={"rapl_power_w": 900.0})
    levels = sheet(runs, host={"memory_available_bytes": 2**29, "power_source": "rapl"}).report().facts
    assert isinstance(levels, dict)
    said = levels["levels"]["level 1"]
    assert (
        "a meter upstream of the power supplies, or their loss: rapl measures only processors and their memory" in said
    )
    short = sheet([replace(run, time_s=9.0) for run in runs]).report().facts
    assert isinstance(short, dict)
    assert "a core phase of at least a minute (it took 9.0 s)" in short["levels"]["level 1"]
