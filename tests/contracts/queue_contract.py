"""What a queue of campaigns must do. A test class inherits it and gives a fixture `store` that is empty and open."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from record_builders import a_study
from sqlalchemy import func, select, update

from results.errors import CampaignStateError, KeyReusedError, StudyExistsError, UnknownStudyError
from results.store.lease import Lease
from results.store.postgresql import _mark
from results.store.schema import CAMPAIGNS, STUDIES
from results.store.service.campaign_entry import CampaignOrder, QueueState, WantedState
from results.store.service.queue import MOST_ATTEMPTS
from results.store.store import Store

ORDER = CampaignOrder("monday", "tune", {"space": "quick", "set": {"NB": [128, 192]}}, ("node-1", "node-2"), "ada")
ALL = frozenset(QueueState)


def dead_lease() -> Lease:
    """The lease of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    lease = Lease.of(child.pid)
    child.communicate(b"\n")
    return lease


def held_by(store: Store, lease: Lease) -> None:
    """Let another process work on monday and on its study."""
    with store.queue.database.writing() as connection:
        connection.execute(update(CAMPAIGNS).values(owner=str(lease)))
        connection.execute(update(STUDIES).values(owner=str(lease)))


def held_elsewhere(store: Store) -> Lease:
    """Let a process of another host work on monday and on its study."""
    store.queue.add(ORDER)
    store.create_study(a_study("monday"))
    store.queue.claim("monday")
    elsewhere = Lease("pod-a", "another boot", 17, "123")
    held_by(store, elsewhere)
    return elsewhere


@contextmanager
def someone_holds(store: Store, lease: Lease) -> Iterator[None]:
    """Keep the lock that a process on another host holds on a server; a file has no such locks."""
    with store.queue.database.reading() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_lock_shared(_mark(lease))))
        yield


def heard_at(store: Store) -> datetime | None:
    entry = store.queue.find("monday")
    assert entry is not None
    return entry.heard_at


class QueueContract:
    def test_a_campaign_is_read_as_it_was_handed_in(self, store: Store) -> None:
        entry = store.queue.add(ORDER)
        assert entry.order == ORDER
        assert (entry.state, entry.wanted, entry.attempts, entry.owner) == ("queued", "run", 0, None)
        assert store.queue.find("monday") == entry
        assert store.queue.entries([QueueState.QUEUED]) == [entry]
        assert store.queue.find("tuesday") is None

    def test_a_name_is_given_once_to_a_campaign_or_a_study(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.create_study(a_study("known"))
        for name in ("monday", "known"):
            with pytest.raises(StudyExistsError, match=f"campaign {name} exists already"):
                store.queue.add(replace(ORDER, name=name))

    def test_a_name_that_nobody_chose_is_the_first_that_is_free(self, store: Store) -> None:
        store.create_study(a_study("quick-2"))
        order = replace(ORDER, name="quick")
        assert [store.queue.add(order, numbered=True).name for _ in range(3)] == ["quick-1", "quick-3", "quick-4"]

    def test_the_same_key_hands_in_one_campaign(self, store: Store) -> None:
        first = store.queue.add(replace(ORDER, idempotency_key="k-1"))
        again = store.queue.add(replace(ORDER, name="another name", idempotency_key="k-1"))
        assert again == first
        other_user = store.queue.add(replace(ORDER, name="his", handed_in_by="bob", idempotency_key="k-1"))
        assert other_user.name == "his"
        with pytest.raises(KeyReusedError, match="made campaign monday with another document"):
            store.queue.add(replace(ORDER, document={"space": "full"}, idempotency_key="k-1"))

    def test_a_campaign_is_started_by_one_process(self, store: Store) -> None:
        store.queue.add(ORDER)
        assert store.queue.claim("monday")
        assert not store.queue.claim("monday")
        entry = store.queue.find("monday")
        assert entry is not None
        assert (entry.state, entry.owner, entry.attempts) == ("running", Lease.mine(), 1)

    def test_no_two_campaigns_work_on_one_machine(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.add(replace(ORDER, name="same node", node_set=("node-2", "node-3")))
        store.queue.add(replace(ORDER, name="elsewhere", node_set=("node-9",)))
        assert store.queue.claim("monday")
        assert not store.queue.claim("same node")
        assert store.queue.claim("elsewhere")
        store.queue.end("monday", QueueState.DONE)
        assert store.queue.claim("same node")

    def test_the_process_that_was_started_takes_it_from_its_starter_alone(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        assert store.queue.take_over("monday", dead_lease()) is None
        assert store.queue.take_over("monday", Lease.mine()) is not None

    def test_only_its_process_ends_it(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        assert not store.queue.end("monday", QueueState.FAILED, owner=dead_lease())
        assert store.queue.end("monday", QueueState.DONE, "all is well")
        entry = store.queue.find("monday")
        assert entry is not None
        assert (entry.state, entry.reason, entry.owner) == ("done", "all is well", None)

    def test_what_waits_is_paused_resumed_and_cancelled_at_once(self, store: Store) -> None:
        store.queue.add(ORDER)
        states = [store.queue.want("monday", wanted).state for wanted in (WantedState.PAUSE, WantedState.RUN)]
        assert states == ["queued", "paused"][::-1]
        assert store.queue.want("monday", WantedState.CANCEL).state == "cancelled"
        assert store.queue.want("monday", WantedState.RUN).state == "queued"

    def test_what_runs_is_told_what_is_wanted(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        entry = store.queue.want("monday", WantedState.PAUSE)
        assert (entry.state, entry.wanted) == ("running", "pause")

    @pytest.mark.parametrize(("wanted", "what"), [(WantedState.PAUSE, "paused"), (WantedState.RUN, "resumed")])
    def test_what_is_being_cancelled_is_cancelled(self, store: Store, wanted: WantedState, what: str) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        store.queue.want("monday", WantedState.CANCEL)
        with pytest.raises(CampaignStateError, match=f"campaign monday cannot be {what}: it is being cancelled"):
            store.queue.want("monday", wanted)
        assert store.queue.want("monday", WantedState.CANCEL).wanted == "cancel", "twice is no mistake"

    @pytest.mark.parametrize("wanted", list(WantedState))
    def test_what_is_done_stays_so(self, store: Store, wanted: WantedState) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        store.queue.end("monday", QueueState.DONE)
        with pytest.raises(CampaignStateError, match=r"campaign monday cannot be \w+: it is done"):
            store.queue.want("monday", wanted)

    def test_nobody_can_want_what_nobody_handed_in(self, store: Store) -> None:
        with pytest.raises(UnknownStudyError, match="nobody handed in a campaign monday"):
            store.queue.want("monday", WantedState.RUN)

    def test_a_campaign_whose_process_died_is_queued_again_some_times(self, store: Store) -> None:
        store.queue.add(ORDER)
        for attempt in range(1, MOST_ATTEMPTS + 1):
            self.die(store)
            (entry,) = store.queue.recover(deaths={"monday": "signal 9 ended its process"})
            assert entry.attempts == attempt
        assert (entry.state, entry.wanted) == ("paused", "run"), "no death makes it fail"
        assert entry.reason.startswith("signal 9 ended its process; 5 of its processes died, so it waits: resume it")
        assert store.queue.want("monday", WantedState.RUN).attempts == 0, "somebody looked at it"

    @pytest.mark.parametrize(("wanted", "state"), [(WantedState.PAUSE, "paused"), (WantedState.CANCEL, "cancelled")])
    def test_a_campaign_that_died_when_it_was_to_stop_has_stopped(
        self, store: Store, wanted: WantedState, state: str
    ) -> None:
        store.queue.add(ORDER)
        self.die(store)
        store.queue.want("monday", wanted)
        (entry,) = store.queue.recover()
        assert entry.state == state

    def test_a_living_campaign_is_not_started_again(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        assert store.queue.recover() == []

    def test_a_process_elsewhere_that_is_silent_has_died(self, store: Store) -> None:
        elsewhere = held_elsewhere(store)
        with someone_holds(store, elsewhere):
            assert store.queue.recover() == [], "nothing is known of it"
            [entry] = store.queue.recover(silent=[elsewhere])
        assert (entry.state, entry.owner) == ("queued", None)
        assert entry.reason == "its process died; it goes on where it was"
        store.take("monday")

    def test_a_process_that_runs_here_may_be_silent(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
            runs = Lease.of(child.pid)
            held_by(store, runs)
            assert store.queue.recover(silent=[runs]) == []

    def test_who_knows_that_a_process_is_dead_can_say_so(self, store: Store) -> None:
        elsewhere = held_elsewhere(store)
        with someone_holds(store, elsewhere):
            entry = store.queue.declare_dead("monday")
            assert (entry.state, entry.owner) == ("queued", None)
            assert entry.reason == "an administrator said that its process is dead; it goes on where it was"
            store.take("monday")
            assert not store.queue.end("monday", QueueState.DONE, owner=elsewhere), "it is that process's no more"

    @pytest.mark.parametrize(("wanted", "state"), [(WantedState.PAUSE, "paused"), (WantedState.CANCEL, "cancelled")])
    def test_what_is_declared_dead_does_what_was_wanted_of_it(
        self, store: Store, wanted: WantedState, state: str
    ) -> None:
        held_elsewhere(store)
        store.queue.want("monday", wanted)
        assert store.queue.declare_dead("monday").state == state

    def test_what_runs_before_our_eyes_is_not_declared_dead(self, store: Store) -> None:
        store.queue.add(ORDER)
        with pytest.raises(CampaignStateError, match="no process works on campaign monday: it is queued"):
            store.queue.declare_dead("monday")
        store.queue.claim("monday")
        with pytest.raises(CampaignStateError, match="runs on this machine: cancel the campaign"):
            store.queue.declare_dead("monday")
        with pytest.raises(UnknownStudyError):
            store.queue.declare_dead("tuesday")

    def test_a_fault_of_the_machine_puts_a_campaign_off_and_is_no_attempt(self, store: Store) -> None:
        store.queue.add(ORDER)
        assert not store.queue.put_off("monday", "the disk is full", 1, 60.0), "it is not this process's"
        store.queue.claim("monday")
        assert store.queue.put_off("monday", "the disk is full", 2, 60.0)
        entry = store.queue.find("monday")
        assert entry is not None
        assert (entry.state, entry.attempts, entry.faults, entry.owner) == ("queued", 0, 2, None)
        assert entry.reason == "the disk is full"
        assert entry.not_before is not None
        assert entry.not_before > datetime.now(UTC)

    @pytest.mark.parametrize(("wanted", "state"), [(WantedState.PAUSE, "paused"), (WantedState.CANCEL, "cancelled")])
    def test_what_is_put_off_does_what_was_wanted_of_it(self, store: Store, wanted: WantedState, state: str) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        store.queue.want("monday", wanted)
        store.queue.put_off("monday", "the disk is full", 1, 60.0)
        entry = store.queue.find("monday")
        assert entry is not None
        assert entry.state == state

    def test_a_process_that_works_is_heard_of(self, store: Store) -> None:
        store.queue.add(ORDER)
        assert heard_at(store) is None
        store.queue.claim("monday")
        begun = heard_at(store)
        time.sleep(0.01)
        store.queue.beat("monday", "another")
        assert heard_at(store) != begun
        held_by(store, dead_lease())
        before = heard_at(store)
        time.sleep(0.01)
        store.queue.beat("monday")
        assert heard_at(store) == before, "the beat of another process says nothing of this one"

    def test_one_machine_with_two_names_is_one(self, store: Store) -> None:
        store.queue.add(replace(ORDER, node_set=("pod-a",), machine="m-1"))
        store.queue.add(replace(ORDER, name="renamed", node_set=("pod-b",), machine="m-1"))
        assert store.queue.claim("monday")
        assert not store.queue.claim("renamed")

    def test_what_ran_lately_is_known(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.add(replace(ORDER, name="never ran"))
        store.queue.claim("monday")
        store.queue.end("monday", QueueState.DONE)
        store.queue.want("never ran", WantedState.CANCEL)
        now = datetime.now(UTC)
        assert [entry.name for entry in store.queue.recent(now - timedelta(hours=1))] == ["monday"]
        assert store.queue.recent(now + timedelta(hours=1)) == []

    def test_a_study_takes_its_campaign_along(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")
        store.create_study(a_study("monday"))
        store.end_study("monday", "complete")
        store.queue.end("monday", QueueState.DONE)
        store.rename_study("monday", "tuesday")
        assert [entry.name for entry in store.queue.entries(ALL)] == ["tuesday"]
        store.delete_study("tuesday")
        assert store.queue.entries(ALL) == []

    @staticmethod
    def die(store: Store) -> None:
        """Let a process take the campaign and die."""
        if not store.queue.claim("monday"):
            raise AssertionError("it cannot be started")
        text = (
            "import sys; from results.store.lease import Lease; from results.store.store import Store\n"
            "with Store.open(sys.argv[1]) as store: assert store.queue.take_over('monday', Lease.parse(sys.argv[2]))"
        )
        subprocess.run([sys.executable, "-c", text, store.place, str(Lease.mine())], check=True)
