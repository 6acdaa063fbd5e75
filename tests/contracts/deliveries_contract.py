"""What an outbox must do. A test class inherits it and gives a fixture `store` that is empty and open."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from queue_contract import ORDER, QueueContract

from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.service.deliveries import OutgoingMessage
from results.store.service.queue import MOST_ATTEMPTS
from results.store.store import Store

MESSAGE = OutgoingMessage("chat", "done", {"campaign": "monday", "best_gflops": 21.25})
MINUTE = timedelta(minutes=1)


def soon() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=1)


def tell(entry: CampaignEntry) -> list[OutgoingMessage]:
    """A message about any end."""
    return [OutgoingMessage("chat", entry.state, {"campaign": entry.name})]


class DeliveriesContract:
    def test_a_message_is_due_at_once_and_holds_its_id(self, store: Store) -> None:
        made = store.deliveries.add(MESSAGE)
        assert (made.webhook, made.event, made.state, made.attempts) == ("chat", "done", "waiting", 0)
        assert json.loads(made.body) == {"id": made.number, **MESSAGE.body}

    def test_a_message_is_taken_by_one_until_its_time_is_over(self, store: Store) -> None:
        made, now = store.deliveries.add(MESSAGE), soon()
        taken = store.deliveries.claim("chat", now, now + MINUTE)
        assert taken is not None
        assert (taken.number, taken.attempts) == (made.number, 1)
        assert store.deliveries.claim("chat", now, now + MINUTE) is None
        again = store.deliveries.claim("chat", now + MINUTE, now + 2 * MINUTE)
        assert again is not None
        assert (again.number, again.attempts) == (made.number, 2), "who took it may have died"

    def test_of_two_processes_one_takes_a_message(self, store: Store) -> None:
        for _ in range(40):
            store.deliveries.add(MESSAGE)
        text = (
            "import sys\nfrom datetime import datetime, timedelta, UTC\nfrom results.store.store import Store\n"
            "now = datetime.now(UTC) + timedelta(seconds=1)\n"
            "with Store.open(sys.argv[1]) as store:\n"
            "    while (one := store.deliveries.claim('chat', now, now + timedelta(hours=1))): print(one.number)\n"
        )
        both = [
            subprocess.Popen([sys.executable, "-c", text, store.place], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        numbers = [number for process in both for number in process.communicate()[0].split()]
        assert (len(numbers), len(set(numbers))) == (40, 40)

    def test_messages_to_another_webhook_are_left_alone(self, store: Store) -> None:
        store.deliveries.add(MESSAGE)
        assert store.deliveries.claim("pager", soon(), soon() + MINUTE) is None
        assert store.deliveries.newest("pager", 10) == []

    def test_what_was_delivered_stays_so(self, store: Store) -> None:
        made, now = store.deliveries.add(MESSAGE), soon()
        store.deliveries.delivered(made.number, now)
        store.deliveries.failed(made.number, "a second sender came late", now)
        (one,) = store.deliveries.newest("chat", 10)
        assert (one.state, one.delivered_at, one.reason) == ("delivered", now, "")
        assert store.deliveries.claim("chat", now + MINUTE, now + 2 * MINUTE) is None

    def test_what_failed_is_due_later_or_never(self, store: Store) -> None:
        made, now = store.deliveries.add(MESSAGE), soon()
        store.deliveries.failed(made.number, "HTTP 503", now + MINUTE)
        assert store.deliveries.claim("chat", now, now + MINUTE) is None
        assert store.deliveries.claim("chat", now + MINUTE, now + 2 * MINUTE) is not None
        store.deliveries.failed(made.number, "HTTP 410", None)
        (one,) = store.deliveries.newest("chat", 10)
        assert (one.state, one.reason) == ("given up", "HTTP 410")
        assert store.deliveries.counts("chat") == {"waiting": 0, "delivered": 0, "given up": 1}

    def test_only_old_messages_that_wait_no_longer_are_forgotten(self, store: Store) -> None:
        waiting, over = (store.deliveries.add(MESSAGE) for _ in range(2))
        store.deliveries.delivered(over.number, soon())
        assert store.deliveries.forget(soon() - MINUTE) == 0
        assert store.deliveries.forget(soon() + MINUTE) == 1
        assert [one.number for one in store.deliveries.newest("chat", 10)] == [waiting.number]

    def test_the_end_of_a_campaign_and_its_messages_are_stored_together(self, store: Store) -> None:
        store.queue.add(ORDER)
        store.queue.claim("monday")

        def broken(_entry: CampaignEntry) -> list[OutgoingMessage]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.queue.end("monday", QueueState.DONE, tell=broken)
        entry = store.queue.find("monday")
        assert entry is not None
        assert entry.state == "running", "nothing is stored, or both"
        assert store.queue.end("monday", QueueState.DONE, tell=tell)
        assert not store.queue.end("monday", QueueState.DONE, tell=tell), "it is no longer ours"
        assert [one.event for one in store.deliveries.newest("chat", 10)] == ["done"]

    def test_a_campaign_that_died_too_often_is_told_of_once(self, store: Store) -> None:
        store.queue.add(ORDER)
        for _ in range(MOST_ATTEMPTS):
            QueueContract.die(store)
            store.queue.recover(lambda entry: tell(entry) if entry.state is QueueState.PAUSED else [])
        assert store.queue.recover(tell) == []
        assert [one.event for one in store.deliveries.newest("chat", 10)] == ["paused"]
