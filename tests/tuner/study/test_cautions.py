"""Cautions that were told while a study ran stay with it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from record_builders import DISTURBED, QUIET, START, a_study, begun, finished

from results.record import SIMULATOR, Kind, StudyNotes, ToldCaution
from results.store.store import Store
from tuner.events import OTHERS, Event, Notice, TrialEnded
from tuner.study.cautions import (
    CautionKeeper,
    cautions_of,
    cautions_of_all,
    fewer_nodes,
    note_lost,
    small_caution,
    told_cautions,
)
from tuner.study.machine_changes import moved_during_search, with_changes

BUSY = "the machine is busy (load 13.8 on 2 cores): other programs will cost GFLOPS and repeatability"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hpltune.db") as opened:
        opened.create_study(a_study())
        yield opened


def texts(store: Store) -> list[str]:
    return [text for _, text in told_cautions(store.study("study")).values()]


def test_a_caution_is_passed_on_and_kept_whether_it_is_told_before_or_after_the_study_begins(store: Store) -> None:
    heard: list[Event] = []
    keeper = CautionKeeper(heard.append, store)
    keeper(Notice("node n2 has another CPU (Xeon) than n1.", caution=True))
    assert texts(store) == []
    keeper.begun("study")
    keeper(Notice("Study study: 20 trials"))
    keeper(Notice("Caution: its text alone makes no caution."))
    keeper(Notice(f"{BUSY}.", caution=True))
    assert texts(store) == ["node n2 has another CPU (Xeon) than n1", BUSY]
    assert [event.sentence for event in heard if isinstance(event, Notice)] == [
        "Caution: node n2 has another CPU (Xeon) than n1.",
        "Study study: 20 trials",
        "Caution: its text alone makes no caution.",
        f"Caution: {BUSY}.",
    ]


def test_a_caution_that_cannot_be_stored_now_is_stored_with_the_next_one(store: Store) -> None:
    keeper = CautionKeeper(lambda _: None, store)
    keeper.begun("not there yet")
    keeper(Notice(f"{BUSY}.", caution=True))
    keeper.begun("study")
    assert texts(store) == [BUSY]


def test_the_first_full_run_that_is_too_short_for_hpls_clock_is_a_caution(store: Store) -> None:
    heard: list[Event] = []
    keeper = CautionKeeper(heard.append, store)
    keeper.begun("study")
    runs = [
        finished(1, 0.5, time_s=0.02, kind=Kind.PILOT), finished(2, 0.5, time_s=0.1),
        finished(3, 0.5, time_s=0.02, passed=False), finished(4, 0.5, time_s=0.02), finished(5, 0.5, time_s=0.03),
    ]  # fmt: skip
    for record in runs:
        keeper(TrialEnded(record))
    short = "trial 4 took 0.02 s, and HPL's clock cannot tell a rate of so short a run; choose a larger N"
    assert texts(store) == [short]
    assert [event for event in heard if isinstance(event, Notice)] == [Notice(f"{short}.", caution=True)]


def test_how_many_runs_were_disturbed_is_kept_with_each_run_of_the_first_so_that_a_killed_study_tells_it(
    store: Store,
) -> None:
    keeper = CautionKeeper(lambda _: None, store)
    keeper.begun("study")
    rates = [(60.0, QUIET), (30.0, DISTURBED), (61.0, QUIET), (20.0, DISTURBED)]
    said = []
    for gflops, measured in rates:
        number = store.begin(begun())
        record = finished(number, gflops, measurements=measured)
        store.finish(record)
        keeper(TrialEnded(record))
        said += cautions_of(store.study("study"))
    assert [sentence.split(" disturbed")[0] for sentence in said] == [
        "Caution: 1 of 2 runs was",
        "Caution: 1 of 3 runs was",
        "Caution: 2 of 4 runs were",
    ]


def test_what_repeats_told_of_the_machine_is_a_caution_for_each_kind_of_change(store: Store) -> None:
    assert cautions_of(store.study("study")) == []
    old = StudyNotes(machine_changes={"3": (4, -0.08)}, moved_during_search=0.06)
    store.note("study", lambda _: old)
    anchor, reference = cautions_of(store.study("study"))
    assert anchor.startswith(
        "Caution: a small run that was repeated during the search got up to 6 % faster, so runs at"
    )
    assert "which ran 4 times during the search (first as trial 3), got 8 % slower meanwhile" in reference
    assert "of a steady machine 1 study in 50 does so, too" in reference
    found = StudyNotes(machine_changes={"3": (5, 0.01)}, two_speeds_apart=0.08)
    store.note("study", lambda notes: with_changes(replace(notes, moved_during_search=0.0), found))
    (speeds,) = cautions_of(store.study("study"))
    assert "runs of one configuration fall into two speeds, about 8 % apart" in speeds
    assert moved_during_search(store.study("study").notes) == 0.01


def test_two_processes_keep_their_cautions_beside_each_other(store: Store) -> None:
    one, other = (CautionKeeper(lambda _: None, store) for _ in range(2))
    one.begun("study")
    other.begun("study")
    one.keep("the first machine is busy")
    other.keep("the second machine is busy")
    assert texts(store) == ["the first machine is busy", "the second machine is busy"]
    there: Any = SimpleNamespace(whole=None, site=SimpleNamespace(node_names=("n1",)))
    for lost in (["n2"], ["n3", "n2"]):
        note_lost(store, "study", lost, there)
    assert store.study("study").notes.nodes_lost == ("n2", "n3")
    many = tuple(ToldCaution(f"caution {number}", START) for number in range(1001))
    store.note("study", lambda notes: replace(notes, cautions=many))
    assert texts(store)[-1] == "caution 1000"


def test_a_sentence_says_on_which_later_day_it_was_told_and_of_several_studies_of_which() -> None:
    later = START + timedelta(days=2)
    told = a_study(host={"hypervisor": True}, notes=StudyNotes(cautions=(ToldCaution(BUSY, later),)))
    assert cautions_of(a_study(notes=StudyNotes(cautions=(ToldCaution(BUSY, START),)))) == [f"Caution: {BUSY}."]
    virtual = "this is a virtual machine: other programs on its host may cost GFLOPS, and nothing here shows them"
    assert cautions_of(told) == [f"Caution, told on 2026-03-03: {BUSY}.", f"Caution: {virtual}."]
    assert cautions_of_all([told, a_study("quiet")]) == [
        f"Caution, study study, told on 2026-03-03: {BUSY}.",
        f"Caution, study study: {virtual}.",
    ]
    assert cautions_of(a_study()) == []


def test_cautions_about_other_programs_are_one_with_the_last_wait(store: Store) -> None:
    keeper = CautionKeeper(lambda _: None, store)
    keeper.begun("study")
    for what in ("the first run", "the best are measured again"):
        keeper(Notice(f"before {what} the machine was still busy.", caution=True, about=OTHERS))
    keeper(Notice("node n2 has another CPU (Xeon) than n1.", caution=True))
    again = "before the best are measured again the machine was still busy"
    assert texts(store) == [again, "node n2 has another CPU (Xeon) than n1"]
    said = "2 of 4 runs were disturbed: other programs in 2"
    store.note("study", lambda notes: replace(notes, disturbed=said))
    disturbed, _ = cautions_of(store.study("study"))
    assert disturbed.endswith(f": 2 of 4 runs were disturbed: other programs in 2; {again}.")


def test_a_simulated_study_says_why_its_model_may_be_wrong() -> None:
    options = {"cluster": {"name": "vm", "caution": "The model of vm may be slower."}}
    simulated = a_study(options=options, versions={SIMULATOR: "SimGrid 3.32"})
    assert cautions_of(simulated) == ["Caution: The model of vm may be slower."]
    assert cautions_of(a_study(options=options)) == []


def test_an_n_far_below_the_memory_is_told_unless_that_was_told_already() -> None:
    host = {"memory_available_bytes": 30 * 2**30, "physical_cores": 2}
    study = a_study(host=host, options={"memory_fraction": 0.8})
    said = small_caution(study, 1856)
    assert said is not None
    assert said.startswith("Caution: N=1,856 is small: the memory holds N=56,")
    assert small_caution(study, 30_000) is None
    told = replace(study, notes=StudyNotes(small_n_told=1856))
    assert small_caution(told, 1856) is None
    assert small_caution(told, 1000) is None
    assert small_caution(a_study(), 1856) is None


def test_lost_nodes_are_told_where_a_trial_has_fewer_of_them_and_not_where_a_spare_one_took_the_place() -> None:
    def left(count: int) -> list[str]:
        return fewer_nodes(a_study(host={"nodes": 4}, notes=StudyNotes(nodes_lost=("n2",), nodes_left=count)))

    assert left(3) == ["the rates are on 3 of 4 nodes: n2 was lost"]
    assert left(4) == []
