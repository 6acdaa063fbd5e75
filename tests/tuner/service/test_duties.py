"""What a service does besides answering goes on, and where it does not, `/readyz` says so."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_client import of_client
from waiting import until

from results.store.store import Store
from tuner.service import background
from tuner.service.background import Duty


@pytest.fixture
def stopped() -> Iterator[threading.Event]:
    """What keeps a turn from ending; it is set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


class HeardLines(logging.Handler):
    """Keeps what is logged, whatever a service of another test has made of the loggers."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def heard() -> Iterator[HeardLines]:
    """What duties say."""
    lines = HeardLines()
    background.LOGGER.addHandler(lines)
    yield lines
    background.LOGGER.removeHandler(lines)


def test_an_error_that_nobody_expected_ends_no_duty(heard: HeardLines) -> None:
    turns: list[int] = []

    def turn() -> bool:
        turns.append(1)
        raise ZeroDivisionError("a fault of hpltune")

    duty = Duty("the cook", turn, pause_s=0.01)
    duty.start()
    until(lambda: len(turns) >= 3, "three turns")
    duty.close()
    (said,) = heard.records
    assert said.getMessage() == "the cook cannot go on now: a fault of hpltune", "it is said once, and not each time"
    assert said.exc_info, "with its traceback, for whoever mends it"


def test_more_is_done_at_once_and_no_more_after_a_pause() -> None:
    left = [True, True, True, False]
    duty = Duty("the cook", lambda: left.pop(0) if left else False, pause_s=3600.0)
    duty.start()
    until(lambda: not left, "all that there was to do")
    duty.close()


def test_a_duty_that_is_stuck_makes_a_service_unready(
    client: TestClient, stopped: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(background, "STUCK_S", 0.05)
    duty = Duty("the cook", stopped.wait, pause_s=1.0)
    duty.start()
    of_client(client).state.parts.dispatcher.duty = duty
    until(lambda: client.get("/readyz").status_code == 503, "that the duty counts as stuck")
    assert "the cook has done nothing for" in client.get("/readyz").json()["detail"]


def test_a_service_that_would_lose_what_it_takes_is_not_ready(client: TestClient, store: Store) -> None:
    file = Path(store.place)
    kept = file.rename(file.with_name("kept.db"))
    said = "The file of the database was removed or replaced: start the service again."
    assert (client.get("/readyz").status_code, client.get("/readyz").json()["detail"]) == (503, said)
    file.write_bytes(kept.read_bytes())
    assert client.get("/readyz").json()["detail"] == said
    handed_in = client.post("/api/v1/campaigns", json={"kind": "tune", "space": "quick", "trials": 1})
    assert (handed_in.status_code, handed_in.json()["detail"]) == (503, said), "what is told to be kept is kept"
    assert client.get("/api/v1/campaigns").status_code == 200
    kept.replace(file)
    assert client.get("/readyz").status_code == 200


def test_a_service_whose_database_takes_no_writes_is_not_ready_within_its_deadline(
    client: TestClient, store: Store
) -> None:
    with store._database.alone():
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["detail"]) == (503, "The database or the disk has not answered for 2 s.")
    assert client.get("/readyz").status_code == 200
