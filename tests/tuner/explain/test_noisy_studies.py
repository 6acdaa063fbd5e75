"""What is told of a short study whose runs differ by themselves."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from engine_contract import SMALL, space_of
from explain_builders import explain, keep
from record_builders import a_study, finished
from report_reading import printed

from hpl.params import HplParams, Scalar
from results.record import Kind, StudyNotes, TrialRecord
from results.stats.intervals import half_95
from results.store.store import Store
from tuner.commands.stored.explain import explain_study
from tuner.options import TuneOptions
from tuner.reports.explanation import not_told_apart
from tuner.reports.figures.effects import values

SPACE = space_of(SMALL)
CHANGES: Sequence[Mapping[str, Scalar]] = ({}, {"NB": 128}, {"NB": 192}, {"DEPTH": 1}, {"DEPTH": 1, "NB": 128})


def runs(*rates: float, changes: Sequence[Mapping[str, Scalar]] = CHANGES) -> list[TrialRecord]:
    """Full runs with these rates, each of another configuration, all with one grid and one broadcast."""
    point: dict[str, Scalar] = {"grid": "2x2", "BCAST": "1rg", "NB": 64, "DEPTH": 0}
    found = []
    for number, (change, gflops) in enumerate(zip(changes, rates, strict=True)):
        params = SPACE.complete({**point, **change})
        hpl = HplParams.from_words(params)
        found.append(finished(number, gflops, params=params, hpl=hpl, key=SPACE.key(params), kind=Kind.SEARCH))
    return found


def told(folder: Path, trials: Sequence[TrialRecord], noise_at_first: float = 0.0, **host: object) -> str:
    """What `explain` prints of a study with these trials."""
    with Store.open(folder / "hpltune.db") as store:
        keep(
            store,
            a_study(
                space_text=SMALL,
                options=TuneOptions().to_json(),
                host={"cores": 4, "nodes": 1, **host},
                notes=StudyNotes(noise_at_first=noise_at_first),
            ),
            trials,
        )
        return printed(explain_study(store, "study").report())


def test_the_noise_that_is_stated_is_at_least_what_repeats_of_one_configuration_show() -> None:
    repeated = [{}, {}, {"NB": 128}, {"NB": 192}, {"DEPTH": 1}]
    found = explain(SPACE, runs(100, 113, 101, 104, 98, changes=repeated))
    assert found.repeats_percent == pytest.approx(8.6, abs=0.1)
    assert found.noise_percent >= (found.repeats_percent or 0.0)
    assert half_95(found.best_sd_percent or 0.0) > 8.0, "two runs that differ by 13 % do not tell a rate within 8 %"


@pytest.mark.parametrize("count", [5, 9])
def test_many_repeats_that_differ_are_no_less_noise_than_they_show(count: int) -> None:
    rates = [100, 113, 94, 106, 91, 109, 99, 112, 95][:count]
    repeated = [CHANGES[place % 2] for place in range(count)]
    found = explain(SPACE, runs(*rates, changes=repeated))
    assert found.noise_percent >= (found.repeats_percent or 0.0) > 3.0


def test_without_repeats_the_noise_is_as_unsure_as_it_is_on_a_machine_that_nobody_knows(tmp_path: Path) -> None:
    text = told(tmp_path, runs(100, 104, 101, 98, 105))
    assert "No configuration ran twice undisturbed, so it is not known by how much repeated runs differ" in text
    assert "counts on 3.8 % (standard deviation)" in text


def test_a_machine_that_was_busy_when_the_study_began_counts_as_noisier(tmp_path: Path) -> None:
    assert "counts on 3.8 %" not in told(tmp_path, runs(100, 104, 101, 98, 105), noise_at_first=0.2)


def test_a_parameter_of_which_only_one_value_ran_has_no_share(tmp_path: Path) -> None:
    text = told(tmp_path, runs(100, 130, 150, 99, 131))
    assert [line for line in text.splitlines() if line.startswith(("│ grid", "│ BCAST"))] == []
    assert "│ NB" in text
    assert "grid=2x2" in text
    assert (
        "Only one value gave a rate where others could: grid 2x2, BCAST 1rg. Nothing tells whether one is better."
        in text
    )


def test_values_that_differ_by_less_than_the_noise_are_told_to_be_a_tie(tmp_path: Path) -> None:
    text = told(tmp_path, runs(100, 130, 150, 99, 131))
    assert "These runs do not tell the best value from the worst: DEPTH." in text


def test_of_runs_that_tell_no_value_from_another_nothing_is_said_of_tuning_one_parameter_at_a_time(
    tmp_path: Path,
) -> None:
    repeated = [{}, {}, {"NB": 128}, {"DEPTH": 1}, {"NB": 192}]
    text = " ".join(told(tmp_path, runs(100, 140, 101, 104, 98, changes=repeated)).split())
    assert "would have found" in text
    assert "cannot be told: these runs tell no value from another" in text
    assert "found the best too" not in text


def test_a_grid_that_ran_alone_where_others_could_has_no_share_and_what_did_not_run_is_no_bar() -> None:
    space = space_of(SMALL + 'layout = "auto"\n')
    changes = [{"layout": layout, "NB": NB} for layout in ("2x2", "1x4") for NB in (64, 128, 192)]
    trials = []
    for number, change in enumerate(changes):
        grid = "1x2" if change["layout"] == "2x2" else "1x1"
        params = space.complete({"grid": grid, "BCAST": "1rg", "DEPTH": number % 2, **change})
        hpl = HplParams.from_words(params)
        trials.append(
            finished(number, 100 + 7 * number, params=params, hpl=hpl, key=space.key(params), kind=Kind.SEARCH)
        )
    found = explain(space, trials)
    assert [effect.name for effect in found.effects if effect.name == "grid"] == []
    assert (
        "Only one value gave a rate where others could: BCAST 1rg, grid 1x2 with layout 2x2."
        in not_told_apart(found)[0]
    )
    drawn = values(found.effects)
    assert drawn is not None
    assert {label.split()[0] for one in drawn.series for label in one.labels} == {"runs:"}
    assert min(one.y[0] for one in drawn.series) == 0
