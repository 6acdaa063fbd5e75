"""What an outbox of events must do. A test class inherits it and gives a fixture `store` that is empty and open."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from queue_contract import ORDER, dead_lease, held_by
from record_builders import a_study, begun, finished

from results.errors import ResultsError, UnknownStudyError
from results.record import Kind, TrialRecord, TrialState
from results.store import outbox
from results.store.lease import Lease
from results.store.outbox import Reach, StoredEvent, Totals
from results.store.service.campaign_entry import QueueState, WantedState
from results.store.store import Store

ROOT = Path(__file__).parents[2]
WRITERS, TRIALS_EACH = 4, 25
WRITES = """
import sys
from record_builders import a_study, begun, finished
from results.store.store import Store
name, trials = sys.argv[2], int(sys.argv[3])
with Store.open(sys.argv[1]) as store:
    store.create_study(a_study(name))
    for _ in range(trials):
        store.finish(finished(store.begin(begun(name)), study=name))
    store.end_study(name, "complete")
"""


def told(store: Store, known: int = 0, campaign: str | None = None) -> Sequence[StoredEvent]:
    """All events after one of an id."""
    return store.outbox.after(known, store.outbox.last_id(), campaign, most=10**6)


def lines(events: Sequence[StoredEvent]) -> list[str]:
    """What events tell, in a few words each."""
    return [
        f"{event.name} {event.trial.number}" if event.trial else f"{event.campaign} {event.name} {event.state}"
        for event in events
    ]


@contextmanager
def somebody_at_work(store: Store) -> Iterator[None]:
    """Let another living process work on all studies while the block runs."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        held_by(store, Lease.of(child.pid))
        yield
    held_by(store, Lease.mine())


def run(store: Store, gflops: float | None = 75.0, name: str = "study", **changes: object) -> TrialRecord:
    """Begin and end a trial."""
    done = finished(store.begin(begun(name)), gflops, name, **changes)
    store.finish(done)
    return done


class OutboxContract:
    def test_all_that_happens_in_a_study_is_told_in_its_order(self, store: Store) -> None:
        store.create_study(a_study())
        one, other = store.begin(begun()), store.begin(begun())
        store.finish(finished(other, 80.0))
        store.finish(finished(one, None, state=TrialState.FAILED))
        store.end_study("study", "interrupted")
        store.take("study")
        store.end_study("study", "complete")
        events = told(store)
        assert lines(events) == [
            *("study campaign-began running", "trial-begun 1", "trial-begun 2", "trial-ended 2", "trial-ended 1"),
            *("study campaign-ended interrupted", "study campaign-changed running", "study campaign-ended complete"),
        ]
        assert [event.totals for event in events[3:5]] == [Totals(1, 0, 3.25, 80.0, 2), Totals(2, 1, 6.5, 80.0, 2)]
        assert [event.id for event in events] == sorted({event.id for event in events})

    def test_what_is_stored_says_how_a_trial_is(self, store: Store) -> None:
        store.create_study(a_study())
        run(store, 71.0)
        _, begins, ends = told(store)
        assert begins.trial is not None
        assert begins.trial.params["NB"] == 192
        assert ends.trial is not None
        assert (ends.trial.gflops, ends.trial.cost_s, ends.trial.passed) == (71.0, 3.25, True)

    def test_only_full_runs_that_count_are_the_fastest(self, store: Store) -> None:
        store.create_study(a_study())
        run(store, 70.0)
        run(store, 90.0, kind=Kind.SMALL)
        run(store, 80.0, passed=False, state=TrialState.FAILED)
        assert told(store)[-1].totals == Totals(3, 1, 9.75, 70.0, 1)

    def test_events_and_what_they_tell_are_stored_together(self, store: Store) -> None:
        store.create_study(a_study())
        with pytest.raises(ResultsError):
            store.finish(finished(7))
        with pytest.raises(ResultsError):
            store.create_study(a_study())
        assert lines(told(store)) == ["study campaign-began running"]

    def test_a_trial_whose_end_is_told_again_counts_once(self, store: Store) -> None:
        store.create_study(a_study())
        number = store.begin(begun())
        store.abandon_running("study", "the connection was lost")
        store.finish(finished(number, 75.0))
        events = told(store)
        assert lines(events)[1:] == ["trial-begun 1", "trial-ended 1", "trial-ended 1"]
        assert [event.totals for event in events[2:]] == [Totals(1, 1, 0.0), Totals(1, 0, 3.25, 75.0, 1)]

    def test_the_states_of_a_campaign_that_was_handed_in_are_told(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.want("monday", WantedState.PAUSE)
        store.queue.want("monday", WantedState.RUN)
        store.queue.claim("monday")
        store.create_study(a_study("monday"))
        store.end_study("monday", "complete")
        store.queue.end("monday", QueueState.DONE)
        assert [event.state for event in told(store)] == [*("queued", "paused", "queued", "running", "complete")]
        assert [event.name for event in told(store)][::4] == ["campaign-began", "campaign-ended"]

    def test_a_campaign_whose_process_died_is_told_of_when_that_is_found_out(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.create_study(a_study("monday"))
        store.queue.claim("monday")
        held_by(store, dead_lease())
        store.queue.recover()
        assert [event.state for event in told(store)] == ["queued", "running", "queued"]
        store.queue.want("monday", WantedState.CANCEL)
        assert told(store)[-1].name == "campaign-ended"

    def test_that_a_study_was_killed_is_told_once_by_whoever_looks_first(self, store: Store) -> None:
        store.create_study(a_study("monday"))
        store.begin(begun("monday"))
        with somebody_at_work(store):
            store.outbox.settle("monday")
            assert store.outbox.state("monday") == "running"
        assert lines(told(store))[2:] == []
        held_by(store, dead_lease())
        for _ in range(2):
            store.outbox.settle("monday")
        last = told(store)[-1]
        assert lines(told(store))[2:] == ["monday campaign-ended killed"]
        assert (last.running, store.outbox.standing("monday").state) == ([1], "killed")
        store.abandon_running("monday", "killed")
        assert lines(told(store))[3:] == ["monday campaign-changed running", "trial-ended 1"]

    def test_how_a_campaign_stands_is_one_event(self, store: Store) -> None:
        store.create_study(a_study())
        run(store, 75.0)
        store.begin(begun())
        with somebody_at_work(store):
            stands = store.outbox.standing("study")
            assert (stands.name, stands.state, stands.running) == ("campaign", "running", [2])
            assert (stands.id, stands.totals) == (store.outbox.last_id(), Totals(1, 0, 3.25, 75.0, 1))
            assert store.outbox.standings() == (stands.id, [stands])
        store.end_study("study", "complete")
        assert store.outbox.standing("study").name == "campaign-ended"
        assert store.outbox.standings() == (stands.id + 1, [])
        with pytest.raises(UnknownStudyError, match="there is no campaign other"):
            store.outbox.standing("other")

    def test_a_campaign_that_begins_while_a_watcher_comes_is_told_once(self, store: Store) -> None:
        before, none = store.outbox.standings()
        store.create_study(a_study())
        with somebody_at_work(store):
            after, [stands] = store.outbox.standings()
        assert lines([*none, *told(store, before)]) == ["study campaign-began running"]
        assert lines([stands, *told(store, after)]) == ["study campaign running"]

    def test_of_a_removed_campaign_only_that_is_told(self, store: Store) -> None:
        store.create_study(a_study())
        known = store.outbox.last_id()
        run(store)
        store.delete_study("study")
        assert lines(told(store)) == lines(told(store, known)) == ["study campaign-ended removed"]
        with pytest.raises(UnknownStudyError):
            store.outbox.standing("study")
        store.create_study(a_study())
        assert lines(told(store))[1:] == ["study campaign-began running"]
        assert told(store)[-1].totals == Totals()
        assert store.outbox.reach(0, "study") is Reach.WHOLE
        store.outbox.show("nobody", {"kind": "Notice", "text": "late"})
        assert len(told(store)) == 2, "nobody is told of a campaign that never was"

    def test_a_renamed_campaign_takes_what_happened_in_it_along(self, store: Store) -> None:
        store.create_study(a_study())
        run(store)
        store.end_study("study", "complete")
        known = store.outbox.last_id()
        store.rename_study("study", "other")
        assert lines(told(store, campaign="other"))[1:] == [
            "trial-begun 1",
            "trial-ended 1",
            "other campaign-ended complete",
        ]
        assert lines(told(store, known)) == ["study campaign-ended removed"]
        assert store.outbox.reach(known, "other") is Reach.WHOLE

    def test_a_stream_goes_on_after_any_event(self, store: Store) -> None:
        store.create_study(a_study())
        store.create_study(a_study("other"))
        for name in ("study", "other"):
            run(store, name=name)
        whole = told(store)
        for place, event in enumerate(whole):
            assert told(store, event.id) == whole[place + 1 :]
            assert store.outbox.reach(event.id) is store.outbox.reach(event.id, event.campaign) is Reach.WHOLE
        assert store.outbox.after(0, whole[2].id, most=2) == whole[:2]
        assert store.outbox.after(0, whole[3].id, "study") == [whole[0], whole[2], whole[3]]

    def test_an_id_of_no_event_is_none_of_a_stream(self, store: Store) -> None:
        store.create_study(a_study())
        store.create_study(a_study("other"))
        assert store.outbox.reach(0) is store.outbox.reach(0, "study") is Reach.WHOLE
        assert store.outbox.reach(3) is store.outbox.reach(3, "study") is Reach.FOREIGN
        assert store.outbox.reach(2, "study") is Reach.FOREIGN, "it is an event of another campaign"

    def test_old_events_go_but_for_the_last_of_each_campaign(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(outbox, "KEPT", 10)
        monkeypatch.setattr(outbox, "PRUNED_EACH", 5)
        store.create_study(a_study("old"))
        store.end_study("old", "complete")
        store.create_study(a_study("gone"))
        store.delete_study("gone")
        store.create_study(a_study())
        for _ in range(10):
            run(store)
        assert [event.id for event in told(store)] == [2, *range(16, 26)]
        assert store.outbox.reach(2, "old") is Reach.WHOLE
        assert store.outbox.reach(0, "old") is store.outbox.reach(0, "study") is store.outbox.reach(0) is Reach.PRUNED
        assert store.outbox.reach(9, "study") is store.outbox.reach(9) is Reach.PRUNED
        assert store.outbox.reach(16, "study") is store.outbox.reach(15) is Reach.WHOLE
        assert told(store)[-1].totals.ended == store.outbox.standing("study").totals.ended == 10

    def test_an_imported_study_is_told_of_with_one_event(self, store: Store) -> None:
        records = [replace(finished(number, 70.0 + number), study="old") for number in (1, 2)]
        store.imports.add(a_study("old", state="complete"), records)
        store.imports.append("old", [finished(1, 90.0)])
        assert lines(told(store)) == ["old campaign-ended complete"] * 2
        assert [event.totals.best_trial for event in told(store)] == [2, 3]

    def test_what_a_process_shows_is_told_between_the_rest(self, store: Store) -> None:
        store.create_study(a_study())
        run(store)
        store.outbox.show("study", {"what": "Notice", "text": "größer"})
        store.end_study("study", "complete")
        shown, last = told(store)[-2:]
        assert (shown.name, shown.shown) == ("shown", {"what": "Notice", "text": "größer"})
        assert shown.totals == last.totals

    def test_who_reads_while_several_write_misses_nothing(self, store: Store) -> None:
        names = [f"study {number}" for number in range(WRITERS)]
        environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'contracts'}"}
        command = [sys.executable, "-c", WRITES, store.place]
        writers = [subprocess.Popen([*command, name, str(TRIALS_EACH)], env=environment) for name in names]
        heard: list[StoredEvent] = []
        while any(writer.poll() is None for writer in writers):
            heard += told(store, heard[-1].id if heard else 0)
        heard += told(store, heard[-1].id if heard else 0)
        assert [writer.returncode for writer in writers] == [0] * WRITERS
        whole = told(store)
        assert [event.id for event in heard] == [event.id for event in whole]
        assert len(whole) == WRITERS * (2 + 2 * TRIALS_EACH)
        for name in names:
            last = [event for event in whole if event.campaign == name][-1]
            assert (last.state, last.totals.ended) == ("complete", TRIALS_EACH)
