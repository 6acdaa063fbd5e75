"""What stands at the head of a study's page."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from record_builders import a_study, finished

from results.disturbance import Cause, Disturbance, Reason
from results.record import IMPORT, REPLAY_OF, SIMULATOR, Study
from results.stats.headline import fastest_run
from results.stats.ranking import Ranked, rank
from results.store.service.campaign_entry import LiveState
from tuner.explain.stored_space import telling
from tuner.reports.answer_card import answer_card, next_step
from tuner.reports.ranking import run_sentences
from tuner.reports.summary import StudySummary
from tuner.study.names import ALL_TRIED, FEWEST_EXPLAINED, is_shootout, programs_of

RUNS = [finished(number, 70.0 + number, key=f"k{number % 2}") for number in range(1, 7)]


def summary(study: Study, ranking: Sequence[Ranked] | None = None) -> StudySummary:
    return StudySummary.of(study, ranking or rank(RUNS), fastest=fastest_run(study, RUNS))


def test_it_tells_the_rate_its_parts_how_sure_it_is_and_what_is_next() -> None:
    card = answer_card(summary(a_study(rpeak_gflops=100.0)), "complete")
    facts = dict(card.facts)
    assert (card.unit, card.what) == ("GFLOPS", "HPL: expected of one more run of the best configuration")
    assert any(text.endswith("% of peak") for text in card.beside)
    assert facts["measured of the best"].endswith("GFLOPS, the median of 3 runs, 72.00 to 76.00")
    assert facts["runs"] == "6 full runs of 2 configurations"
    assert facts["how sure"]
    assert "`hpltune export dat study > HPL.dat`" in card.following


def test_a_workload_without_a_peak_and_without_an_hpl_dat_has_neither() -> None:
    card = answer_card(summary(a_study(rpeak_gflops=None, host={"workload": "hpl-mxp"})), "complete")
    told = repr(card)
    assert card.what.startswith("HPL-MxP: ")
    assert "peak" not in told
    assert "HPL.dat" not in told
    assert "Rmax" not in told
    assert any(about.startswith("HPL-MxP rate") for about, _ in card.facts)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("running", "Nothing: the search goes on."),
        ("interrupted", "`hpltune tune ⟦resume⟧ ⟦study⟧ study` goes on with the search."),
        ("killed", "`hpltune tune ⟦resume⟧ ⟦study⟧ study` goes on with the search."),
    ],
)
def test_what_is_next_depends_on_how_the_study_stands(state: str, says: str) -> None:
    assert answer_card(summary(a_study(space_text="[NB]")), state).following == says  # type: ignore[arg-type]


MANY = rank([finished(number, 70.0 + number, key=f"k{number}") for number in range(1, 8)])
KINDS = {
    "search": a_study(space_text="[NB]"),
    "run of a file": a_study(space_text=""),
    "in turn": a_study(space_text="", host={"programs_of": ["a", "b"]}),
    "imported": a_study(engine=IMPORT, space_text=""),
    "simulated": a_study(space_text="[NB]", versions={SIMULATOR: "SimGrid 3.32"}),
    "replayed": a_study(space_text="[NB]", versions={SIMULATOR: REPLAY_OF + "a.csv"}),
    "all tried": a_study(space_text="[NB]", host={ALL_TRIED: True}, versions={SIMULATOR: REPLAY_OF + "a.csv"}),
    "libraries": a_study(space_text="[NB]", options={"shootout": True}),
    "HPL-MxP": a_study(space_text="[NB]", host={"workload": "hpl-mxp"}),
    "HPCG": a_study(space_text="[NB]", host={"workload": "hpcg"}),
}
"""A study of each kind that the program makes."""


@pytest.mark.parametrize("state", ["complete", "interrupted", "failed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranking", [rank([finished(1, 70.0)]), rank(RUNS), MANY], ids=["one", "two", "many"])
def test_the_next_step_is_one_that_the_program_takes(kind: str, ranking: Sequence[Ranked], state: LiveState) -> None:
    study = KINDS[kind]
    commands = re.findall(r"`hpltune (.*?)`", next_step(summary(study, ranking), state))
    assert commands
    for command in commands:
        if command.startswith("explain"):
            assert len(ranking) >= FEWEST_EXPLAINED
            assert telling(study, [finished(1, 70.0)])
        elif command.startswith("export dat"):
            assert study.workload.is_hpl
        elif command.startswith("run HPL.dat ⟦like⟧"):
            assert not programs_of(study)
        elif command.startswith("tune ⟦from_simulation⟧"):
            assert study.simulated
        elif command.startswith(("tune ⟦resume⟧", "blas ⟦resume⟧")):
            assert study.space_text
            assert ALL_TRIED not in study.host or state != "complete"
            assert command.startswith("blas") == is_shootout(study)
        else:
            assert command == "best study"


def test_what_is_next_names_a_database_that_is_not_the_users_own() -> None:
    said = next_step(summary(a_study(space_text="[NB]"), MANY), "complete", " --db mine.db")
    assert "`hpltune export dat study --db mine.db > HPL.dat`" in said
    assert "⟦like⟧ study --db mine.db ⟦repeats⟧" in said


def test_a_smaller_n_that_never_ran_is_told_with_the_reason() -> None:
    runs = [finished(number, 70.0 + number, key="k", params={"N": 2000, "NB": 64}) for number in (1, 2)]
    said = {
        name: repr(summary(a_study(options={"overrides": {"N": sizes}}), rank(runs)).parts(5))
        for name, sizes in {
            "two": ["1000", "2000"],
            "one": ["2000"],
            "larger": ["2000", "4000"],
            "odd": [None, "x"],
        }.items()
    }
    assert "No full run with N=1,000 counts: HPL is slower at a smaller N" in said["two"]
    assert not any("No full run with" in said[name] for name in ("one", "larger", "odd"))


def test_runs_that_differ_widely_tell_no_single_rate() -> None:
    runs = [finished(number, gflops, key="k") for number, gflops in enumerate((0.42, 22.17, 22.48), start=1)]
    study = a_study(rpeak_gflops=100.0)
    card = answer_card(StudySummary.of(study, rank(runs), fastest=fastest_run(study, runs)), "complete")
    assert (card.value, card.beside) == ("0.42 to 22.48", ())
    assert "differ too much to tell one rate" in card.what
    assert "⟦repeats⟧ 3" in card.following


def test_a_rate_of_disturbed_runs_is_told_as_a_bound_and_to_be_repeated() -> None:
    first = replace(
        rank(RUNS)[0], disturbance=Disturbance((Reason(Cause.OTHERS, "other programs took 20 % of its time"),), 0.8)
    )
    card = answer_card(summary(a_study(), [first]), "complete")
    assert "at least this" in card.what
    assert dict(card.facts)["disturbed runs"] == "3"
    assert "⟦repeats⟧ 3` repeats it; let nothing else run meanwhile." in card.following


def test_runs_that_do_not_count_are_told_among_all_runs() -> None:
    first = replace(rank(RUNS)[0], left_out=2)
    facts = dict(answer_card(summary(a_study(), [first]), "complete").facts)
    assert (facts["runs"], facts["disturbed runs"]) == ("5 full runs of 1 configuration", "2")


def test_a_simulation_leads_to_the_real_machine() -> None:
    study = a_study(versions={"simulator": "SimGrid 4.0"})
    card = answer_card(summary(study), "complete")
    assert card.what == "HPL: the best configuration, simulated"
    assert "`hpltune tune ⟦from_simulation⟧ study`" in card.following
    assert "disturbed runs" not in dict(card.facts)


def test_runs_of_one_file_are_told_apart_by_what_varies_and_all_are_told() -> None:
    words = {"N": 6000, "NB": 192, "grid": "1x2", "blas": "openblas"}
    runs = [
        finished(number, 70.0 + number, key=name, params={**words, "BCAST": name})
        for number, name in enumerate(("1rg", "1rM", "2rg", "2rM", "Lng", "LnM"), start=1)
    ]
    said = run_sentences(a_study(rpeak_gflops=100.0), runs)
    assert [one.rpartition("BCAST=")[2] for one in said if "BCAST=" in one] == ["LnM", "Lng", "2rM"]
    assert "3 more configurations gave less: `hpltune best study` shows all." in said
