"""What the service tells of its webhooks, and what its configuration takes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from fastapi.testclient import TestClient
from queue_contract import ORDER
from record_builders import a_study, begun, finished
from replayed import replaying
from running_service import running_service
from service_client import served
from waiting import until
from webhook_receiver import Receiver, receiver

from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.store import Store
from runners.toml_file import ClusterFileError
from tuner.service.config import read_config
from tuner.service.webhook_sender import Announcer, announcer_of

WEBHOOKS = "/api/v1/webhooks"
PUBLIC = '[listen]\npublic_url = "https://tuner.example.org/"\n'


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def announcer(folder: Path, there: Receiver, **more: object) -> Announcer:
    file = folder / "serve.toml"
    file.write_text(PUBLIC + there.table(folder, **more))
    return announcer_of(read_config(file))


def ended(store: Store, state: QueueState, reason: str = "", wanted: WantedState = WantedState.RUN) -> CampaignEntry:
    store.queue.add(replace(ORDER, name="check 1"))
    store.queue.claim("check 1")
    store.queue.want("check 1", wanted)
    store.queue.end("check 1", state, reason)
    found = store.queue.find("check 1")
    assert found is not None
    return found


def test_a_message_tells_what_came_of_a_campaign(store: Store, there: Receiver, tmp_path: Path) -> None:
    entry = ended(store, QueueState.DONE, "5 % slower than /home/ada/hpl.db said")
    store.create_study(a_study("check 1"))
    store.finish(finished(store.begin(begun("check 1")), 71.5, study="check 1"))
    done, slower = announcer(tmp_path, there).ended(store, entry, slower=True)
    assert (done.event, slower.event) == ("done", "slower")
    assert entry.ended_at is not None
    assert done.body == {
        "event": "done",
        "campaign": "check 1",
        "kind": "tune",
        "state": "done",
        "rates": "measured",
        "best_gflops": 71.5,
        "fastest_gflops": 71.5,
        "fastest_trial": 1,
        "fastest_called": "rate at N=6,000",
        "fastest_conditions": "undisturbed",
        "conditions": "undisturbed",
        "expected_gflops": None,
        "interval_gflops": None,
        "median_gflops": 71.5,
        "runs": 1,
        "reason": "5 % slower than …/hpl.db said",
        "ended_at": entry.ended_at.isoformat(),
        "link": "https://tuner.example.org/campaigns/check%201",
    }


@pytest.mark.parametrize(
    ("state", "wanted", "events"),
    [
        (QueueState.FAILED, WantedState.RUN, ["failed"]),
        (QueueState.CANCELLED, WantedState.CANCEL, []),
        (QueueState.PAUSED, WantedState.PAUSE, []),
        (QueueState.PAUSED, WantedState.RUN, ["failed"]),
        (QueueState.QUEUED, WantedState.RUN, []),
    ],
)
def test_only_ends_that_somebody_waits_for_are_told(
    store: Store, there: Receiver, tmp_path: Path, state: QueueState, wanted: WantedState, events: list[str]
) -> None:
    """One that is paused though nobody asked for it waits because its processes died."""
    told = announcer(tmp_path, there).ended(store, ended(store, state, wanted=wanted))
    assert [message.event for message in told] == events
    assert all(message.body["best_gflops"] is None for message in told)


def test_a_webhook_hears_only_what_it_wants(store: Store, there: Receiver, tmp_path: Path) -> None:
    told = announcer(tmp_path, there, events=["slower"])
    entry = ended(store, QueueState.DONE)
    assert told.ended(store, entry) == []
    assert [message.event for message in told.ended(store, entry, slower=True)] == ["slower"]


def test_the_list_tells_how_messages_stand(store: Store, there: Receiver, tmp_path: Path) -> None:
    announcer(tmp_path, there)
    config = read_config(tmp_path / "serve.toml")
    with served(store, tmp_path, config) as client:
        asked = client.post(f"{WEBHOOKS}/chat/test")
        assert (asked.status_code, asked.json()["state"], asked.json()["event"]) == (202, "waiting", "test")
        (told,) = client.get(WEBHOOKS).json()["webhooks"]
        assert told["deliveries"] == [asked.json()]
        assert (told["name"], told["place"], told["waiting"]) == ("chat", there.url, 1)
        assert "key=7" not in client.get(WEBHOOKS).text, "the address may hold a secret"
        nobody = client.post(f"{WEBHOOKS}/pager/test")
        assert (nobody.status_code, "There is no webhook of this name" in nobody.json()["detail"]) == (404, True)


def test_a_service_without_webhooks_lists_none(client: TestClient) -> None:
    assert client.get(WEBHOOKS).json() == {"webhooks": []}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('url = "ftp://x.org"', "webhooks.chat.url = ftp://x.org: expected an address that begins with https://"),
        ('url = "https://"', "expected an address"),
        ('url = "https://a b.org"', "expected an address"),
        ('url = "https://ada:pw@x.org"', "leave user names and # out"),
        ('url = "https://x.org"\nsecret_file = "fine"\nevents = ["begun"]', "webhooks.chat.events.0"),
        ('url = "https://x.org"\nsecret_file = "fine"\nevents = []', "webhooks.chat.events"),
        ('url = "https://x.org"', "webhooks.chat.secret_file is missing"),
        ('url = "https://x.org"\nsecret_file = "none"', "webhooks.chat.secret_file: cannot read"),
        ('url = "https://x.org"\nsecret_file = "short"', "holds fewer than 16 characters"),
    ],
)
def test_a_mistake_in_a_webhook_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "short").write_text("123\n")
    file = tmp_path / "serve.toml"
    file.write_text(f"[webhooks.chat]\n{text}\n")
    with pytest.raises(ClusterFileError) as caught:
        read_config(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_wrong_public_url_is_named(hpltune: Run, tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('[listen]\npublic_url = "tuner.example.org"\n')
    done = hpltune("serve", "--config", str(file))
    assert (done.returncode, "expected where people open the service" in done.stderr) == (2, True)


@pytest.mark.service
@pytest.mark.usefixtures("mpirun")
def test_a_real_service_tells_of_a_campaign_in_spite_of_its_death(home: Path, tmp_path: Path) -> None:
    """The receiver fails while the first service lives; the service is killed; the next one delivers."""
    small = {"kind": "tune", "name": "first", "space": "quick", "trials": 1, "confirm": 0, "set": {"N": [400]}}
    small["program"] = "printed"
    with receiver(*[503] * 1000) as there:
        file = tmp_path / "serve.toml"
        file.write_text(f'{PUBLIC}{there.table(tmp_path)}\n[offers.programs]\nprinted = "{replaying(home)}"\n')
        with running_service("--config", str(file)) as service:
            assert service.client.post("/api/v1/campaigns", json=small).status_code == 201
            until(lambda: there.received)
            service.end(9)
        there.statuses.clear()
        there.received.clear()
        with running_service("--config", str(file)):
            until(lambda: there.received)
    (one,) = there.received
    assert one.is_signed()
    assert one.body["best_gflops"] > 0
    assert one.body | {"campaign": "first", "event": "done", "state": "done"} == one.body
