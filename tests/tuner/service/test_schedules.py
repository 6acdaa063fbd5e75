from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from postgresql_server import Server

from results.errors import ResultsError, StudyExistsError
from results.store.service.campaign_entry import WantedState
from results.store.service.schedules import Schedule
from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.service.campaigns.offered import Offers
from tuner.service.schedules import ScheduleKeeper

SCHEDULES = "/api/v1/schedules"
SUNDAY = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
DUE = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
WEEKLY = Schedule(
    "weekly", "every monday at 06:00 UTC", {"kind": "tune", "space": "quick", "trials": 2}, "ada", SUNDAY, DUE
)


@pytest.fixture(params=["sqlite", "postgresql"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind."""
    place: Path | str = tmp_path / "x.db"
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("server")
        place = server.new_database()
    with Store.open(place) as store:
        yield store


def look(store: Store, now: datetime) -> None:
    ScheduleKeeper(store, Offers(), lambda: None, lambda: now).look()


def campaigns(store: Store) -> list[str]:
    return [entry.name for entry in store.queue.entries(["queued", "cancelled"])]  # type: ignore[list-item]


def test_what_is_due_is_handed_in_once(book: Store) -> None:
    book.schedules.add(WEEKLY)
    look(book, DUE - timedelta(seconds=1))
    assert campaigns(book) == []
    for _ in range(2):
        look(book, DUE)
    assert campaigns(book) == ["weekly-2026-11-30"]
    found = book.schedules.find("weekly")
    assert found is not None
    assert (found.next_at, found.last_at, found.last_campaign) == (DUE + timedelta(days=7), DUE, "weekly-2026-11-30")


def test_of_two_services_one_moves_a_schedule_on(book: Store) -> None:
    book.schedules.add(WEEKLY)
    assert book.schedules.move_on(WEEKLY, DUE + timedelta(days=7), "one")
    assert not book.schedules.move_on(WEEKLY, DUE + timedelta(days=7), "two")


def test_times_that_were_missed_become_one_campaign(book: Store) -> None:
    book.schedules.add(WEEKLY)
    look(book, DUE + timedelta(days=30))
    assert campaigns(book) == ["weekly-2026-11-30"]
    found = book.schedules.find("weekly")
    assert found is not None
    assert found.next_at == DUE + timedelta(days=35)


def test_nothing_is_handed_in_behind_a_campaign_that_still_waits(book: Store) -> None:
    book.schedules.add(WEEKLY)
    look(book, DUE)
    look(book, DUE + timedelta(days=7))
    assert campaigns(book) == ["weekly-2026-11-30"]
    book.queue.want("weekly-2026-11-30", WantedState.CANCEL)
    look(book, DUE + timedelta(days=14))
    assert campaigns(book) == ["weekly-2026-11-30", "weekly-2026-12-14"]


def test_a_document_that_no_longer_fits_does_not_stop_the_others(book: Store) -> None:
    book.schedules.add(Schedule("bad", WEEKLY.cadence, {"kind": "check", "baseline": "gone"}, "ada", SUNDAY, DUE))
    book.schedules.add(WEEKLY)
    look(book, DUE)
    assert campaigns(book) == ["weekly-2026-11-30"]


def test_a_schedule_ends_with_the_token_of_who_made_it(book: Store) -> None:
    book.tokens.create("ada", AccessScope.RUN, None)
    book.schedules.add(WEEKLY)
    look(book, DUE)
    book.queue.want("weekly-2026-11-30", WantedState.CANCEL)
    book.tokens.revoke("ada")
    look(book, DUE + timedelta(days=7))
    assert campaigns(book) == ["weekly-2026-11-30"]
    found = book.schedules.find("weekly")
    assert found is not None
    assert found.paused, "people see why nothing comes"
    assert book.schedules.due(DUE + timedelta(days=70)) == []


@pytest.mark.parametrize("scope", [AccessScope.READ, AccessScope.RUN], ids=["may only read now", "expired"])
def test_a_schedule_of_somebody_who_may_no_longer_run_hands_in_nothing(book: Store, scope: AccessScope) -> None:
    book.tokens.create("ada", scope, None if scope is AccessScope.READ else DUE - timedelta(hours=1))
    book.schedules.add(WEEKLY)
    look(book, DUE)
    assert campaigns(book) == []


def test_a_schedule_of_somebody_without_a_token_goes_on(book: Store) -> None:
    book.tokens.create("bob", AccessScope.RUN, None)
    book.tokens.revoke("bob")
    book.schedules.add(WEEKLY)
    look(book, DUE)
    assert campaigns(book) == ["weekly-2026-11-30"]


def test_a_hand_in_that_fails_for_a_while_is_tried_again(book: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    book.schedules.add(WEEKLY)
    with monkeypatch.context() as broken:
        broken.setattr("tuner.service.schedules.hand_in", _unable)
        look(book, DUE)
    assert campaigns(book) == []
    look(book, DUE)
    assert campaigns(book) == ["weekly-2026-11-30"]


def _unable(*_arguments: object) -> None:
    raise ResultsError("the disk is full")


def test_a_cadence_that_nobody_can_read_stops_no_other(book: Store) -> None:
    book.schedules.add(Schedule("bad", "when it rains", WEEKLY.document, "ada", SUNDAY, DUE - timedelta(days=1)))
    book.schedules.add(WEEKLY)
    look(book, DUE)
    assert campaigns(book) == ["weekly-2026-11-30"]


def test_a_name_is_given_once_and_a_removed_schedule_is_gone(book: Store) -> None:
    book.schedules.add(WEEKLY)
    with pytest.raises(StudyExistsError, match="schedule weekly exists already"):
        book.schedules.add(WEEKLY)
    book.schedules.remove("weekly")
    assert book.schedules.all() == []


def make(client: TestClient, expected: int = 201, **changes: Any) -> dict[str, Any]:
    document = {"kind": "tune", "space": "quick", "trials": 2}
    asked = {"name": "weekly", "cadence": "every monday at 06:00 Europe/Berlin", "document": document, **changes}
    answer = client.post(SCHEDULES, json=asked)
    assert answer.status_code == expected, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_schedule_is_made_shown_paused_and_removed(client: TestClient) -> None:
    told = make(client)
    assert told["document"] == {"kind": "tune", "space": "quick", "trials": 2}
    assert client.get(SCHEDULES).json() == [client.get(f"{SCHEDULES}/weekly").json()] == [told]
    assert client.post(f"{SCHEDULES}/weekly/pause").json()["next_at"] is None
    assert client.post(f"{SCHEDULES}/weekly/resume").json()["next_at"] == told["next_at"]
    assert client.delete(f"{SCHEDULES}/weekly").status_code == 204
    assert client.get(f"{SCHEDULES}/weekly").status_code == 404


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"cadence": "sometimes"}, "cadence"),
        ({"name": "a/b"}, "name"),
        ({"document": {"kind": "tune", "space": "quik"}}, "document.space"),
        ({"document": {"kind": "check", "baseline": "gone"}}, "document.baseline"),
        ({"document": {"kind": "tune", "name": "mine"}}, "document.name"),
        ({"document": {"kind": "tune", "trials": 0}}, "document.trials"),
        ({"document": {}}, "document.kind"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(client: TestClient, changes: dict[str, Any], path: str) -> None:
    assert [error["path"] for error in make(client, 422, **changes)["errors"]] == [path]
    assert client.get(SCHEDULES).json() == []
