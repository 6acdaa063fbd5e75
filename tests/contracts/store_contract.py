"""What every store of trials must do. A test class inherits it and gives a fixture `store` that is empty and open."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from record_builders import START, a_study, begun, finished
from record_strategies import outcomes, studies

from results.errors import ResultsError
from results.record import Invalidity, Kind, Study, StudyNotes, ToldCaution, TrialRecord, TrialState
from results.store.service.campaign_entry import LiveState
from results.store.store import Store
from results.store.study_list import StudiesAsked

MANY = settings(
    max_examples=50,
    deadline=None,
    # Every kind of store runs the same tests: that is what a contract is for.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


def without_outputs(record: TrialRecord) -> TrialRecord:
    return replace(record, hpl_dat="", output="", errors_text="")


class StoreContract:
    @pytest.fixture
    def study(self, store: Store) -> Study:
        study = a_study()
        store.create_study(study)
        return study

    @pytest.fixture
    def ready(self, store: Store, study: Study) -> Store:
        """The store with a study in it."""
        assert store.study(study.name) == study
        return store

    def run(self, store: Store, record: TrialRecord) -> TrialRecord:
        """Begin and finish a trial; the record it became."""
        done = replace(record, number=store.begin(replace(record, state=TrialState.RUNNING)))
        store.finish(done)
        return done

    # studies

    def test_a_study_is_read_as_it_was_created(self, store: Store, study: Study) -> None:
        assert store.study("study") == study
        assert store.studies() == [study]

    @MANY
    @given(study=studies())
    def test_any_study_is_read_as_it_was_created(self, store: Store, study: Study) -> None:
        store.create_study(study)
        assert store.study(study.name) == study
        store.delete_study(study.name)

    def test_studies_come_oldest_first_whatever_their_time_zone(self, store: Store) -> None:
        eastern = timezone(timedelta(hours=9))
        store.create_study(a_study("b", created_at=START))
        store.create_study(a_study("a", created_at=START + timedelta(microseconds=1)))
        store.create_study(a_study("c", created_at=(START - timedelta(hours=1)).astimezone(eastern)))
        assert [study.name for study in store.studies()] == ["c", "b", "a"]
        assert store.newest().name == "a"

    def test_a_study_of_a_lesson_is_the_newest_only_where_there_are_no_others(self, store: Store) -> None:
        store.create_study(a_study("step", created_at=START + timedelta(hours=1), notes=StudyNotes(lesson="kronos")))
        assert store.newest().name == "step"
        store.create_study(a_study("mine", created_at=START))
        assert store.newest().name == "mine"

    def test_an_empty_store_has_no_newest_study(self, store: Store) -> None:
        with pytest.raises(ResultsError, match="holds no study yet: `hpltune tune` makes one"):
            store.newest()

    def test_a_name_is_given_once(self, store: Store, study: Study) -> None:
        with pytest.raises(ResultsError, match="study study exists already: choose another ⟦study⟧"):
            store.create_study(a_study(engine="grid"))
        assert store.study("study") == study

    def test_an_unknown_study_is_an_error_that_lists_those_there_are(self, ready: Store) -> None:
        for ask in (ready.study, ready.records, ready.take, ready.delete_study):
            with pytest.raises(ResultsError, match=r"there is no study stduy in .* \(there: study\)"):
                ask("stduy")
        with pytest.raises(ResultsError, match="there is no study stduy"):
            ready.begin(begun("stduy"))
        with pytest.raises(ResultsError, match="there is no study stduy"):
            ready.set_options("stduy", {})
        with pytest.raises(ResultsError, match="there is no study stduy"):
            ready.note("stduy", lambda notes: notes)

    def test_of_many_studies_the_names_nearest_to_an_unknown_one_are_told(self, ready: Store) -> None:
        for number in range(10, 22):
            ready.create_study(a_study(f"default-{number}"))
        with pytest.raises(
            ResultsError, match=r"[(]of its 13 the nearest: default-20, .*; `hpltune show` lists all[)]"
        ):
            ready.study("defualt-20")

    def test_what_a_study_was_asked_for_can_be_changed_and_nothing_else(self, ready: Store, study: Study) -> None:
        ready.set_options("study", {"seed": 2})
        assert ready.study("study") == replace(study, options={"seed": 2})

    def test_a_note_joins_the_others_and_changes_nothing_else(self, ready: Store, study: Study) -> None:
        told = ToldCaution("the machine is busy", START, "other programs")
        ready.note("study", lambda notes: replace(notes, cautions=(told,), cannot_have=({"NB": 96, "mpi": "a"},)))
        noted = ready.note("study", lambda notes: replace(notes, dgemm_half_nb=13.5))
        assert noted == StudyNotes(cautions=(told,), dgemm_half_nb=13.5, cannot_have=({"NB": 96, "mpi": "a"},))
        assert ready.study("study") == replace(study, notes=noted)

    def test_studies_are_found_by_how_they_stand(self, store: Store) -> None:
        for name, gflops in (("broken", None), ("half", 70.0)):
            store.create_study(a_study(name))
            for rate in (None, gflops):
                state = TrialState.COMPLETE if rate else TrialState.FAILED
                store.finish(finished(store.begin(begun(name)), rate, name, state=state))
            store.end_study(name, "interrupted")
        stands: tuple[LiveState, ...] = ("failed", "interrupted", "complete", "running")
        found = {
            one: [study.name for study, _ in store.lists.newest_first(StudiesAsked(stands=one), 10)] for one in stands
        }
        assert found == {"failed": ["broken"], "interrupted": ["half"], "complete": [], "running": []}
        assert [store.outbox.state(name) for name in ("broken", "half")] == ["failed", "interrupted"]

    def test_an_ended_study_says_how_it_stands_until_it_is_taken_again(self, ready: Store) -> None:
        ready.end_study("study", "interrupted")
        assert ready.study("study").state == "interrupted"
        assert ready.take("study").state == "running"

    def test_a_deleted_study_takes_its_trials_along_and_no_others(self, store: Store, study: Study) -> None:
        store.create_study(a_study("other"))
        self.run(store, finished(0))
        kept = self.run(store, finished(0, study="other"))
        store.delete_study("study")
        assert [left.name for left in store.studies()] == ["other"]
        assert store.get("other", 1) == kept
        store.create_study(study)
        assert store.records("study", outputs=True) == []

    # trials

    def test_trials_are_numbered_from_1_in_each_study(self, ready: Store) -> None:
        ready.create_study(a_study("other"))
        assert [ready.begin(begun()) for _ in range(3)] == [1, 2, 3]
        assert ready.begin(begun("other")) == 1

    def test_nobody_begins_what_another_process_began_since_it_last_looked(self, ready: Store) -> None:
        number = ready.begin_first(begun(), set())
        assert number == 1
        assert ready.begin_first(begun(), set()) is None
        assert [record.number for record in ready.records("study")] == [1]
        assert ready.begin_first(begun(), {1}) == 2, "what is known may be repeated"
        assert ready.begin_first(replace(begun(), key="other"), {1, 2}) == 3
        assert ready.begin_first(begun(kind=Kind.SMALL), {1, 2, 3}) == 4, "another kind of run is another trial"
        assert ready.begin_first(begun(), {1}) == 5, "an anchor is repeated though another process repeats it too"

    def test_no_trial_is_begun_beyond_the_last_that_several_processes_share(self, ready: Store) -> None:
        for key in ("a", "b"):
            ready.begin_first(replace(begun(), key=key), set(), (Kind.SEARCH,), 2)
        assert ready.begin_first(replace(begun(), key="c"), set(), (Kind.SEARCH,), 2) is None
        assert ready.begin_first(begun(kind=Kind.SMALL), set(), (Kind.SMALL,), 2) == 3, "there is none of this kind"
        assert ready.begin_first(replace(begun(), key="a"), {1}, (Kind.SEARCH,), 2) == 4, "a repeat is no new trial"
        ready.finish(finished(2, None, state=TrialState.CANCELLED))
        assert ready.begin_first(replace(begun(), key="c"), {1, 4}, (Kind.SEARCH,), 3) == 5, "a cancelled one is none"

    def test_a_trial_that_a_killed_process_left_takes_no_place_of_another(self, ready: Store) -> None:
        for key in ("a", "b"):
            ready.begin_first(replace(begun(), key=key), set(), (Kind.SEARCH,), 2)
        ready.abandon_running("study", "hpltune was killed while this trial ran")
        assert ready.begin_first(replace(begun(), key="c"), set(), (Kind.SEARCH,), 2) == 3

    def test_a_renamed_study_has_all_that_it_had(self, ready: Store) -> None:
        done = self.run(ready, finished(1, directory="/runs/study/00001", command="cd /runs/study/00001; xhpl"))
        ready.rename_study("study", "other", ("/runs/study/", "/runs/other/"))
        moved = replace(done, study="other", directory="/runs/other/00001", command="cd /runs/other/00001; xhpl")
        assert ready.records("other", outputs=True) == [moved]
        assert [study.name for study in ready.studies()] == ["other"]
        ready.create_study(a_study())
        with pytest.raises(ResultsError, match="study study exists already: choose another name"):
            ready.rename_study("other", "study")
        ready.delete_study("other", "study")
        assert ready.studies() == []

    def test_what_was_left_unfinished_is_begun_again_by_one_process_alone(self, ready: Store) -> None:
        number = ready.begin(begun())
        ready.abandon_running("study", "hpltune was killed while it ran")
        again = ready.begin_first(begun(), {number}, (Kind.SEARCH,), 2)
        assert again == 2
        assert ready.begin_first(begun(), {number}, (Kind.SEARCH,), 3) is None, "another was faster"
        ready.finish(finished(again, None, state=TrialState.CANCELLED))
        assert ready.begin_first(begun(), {number, again}, (Kind.SEARCH,), 1) == 3, "neither of them counts"

    def test_a_trial_that_others_gave_up_for_lost_can_still_be_finished_by_its_process(self, ready: Store) -> None:
        number = ready.begin(begun())
        assert ready.left_behind("study", set()) == [number]
        assert ready.left_behind("study", {number}) == []
        ready.abandon_running("study", "its process was lost sight of")
        record = finished(number)
        ready.finish(record)
        assert ready.get("study", number) == record

    def test_a_begun_trial_is_stored_as_running_with_its_params(self, ready: Store) -> None:
        number = ready.begin(begun(kind=Kind.RUN))
        assert ready.get("study", number) == begun(kind=Kind.RUN, number=number)

    def test_a_finished_trial_is_read_as_it_was_recorded(self, ready: Store) -> None:
        record = self.run(ready, finished(0))
        assert ready.get("study", record.number) == record
        assert ready.records("study", outputs=True) == [record]

    def test_outputs_are_read_only_on_request(self, ready: Store) -> None:
        record = self.run(ready, finished(0))
        assert ready.records("study") == [without_outputs(record)]

    def test_a_list_judges_a_run_as_its_record_does(self, ready: Store) -> None:
        waited = {"solve_s": 12.0, "cores": 2.0, "cpu_s": 40.0, "waited_s": 8.0}
        several = self.run(ready, finished(0, ranks=4, threads=1, measurements=waited))
        computed = self.run(ready, finished(0, versions={"simulator": "SimGrid 3.36"}, measurements={}))
        listed = ready.lists.trials_after("study", 0, 9)
        assert listed == [without_outputs(several), without_outputs(computed)]
        assert [run.conditions for run in listed] == ["disturbed", "undisturbed"]

    @MANY
    @given(record=outcomes())
    def test_any_trial_is_read_as_it_was_recorded(self, ready: Store, record: TrialRecord) -> None:
        record = self.run(ready, record)
        assert ready.get("study", record.number) == record

    def test_repeats_are_trials_of_one_key(self, ready: Store) -> None:
        rates = [70.0, 75.0, 72.0]
        for rate in rates:
            self.run(ready, finished(0, rate))
        assert [record.gflops for record in ready.records("study")] == rates
        assert {record.key for record in ready.records("study")} == {begun().key}

    def test_records_can_be_chosen_by_kind_and_state(self, ready: Store) -> None:
        self.run(ready, finished(0, kind=Kind.PILOT))
        self.run(ready, finished(0))
        self.run(ready, finished(0, state=TrialState.FAILED, invalidity=Invalidity.TIMEOUT, reason="too slow"))
        ready.begin(begun())

        def numbers(**choice: object) -> list[int]:
            return [record.number for record in ready.records("study", **choice)]  # type: ignore[arg-type]

        assert numbers() == [1, 2, 3, 4]
        assert numbers(kinds=[Kind.PILOT]) == [1]
        assert numbers(states=[TrialState.FAILED, TrialState.RUNNING]) == [3, 4]
        assert numbers(kinds=[Kind.SEARCH], states=[TrialState.COMPLETE]) == [2]
        assert numbers(kinds=[]) == []

    def test_a_failed_residual_keeps_its_number_and_is_not_ranked(self, ready: Store) -> None:
        failed = finished(0, state=TrialState.FAILED, invalidity=Invalidity.CORRECTNESS, residual=1e9, passed=False)
        read = ready.get("study", self.run(ready, failed).number)
        assert read.gflops == failed.gflops
        assert not read.ranked

    def test_figures_that_are_not_finite_are_stored_as_missing(self, ready: Store) -> None:
        nan, infinite = float("nan"), float("inf")
        record = finished(
            0, gflops=nan, residual=infinite, passed=False, state=TrialState.FAILED, reason="residual inf"
        )
        read = ready.get("study", self.run(ready, record).number)
        assert (read.gflops, read.residual, read.passed) == (None, None, False)

    def test_text_that_no_database_can_hold_costs_no_trial(self, ready: Store) -> None:
        odd = "caf\udce9 \x00 \u2028"
        read = ready.get("study", self.run(ready, finished(0, reason=odd, output=odd, directory=odd)).number)
        assert read.output == odd
        assert read.reason == read.directory == "caf\\udce9 \\x00 \u2028"

    def test_a_trial_that_does_not_exist_is_an_error(self, ready: Store) -> None:
        with pytest.raises(ResultsError, match="study study has no trial 7: `hpltune show study` lists them"):
            ready.get("study", 7)

    def test_only_a_running_trial_can_be_finished(self, ready: Store) -> None:
        with pytest.raises(ResultsError, match="trial 7 of study study cannot be finished: it was not begun"):
            ready.finish(finished(7))
        record = self.run(ready, finished(0))
        with pytest.raises(ResultsError, match="trial 1 of study study cannot be finished"):
            ready.finish(replace(record, gflops=1.0))
        assert ready.get("study", 1) == record

    def test_a_trial_is_not_finished_as_running(self, ready: Store) -> None:
        ready.begin(begun())
        with pytest.raises(ValueError, match="trial 1 of study study is finished with state running"):
            ready.finish(begun(number=1))

    def test_what_was_left_running_becomes_a_failure_with_the_reason(self, ready: Store) -> None:
        record = self.run(ready, finished(0))
        left = ready.begin(begun())
        assert ready.abandon_running("study", "hpltune was killed while it ran") == 1
        read = ready.get("study", left)
        assert (read.state, read.invalidity) == (TrialState.FAILED, Invalidity.RUNTIME)
        assert read.reason == "hpltune was killed while it ran"
        assert ready.get("study", record.number) == record
        assert ready.abandon_running("study", "again") == 0

    def test_what_a_process_runs_itself_was_not_left_behind(self, ready: Store) -> None:
        mine = ready.begin(begun())
        assert ready.abandon_running("study", "hpltune was killed while it ran", {mine}) == 0
        assert ready.get("study", mine).state is TrialState.RUNNING
