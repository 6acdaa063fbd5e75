"""However long an answer takes, it has all that had ended when it was asked for."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from explain_builders import keep
from fastapi.testclient import TestClient
from record_builders import a_study, begun, finished
from service_client import served
from sqlalchemy import event
from waiting import PATIENCE_S

from results.record import Study, StudyNotes, TrialState
from results.store.store import Store
from tuner.service.background import BackgroundChild
from tuner.service.cache import Answers
from tuner.service.study_files import FileKind, StudyFiles

SLOW_S = 0.03
"""Seconds that the database takes for each statement of a service: two make an answer of a slow machine."""
PAGES = ("/", "/board", "/campaigns/one")
WRITTEN = (
    "/api/v1/campaigns/one/report.html",
    "/api/v1/campaigns/one/trials.parquet",
    "/compare?studies=one&studies=two",
)
"""Files that a process of its own writes."""
OTHERS = re.compile("/events$|^/metrics$")
"""Streams, and what tells of the service."""


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """The database of the service, of each kind."""
    with Store.open(place) as store:
        yield store


@pytest.fixture
def one(store: Store) -> Store:
    """A campaign at work: a good trial, and a better one that runs."""
    keep(store, a_study("one"), [finished(1, 75.0, "one")])
    store.begin(begun("one", "k2"))
    return store


@pytest.fixture
def slow(one: Store) -> None:
    """Make the database as slow as on a busy machine."""
    event.listen(one.lists.database.engine, "before_cursor_execute", lambda *_: time.sleep(SLOW_S))


def end_the_trial(store: Store) -> None:
    store.finish(finished(2, 91.0, "one", key="k2"))


def asked(client: TestClient, address: str) -> bytes:
    """What an address answers, without the marks of what was seen."""
    return re.sub(rb"seen=[0-9a-f.]+", b"", client.get(address).content)


def addresses(client: TestClient) -> list[str]:
    """Each address that tells of a campaign or of all of them, but files that are written."""
    described = client.get("/api/v1/openapi.json").json()["paths"]
    told = [path for path, methods in described.items() if "get" in methods and not OTHERS.search(path)]
    named = [path.replace("{name}", "one").replace("{number}", "2") for path in told]
    return [path for path in (*named, *PAGES) if "{" not in path and path not in WRITTEN]


@pytest.mark.heavy
@pytest.mark.usefixtures("slow")
def test_after_a_trial_every_address_answers_as_a_service_that_has_kept_nothing(
    client: TestClient, one: Store, tmp_path: Path
) -> None:
    changed = 0
    now = datetime.now(UTC)
    with served(one, tmp_path / "new") as new, time_machine.travel(now, tick=False):
        for number, address in enumerate(addresses(client), 3):
            before = asked(client, address)
            one.finish(finished(number - 1, 90.0 + number, "one"))
            one.begin(begun("one", f"k{number}"))
            after = asked(client, address)
            assert after == asked(new, address), address
            changed += after != before
    assert changed > 10


def test_files_have_a_trial_that_ended_after_they_were_written(
    client: TestClient, one: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written here instead of a file is the number of trials that have ended."""
    keep(one, a_study("two"), [finished(1, 70.0, "two")])
    monkeypatch.setattr(
        BackgroundChild, "compute", lambda *_, **__: str(one.count("one", [TrialState.COMPLETE])).encode()
    )
    assert [client.get(address).text for address in WRITTEN] == ["1", "1", "1"]
    end_the_trial(one)
    assert [client.get(address).text for address in WRITTEN] == ["2", "2", "2"]


def test_a_report_is_written_again_after_a_run_like_one_of_its_trials(
    client: TestClient, one: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a run belongs to another study, and the one of the report may have ended long ago."""
    monkeypatch.setattr(BackgroundChild, "compute", lambda *_, **__: str(one.count("run-HPL-1")).encode())
    end_the_trial(one)
    one.end_study("one", "complete")
    assert client.get(WRITTEN[0]).text == "0"
    run = a_study("run-HPL-1", notes=StudyNotes(like="one#2"))
    keep(one, run, [finished(1, 99.0, run.name)])
    assert client.get(WRITTEN[0]).text == "1"


def test_of_those_who_ask_while_a_file_is_written_one_write_serves_all(
    one: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first asks before the trial ends, three after it: they wait for a second file, and share it."""
    begun, let, asked = threading.Semaphore(0), threading.Semaphore(0), threading.Semaphore(0)
    written = []

    def write(*_: object, **__: object) -> bytes:
        trials = one.count("one", [TrialState.COMPLETE])
        begun.release()
        assert let.acquire(timeout=PATIENCE_S), "nobody let the file be written"
        written.append(trials)
        return b"%d" % trials

    class CountedAnswers(Answers):
        def known(self, name: str) -> tuple[Study, object]:
            known = super().known(name)
            asked.release()
            return known

    async def ask() -> list[bytes]:
        files = StudyFiles(CountedAnswers(one), one.place)
        first = asyncio.create_task(files.of("one", FileKind.PARQUET))
        assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE_S), "the first file was not begun"
        end_the_trial(one)
        others = [asyncio.create_task(files.of("one", FileKind.PARQUET)) for _ in range(3)]
        for _ in (first, *others):
            assert await asyncio.to_thread(asked.acquire, timeout=PATIENCE_S), "somebody did not ask"
        await asyncio.sleep(0.1)  # what they read becomes a request in the next turns of the loop
        let.release(2)
        found = [await task for task in (first, *others)]
        files.close()
        return found

    monkeypatch.setattr(BackgroundChild, "compute", write)
    assert asyncio.run(ask()) == [b"1", b"2", b"2", b"2"]
    assert written == [1, 2]
