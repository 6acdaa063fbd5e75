"""Notifications reach a real receiver by Apprise, and hold nothing up where it takes none."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from queue_contract import ORDER
from receiver import Receiver, notify_table, receiver
from record_builders import a_study, begun, finished
from replayed import replaying
from running_service import running_service
from waiting import until

from results.store.service.campaign_entry import QueueState, WantedState
from results.store.store import Store
from tuner.service.config import read_config
from tuner.service.notifications import Notifier

PUBLIC = '[listen]\npublic_url = "https://tuner.example.org/"\n'


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@contextmanager
def notifying(store: Store, folder: Path, *urls: str, events: str = "") -> Iterator[Notifier]:
    """What a service does that has these addresses."""
    file = folder / "serve.toml"
    file.write_text(PUBLIC + notify_table(folder, *urls, events=events))
    config = read_config(file)
    with closing(Notifier(store, config.notify, config.listen.public_url, str(store.place), (0.0, 0.0))) as notifier:
        notifier.duty.start()
        yield notifier
        notifier.duty.close()


def end(
    store: Store,
    name: str,
    state: QueueState = QueueState.DONE,
    reason: str = "",
    *,
    wanted: WantedState = WantedState.RUN,
    slower: bool = False,
) -> None:
    store.queue.add(replace(ORDER, name=name, idempotency_key=None))
    store.queue.claim(name)
    store.queue.want(name, wanted)
    store.queue.end(name, state, reason, slower=slower)


def ran(store: Store, name: str) -> None:
    store.create_study(a_study(name))
    store.finish(finished(store.begin(begun(name)), 71.5, study=name))


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that ran before in this process has told its logs to reach nobody else."""
    monkeypatch.setattr(logging.getLogger("hpltune"), "propagate", True)


def test_a_slower_check_is_told_with_its_rates_and_without_folders(
    store: Store, there: Receiver, tmp_path: Path
) -> None:
    end(store, "check 1", reason="5 % slower than /home/ada/hpl.db said", slower=True)
    ran(store, "check 1")
    with notifying(store, tmp_path, there.url):
        until(lambda: there.received)
    (told,) = there.received
    assert (told["title"], told["type"]) == (
        "hpltune: campaign check 1 found its machine slower than the baseline",
        "warning",
    )
    kind, state, *lines = told["message"].splitlines()
    assert kind == "Kind: tune"
    assert state.startswith("State: done at 20")
    assert lines == [
        "Rates: measured",
        (
            "The fastest full run gave 71.50 GFLOPS at N=6,000: trial 1, of no. 1. "
            "That is no Rmax: its matrix takes 1.7 % of the memory."
        ),
        "5 % slower than …/hpl.db said",
        "https://tuner.example.org/campaigns/check%201",
    ]


@pytest.mark.parametrize(
    ("state", "wanted", "events"),
    [
        (QueueState.DONE, WantedState.RUN, "done"),
        (QueueState.FAILED, WantedState.RUN, "failed"),
        (QueueState.CANCELLED, WantedState.CANCEL, None),
        (QueueState.PAUSED, WantedState.PAUSE, None),
        (QueueState.PAUSED, WantedState.RUN, "failed"),
        (QueueState.QUEUED, WantedState.RUN, None),
    ],
)
def test_only_ends_that_somebody_waits_for_are_told(
    store: Store, state: QueueState, wanted: WantedState, events: str | None
) -> None:
    """One that is paused though nobody asked for it waits because its processes died."""
    end(store, "first", state, wanted=wanted)
    assert store.untold.take() == (None if events is None else ("first", events))
    assert store.untold.take() is None, "who took it tells it"


def test_only_events_that_the_file_names_are_told(store: Store, there: Receiver, tmp_path: Path) -> None:
    for name in ("first", "second"):
        end(store, name)
    end(store, "third", QueueState.FAILED, "xhpl is missing")
    with notifying(store, tmp_path, there.url, events='events = ["failed", "slower"]'):
        until(lambda: there.received)
    (told,) = there.received
    assert (told["title"], told["type"]) == ("hpltune: campaign third has failed", "failure")
    assert told["message"].splitlines()[-2:] == ["xhpl is missing", "https://tuner.example.org/campaigns/third"]


def test_who_refuses_is_asked_again_and_who_took_it_is_not(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end(store, "first")
    with receiver(500, 404) as refusing, receiver() as there:
        with notifying(store, tmp_path, there.url, refusing.url):
            until(lambda: len(refusing.received) == 3)
        assert len(there.received) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"notification of campaign first, attempt {attempt}: 1 address did not take it: 2 (json)" for attempt in (1, 2)
    ]
    assert "secret-7" not in caplog.text


def test_who_never_takes_it_is_given_up(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    end(store, "first")
    with receiver(*[500] * 9) as refusing, notifying(store, tmp_path, refusing.url):
        until(lambda: "it is given up" in caplog.text)
        assert len(refusing.received) == 3
    assert store.untold.take() is None


def test_what_a_closing_service_has_not_told_the_next_one_tells(store: Store, tmp_path: Path) -> None:
    end(store, "first")
    with receiver(silent=True) as silent, notifying(store, tmp_path, silent.url) as notifier:
        until(lambda: silent.received)
        notifier.close()
    assert store.untold.take() == ("first", "done")


@pytest.mark.service
@pytest.mark.usefixtures("mpirun")
def test_a_real_service_tells_of_campaigns_and_stays_ready_while_a_receiver_is_silent(
    home: Path, tmp_path: Path
) -> None:
    small = {"kind": "tune", "space": "quick", "trials": 1, "confirm": 0, "set": {"N": [400]}, "program": "printed"}
    with receiver(silent=True) as silent, receiver() as there:
        file = tmp_path / "serve.toml"
        offers = f'[offers.programs]\nprinted = "{replaying(home)}"\n'
        file.write_text(f"{PUBLIC}{notify_table(tmp_path, silent.url, there.url)}{offers}")
        with running_service("--config", str(file)) as service:
            assert service.client.post("/api/v1/campaigns", json=small | {"name": "first"}).status_code == 201
            until(lambda: silent.received)
            assert service.client.post("/api/v1/campaigns", json=small | {"name": "second"}).status_code == 201
            assert service.client.get("/readyz").status_code == 200
            until(lambda: there.received)
            until(lambda: service.client.get("/api/v1/campaigns/second").json()["state"] == "complete")
            assert service.client.get("/readyz").status_code == 200
            _, said = service.end()
    assert there.received[0]["title"] == "hpltune: campaign first is done"
    assert "secret-7" not in said
    assert "Traceback" not in said
