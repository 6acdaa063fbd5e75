"""What stands at the head of a study's page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from golden import hold_scene, told
from record_builders import a_study, finished

from results.disturbance import Cause, Disturbance, Reason
from results.record import IMPORT, REPLAY_OF, SIMULATOR, Study, StudyNotes, TrialRecord
from results.report.model import Report
from results.stats.headline import fastest_run
from results.stats.ranking import Ranked, rank
from results.store.service.campaign_entry import LiveState
from tuner.explain.stored_space import telling
from tuner.reports.answer_card import answer_card, next_step
from tuner.reports.ranking import run_sentences
from tuner.reports.summary import StudySummary
from tuner.study.names import FEWEST_EXPLAINED, is_shootout

RUNS = [finished(number, 70.0 + number, key=f"k{number % 2}") for number in range(1, 7)]


def summary(study: Study, ranking: Sequence[Ranked] | None = None) -> StudySummary:
    return StudySummary.of(study, ranking or rank(RUNS), fastest=fastest_run(study, RUNS))


MANY = rank([finished(number, 70.0 + number, key=f"k{number}") for number in range(1, 8)])
KINDS = {
    "search": a_study(space_text="[NB]"),
    "run of a file": a_study(space_text=""),
    "in turn": a_study(space_text="", notes=StudyNotes(programs_of=("a", "b"))),
    "imported": a_study(engine=IMPORT, space_text=""),
    "simulated": a_study(space_text="[NB]", versions={SIMULATOR: "SimGrid 3.32"}),
    "replayed": a_study(space_text="[NB]", versions={SIMULATOR: REPLAY_OF + "a.csv"}),
    "all tried": a_study(
        space_text="[NB]", notes=StudyNotes(all_tried=True), versions={SIMULATOR: REPLAY_OF + "a.csv"}
    ),
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
            assert not study.notes.programs_of
        elif command.startswith("tune ⟦from_simulation⟧"):
            assert study.simulated
        elif command.startswith(("tune ⟦resume⟧", "blas ⟦resume⟧")):
            assert study.space_text
            assert not study.notes.all_tried or state != "complete"
            assert command.startswith("blas") == is_shootout(study)
        else:
            assert command == "best study"


WILD = [finished(number, gflops, key="k") for number, gflops in enumerate((0.42, 22.17, 22.48), start=1)]
BUSY = Disturbance((Reason(Cause.OTHERS, "other programs took 20 % of its time"),), 0.8)
SIZED = rank([finished(number, 70.0 + number, key="k", params={"N": 2000, "NB": 64}) for number in (1, 2)])
FILE = {"N": 6000, "NB": 192, "grid": "1x2", "blas": "openblas"}
OF_A_FILE = [
    finished(
        number, 70.0 + number, key=name, params={"N": 6000, "NB": 192, "grid": "1x2", "blas": "openblas", "BCAST": name}
    )
    for number, name in enumerate(("1rg", "1rM", "2rg", "2rM", "Lng", "LnM"), start=1)
]


def of_sizes(*sizes: str | None) -> StudySummary:
    """A study that was to run at some N, and ran at 2,000."""
    return summary(a_study(options={"overrides": {"N": list(sizes)}}), SIZED)


def sure(study: Study, runs: Sequence[TrialRecord]) -> StudySummary:
    return StudySummary.of(study, rank(runs), fastest=fastest_run(study, runs))


SCENES: Mapping[str, tuple[StudySummary, LiveState]] = {
    "a study that ended": (summary(a_study(rpeak_gflops=100.0)), "complete"),
    "a workload without a peak and an HPL.dat": (
        summary(a_study(rpeak_gflops=None, host={"workload": "hpl-mxp"})),
        "complete",
    ),
    "a study that runs": (summary(a_study(space_text="[NB]")), "running"),
    "a study that was interrupted": (summary(a_study(space_text="[NB]")), "interrupted"),
    "a study that was killed": (summary(a_study(space_text="[NB]")), "killed"),
    "a smaller N never ran": (of_sizes("1000", "2000"), "complete"),
    "its only N ran": (of_sizes("2000"), "complete"),
    "a larger N never ran": (of_sizes("2000", "4000"), "complete"),
    "an N that is no number": (of_sizes(None, "x"), "complete"),
    "runs that differ widely tell no single rate": (sure(a_study(rpeak_gflops=100.0), WILD), "complete"),
    "a rate of disturbed runs is a bound": (summary(a_study(), [replace(rank(RUNS)[0], disturbance=BUSY)]), "complete"),
    "runs that do not count are among all runs": (summary(a_study(), [replace(rank(RUNS)[0], left_out=2)]), "complete"),
    "a simulation leads to the real machine": (summary(KINDS["simulated"]), "complete"),
}


@pytest.mark.parametrize("scene", SCENES)
def test_the_answer_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    found, state = SCENES[scene]
    card = answer_card(found, state)
    text = told(Report("", tuple(found.parts(5)), found.to_json()))
    facts = "\n".join(f"{about}: {said}" for about, said in card.facts)
    tiles = "\n".join(map(" | ".join, card.tiles))
    text += f"\n{tiles}\n{facts}\nNext: {card.following}"
    text += f"\nOf another database: {next_step(found, state, ' --db mine.db')}"
    hold_scene(request, "answers", SCENES, scene, text)


def test_runs_of_one_file_are_told_apart_by_what_varies_and_all_are_told(request: pytest.FixtureRequest) -> None:
    said = run_sentences(a_study(rpeak_gflops=100.0), OF_A_FILE)
    hold_scene(request, "runs_of_a_file", ["six runs"], "six runs", "\n".join(said))
