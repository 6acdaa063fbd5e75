"""Live events of one campaign, from a server that answers on a port, whose database others write."""

import os
import signal
import subprocess
import sys

import pytest
from fastapi.testclient import TestClient
from live_watch import SentEvent, Watch, begin, end, trials, watched, watching
from record_builders import a_study
from running_service import OpenService, running_service
from waiting import until

from results.store import outbox
from results.store.store import Store

EVENTS = "/api/v1/campaigns/study/events"
ABANDONED = """
import sys
from record_builders import a_study, begun
from results.store.store import Store
with Store.open(sys.argv[1]) as store:
    store.create_study(a_study())
    store.begin(begun())
    print("begun", flush=True)
    sys.stdin.read()
"""
"""A process that works on a campaign until it is killed."""


def kinds(seen: list[SentEvent]) -> list[str]:
    return [event.kind for event in seen]


def what(event: SentEvent) -> tuple[str, int]:
    """What an event tells of which trial; of trials that ran at a time the one or the other may be told first."""
    return event.kind, event.data.get("number", 0)


def test_a_watcher_hears_of_a_campaign_until_it_ends(service: OpenService, store: Store) -> None:
    store.create_study(a_study())
    with watching(service.client, EVENTS) as sent:
        first = next(sent)
        assert (first.kind, first.data["state"], first.data["trials"]) == ("campaign", "running", 0)
        record = begin(store)
        assert next(sent).data["number"] == record.number
        end(store, record, 75.0)
        ended = next(sent).data
        assert (ended["gflops"], ended["best_gflops"], ended["best_trial"]) == (75.0, 75.0, 1)
        assert ended["machine_time_s"] == 3.25
        trials(store, 71.0, None)
        store.end_study("study", "complete")
        rest = list(sent)
    assert kinds(rest) == ["trial-begun", "trial-ended"] * 2 + ["campaign-ended"]
    assert rest[-1].data["state"] == "complete"
    assert rest[-1].data["failed"] == 0
    assert rest[-1].data["best_trial"] == 1


def test_an_event_is_heard_of_without_waiting_for_the_next(service: OpenService, store: Store) -> None:
    store.create_study(a_study())
    with watching(service.client, EVENTS) as sent:
        next(sent)
        for _ in range(10):
            record = begin(store)
            assert next(sent).data["number"] == record.number


def test_a_stream_goes_on_after_any_event_with_nothing_twice_and_nothing_lost(
    service: OpenService, store: Store
) -> None:
    store.create_study(a_study())
    with watching(service.client, f"{EVENTS}?after=0") as sent:
        live = [next(sent)]
        one, other = begin(store), begin(store)
        live += [next(sent), next(sent)]
        end(store, other, 80.0)
        live += [next(sent)]
        end(store, one, 70.0)
        live += [next(sent)]
        trials(store, 75.0, None, 90.0)
        store.end_study("study", "interrupted")
        live += list(sent)
    assert kinds(live)[:5] == ["campaign-began", "trial-begun", "trial-begun", "trial-ended", "trial-ended"]
    for place, event in enumerate(live[:-1]):
        rest, heard = watched(service.client, EVENTS, event.id), live[place + 1 :]
        assert sorted(map(what, rest)) == sorted(map(what, heard))
        assert rest[-1] == heard[-1]
    assert service.client.get(EVENTS, headers={"Last-Event-ID": live[-1].id or ""}).status_code == 204


def test_a_stream_from_the_begin_goes_past_an_end_after_which_the_campaign_went_on(
    client: TestClient, store: Store
) -> None:
    store.create_study(a_study())
    store.end_study("study", "interrupted")
    store.take("study")
    trials(store, 70.0)
    store.end_study("study", "complete")
    told = watched(client, f"{EVENTS}?after=0")
    assert [(event.kind, event.data.get("state")) for event in told] == [
        ("campaign-began", "running"), ("campaign-changed", "interrupted"), ("campaign-changed", "running"),
        ("trial-begun", None), ("trial-ended", "complete"), ("campaign-ended", "complete"),
    ]  # fmt: skip


def test_after_an_event_that_is_kept_no_more_a_stream_begins_with_how_the_campaign_stands(
    service: OpenService, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "KEPT", 4)
    monkeypatch.setattr(outbox, "PRUNED_EACH", 2)
    store.create_study(a_study())
    trials(store, 70.0, 80.0, 75.0)
    for known in ("0", "1", "2"):
        with watching(service.client, EVENTS, known) as sent:
            first = next(sent)
            assert (first.kind, first.data["trials"], first.data["best_gflops"]) == ("campaign", 3, 80.0)
            assert first.id == "7"
    record = begin(store)
    with watching(service.client, EVENTS, "6") as sent:
        assert [next(sent).data["number"] for _ in range(2)] == [3, record.number]


def test_what_the_process_of_a_campaign_shows_is_told_without_folders(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    store.outbox.show("study", {"kind": "Notice", "text": "The runs are in /home/ada/runs."})
    store.end_study("study", "complete")
    _, shown, _ = watched(client, f"{EVENTS}?after=0")
    assert (shown.kind, shown.data["shown"]) == ("shown", {"kind": "Notice", "text": "The runs are in …/runs."})


def test_the_header_of_a_browser_counts_before_the_address(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    trials(store, 70.0, 80.0)
    store.end_study("study", "complete")
    assert kinds(watched(client, f"{EVENTS}?after=0", "5")) == ["campaign-ended"]


def test_an_ended_campaign_is_told_with_one_event(client: TestClient, store: Store) -> None:
    store.create_study(a_study())
    trials(store, 70.0, 80.0)
    store.end_study("study", "complete")
    (only,) = watched(client, EVENTS)
    assert (only.kind, only.data["trials"], only.data["best_gflops"]) == ("campaign-ended", 2, 80.0)


def test_a_campaign_that_goes_on_is_told_on(service: OpenService, store: Store) -> None:
    store.create_study(a_study())
    trials(store, 70.0)
    store.end_study("study", "interrupted")
    (last,) = watched(service.client, EVENTS)
    store.take("study")
    trials(store, 72.0)
    store.end_study("study", "complete")
    rest = watched(service.client, EVENTS, last.id)
    assert kinds(rest) == ["campaign-changed", "trial-begun", "trial-ended", "campaign-ended"]
    assert rest[-1].data["best_gflops"] == 72.0


@pytest.mark.parametrize("known", ["", "x", "-1", "3", "01", "1.0", "99999999999", "2147483647", "1 ", "r1", "٣", "🙂"])
def test_an_id_of_no_event_gets_one_sentence(client: TestClient, store: Store, known: str) -> None:
    store.create_study(a_study())
    answer = client.get(EVENTS, params={"after": known})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].startswith("The event id is none of this stream: leave it out")


def test_fifty_watchers_hear_the_same(service: OpenService, store: Store) -> None:
    store.create_study(a_study())
    watches = [Watch(service.client, EVENTS) for _ in range(50)]
    until(lambda: all(watch.seen for watch in watches))
    trials(store, *(70.0 + number for number in range(20)))
    store.end_study("study", "complete")
    heard = [watch.to_the_end() for watch in watches]
    assert len(heard[0]) == 42
    assert all(one[1:] == heard[0][1:] for one in heard)


def test_a_name_that_is_html_is_data(client: TestClient, store: Store) -> None:
    store.create_study(a_study("<img src=x onerror=alert(1)>\n"[:-1]))
    store.end_study("<img src=x onerror=alert(1)>", "complete")
    (only,) = watched(client, "/api/v1/campaigns/%3Cimg%20src=x%20onerror=alert(1)%3E/events")
    assert only.data["campaign"] == "<img src=x onerror=alert(1)>"


def test_a_killed_campaign_ends(service: OpenService, store: Store) -> None:
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", ABANDONED, store.place]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with watching(service.client, EVENTS) as sent:
            assert next(sent).data["running"] == [1]
            process.send_signal(signal.SIGKILL)
            last = next(sent)
    assert (last.kind, last.data["state"], last.data["running"]) == ("campaign-ended", "killed", [1])


def test_a_removed_campaign_ends(service: OpenService, store: Store) -> None:
    store.create_study(a_study())
    with watching(service.client, EVENTS) as sent:
        next(sent)
        store.delete_study("study")
        assert next(sent).data["state"] == "removed"
        assert next(sent, None) is None


@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_watchers_do_not_hold_up_the_end_of_the_service(store: Store) -> None:
    store.create_study(a_study())
    with running_service("--db", store.place) as service:
        watches = [Watch(service.client, EVENTS) for _ in range(10)]
        until(lambda: all(watch.seen for watch in watches))
        code, said = service.end()
        assert (code, said) == (0, "hpltune: the service has ended\n")
        assert all(len(watch.to_the_end()) == 1 for watch in watches)
