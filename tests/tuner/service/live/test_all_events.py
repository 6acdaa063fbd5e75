"""Live events of all campaigns, from a server that answers on a port."""

from itertools import islice

from live_watch import begin, end, trials, watching
from queue_contract import ORDER
from record_builders import START, a_study
from running_service import OpenService

from results.record import Study
from results.store.service.campaign_entry import WantedState
from results.store.store import Store

EVENTS = "/api/v1/events"


def study(name: str, minute: int) -> Study:
    return a_study(name, created_at=START.replace(minute=minute))


def test_campaigns_are_told_of_as_they_begin_and_end(service: OpenService, store: Store) -> None:
    store.create_study(study("old", 1))
    store.end_study("old", "complete")
    store.create_study(study("one", 2))
    with watching(service.client, EVENTS) as sent:
        first = next(sent)
        assert (first.kind, first.data["campaign"]) == ("campaign", "one")
        store.create_study(study("two", 3))
        assert (event := next(sent)).kind == "campaign-began"
        assert event.data["campaign"] == "two"
        record = begin(store, "two")
        assert next(sent).data["campaign"] == "two"
        end(store, record)
        assert next(sent).data["best_gflops"] == 75.0
        store.end_study("one", "complete")
        assert (event := next(sent)).kind == "campaign-ended"
        assert event.data["campaign"] == "one"
        store.take("old")
        assert (event := next(sent)).kind == "campaign-changed"
        assert event.data["campaign"] == "old"


def test_a_campaign_that_waits_is_told_of(service: OpenService, store: Store) -> None:
    with watching(service.client, f"{EVENTS}?after=0") as sent:
        store.queue.add(ORDER)
        store.queue.want("monday", WantedState.PAUSE)
        store.queue.want("monday", WantedState.CANCEL)
        told = list(islice(sent, 3))
    assert [(event.kind, event.data["state"]) for event in told] == [
        ("campaign-began", "queued"),
        ("campaign-changed", "paused"),
        ("campaign-ended", "cancelled"),
    ]


def test_the_stream_of_all_goes_on_after_any_event(service: OpenService, store: Store) -> None:
    with watching(service.client, f"{EVENTS}?after=0") as sent:
        store.create_study(study("one", 1))
        live = [next(sent)]
        store.create_study(study("two", 2))
        live.append(next(sent))
        trials(store, 70.0, name="one")
        live += islice(sent, 2)
        trials(store, 80.0, name="two")
        live += islice(sent, 2)
        store.end_study("two", "complete")
        live.append(next(sent))
    for place, event in enumerate(live[:-1]):
        with watching(service.client, EVENTS, event.id) as sent:
            rest = list(islice(sent, len(live) - place - 1))
        assert sorted((one.kind, one.data["campaign"]) for one in rest) == sorted(
            (one.kind, one.data["campaign"]) for one in live[place + 1 :]
        )
    with watching(service.client, EVENTS, live[-1].id) as sent:
        begin(store, "one")
        assert next(sent).kind == "trial-begun"
