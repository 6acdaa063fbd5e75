"""`hpltune export sheet`: what the TOP500 and the Green500 ask for."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from hpl.params import HplParams
from results.errors import ResultsError
from results.record import SIMULATOR, Kind, TrialRecord
from results.report.markdown import to_markdown
from results.stats.half_rate import half_rate_n
from results.store.store import Store
from tuner.commands.stored.sheet import submission_sheet
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
    return " ".join(Sheet(a_study(power_w=power_w), records[0], records).objections())


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
    assert objections([at(6000, 75.0)], power_w=None) == ""
    assert "given by the user" in objections([at(6000, 75.0)])
    simulated = replace(at(6000, 75.0), versions={SIMULATOR: "SimGrid 3.32"}, passed=None)
    assert objections([simulated], power_w=None).startswith("The run was simulated")
    assert "above Rpeak" in objections([at(6000, 175.0)])
    assert "imported" in objections([at(6000, 75.0, Kind.IMPORTED)])
    loose = replace(at(6000, 75.0), hpl=HplParams(6000, 192, 1, 2, threshold=1e6))
    assert "compared with 1e+06" in objections([loose])
    assert "measured" in objections([at(6000, 75.0), at(3000, 60.0, Kind.EXTRAPOLATION)])


def test_without_a_run_that_counts_there_is_nothing_to_submit(store: Store) -> None:
    filled(store, replace(at(6000, 75.5), passed=None))
    with pytest.raises(ResultsError, match="nothing to submit"):
        submission_sheet(store)


def test_a_user_gets_markdown_or_json(hpltune: Run, store: Store) -> None:
    filled(store, at(6000, 75.5))
    assert hpltune("export", "sheet").stdout.startswith("# Submission sheet of study study")
    facts = json.loads(hpltune("export", "sheet", "--json").stdout)
    assert facts["top500"]["Nmax"] == "6,000"
    assert facts["green500"]["level of measurement (1, 2 or 3)"] is None
