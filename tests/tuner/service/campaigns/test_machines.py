"""What happens to machines: a host that gets another name, and processes elsewhere that are silent."""

import platform
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_client import of_client

from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState, WantedState
from results.store.store import Store
from tuner.service.campaigns import this_machine
from tuner.service.campaigns.dispatcher import DEAF_S, SILENT_S, Listening
from tuner.service.campaigns.offered import Offers
from tuner.service.campaigns.this_machine import machine_id

ELSEWHERE = Lease("pod-a", "another boot", 17, "123")
NOW = datetime(2026, 11, 27, tzinfo=UTC)


ORDER = CampaignOrder("monday", "tune", {}, ("pod-a",), "ada")


def entry(heard_at: datetime | None = NOW, order: CampaignOrder = ORDER) -> CampaignEntry:
    """A campaign that a process elsewhere works on."""
    return CampaignEntry(order, NOW, QueueState.RUNNING, WantedState.RUN, ELSEWHERE, 1, NOW, None, "", heard_at)


class Clock:
    """A clock that the test moves."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def listening(clock: Clock) -> Listening:
    return Listening(clock)


def looks(listening: Listening, clock: Clock, seconds: float, running: CampaignEntry) -> set[Lease]:
    """Look every second for so long; what the last look finds."""
    found: set[Lease] = set()
    for _ in range(int(seconds)):
        clock.now_s += 1.0
        found = listening.silent([running])
    return found


def test_a_process_that_says_nothing_for_long_counts_as_dead(listening: Listening, clock: Clock) -> None:
    assert looks(listening, clock, SILENT_S, entry()) == set()
    assert looks(listening, clock, 2, entry()) == {ELSEWHERE}


def test_a_process_that_says_something_lives_whatever_its_clock_tells(listening: Listening, clock: Clock) -> None:
    for beat in range(4):
        told = entry(NOW - timedelta(days=3) + timedelta(seconds=beat))
        assert looks(listening, clock, 0.6 * SILENT_S, told) == set()


def test_who_did_not_listen_knows_nothing(listening: Listening, clock: Clock) -> None:
    """The database was away: the process could not say that it runs, and nobody could have read it."""
    looks(listening, clock, 0.9 * SILENT_S, entry())
    clock.now_s += DEAF_S + 1.0
    assert looks(listening, clock, 0.9 * SILENT_S, entry()) == set()


def test_an_older_version_never_says_that_it_runs(listening: Listening, clock: Clock) -> None:
    assert looks(listening, clock, 3 * SILENT_S, entry(heard_at=None)) == set()


@pytest.fixture
def system_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file by which a system says which one it is."""
    file = tmp_path / "system-id"
    monkeypatch.setattr(this_machine, "SYSTEM_ID", file)
    return file


def test_a_machine_is_the_same_after_each_start(tmp_path: Path, system_id: Path) -> None:
    assert not system_id.exists()
    assert machine_id(tmp_path) == machine_id(tmp_path)
    assert machine_id(tmp_path) != machine_id(tmp_path / "another")


def test_hosts_that_share_a_data_folder_are_several_machines(tmp_path: Path, system_id: Path) -> None:
    system_id.write_text("one\n")
    one = machine_id(tmp_path)
    system_id.write_text("two\n")
    assert machine_id(tmp_path) != one
    system_id.write_text("one\n")
    assert machine_id(tmp_path) == one


def test_a_machine_starts_what_it_got_under_another_name() -> None:
    offered = Offers(machine="m-1")
    assert offered.starts(entry(order=replace(ORDER, machine="m-1")))
    assert not offered.starts(entry(order=replace(ORDER, machine="m-2", node_set=(platform.node(),)))), (
        "another one that is called so"
    )
    assert offered.starts(entry(order=replace(ORDER, node_set=(platform.node(),)))), (
        "a row of an older version has only the name"
    )
    assert not offered.starts(entry())


def test_the_page_says_that_nobody_here_starts_a_campaign(client: TestClient, store: Store) -> None:
    store.queue.add(CampaignOrder("monday", "tune", {"space": "quick"}, ("pod-a",), "ada"))
    said = "It waits for pod-a, which this service does not offer: one that does must start it."
    assert said in client.get("/campaigns/monday").text
    assert said in client.get("/").text


def test_campaigns_know_their_machine(client: TestClient, store: Store) -> None:
    answer = client.post("/api/v1/campaigns", json={"kind": "tune", "space": "quick", "name": "monday"})
    assert answer.status_code == 201, answer.text
    [found] = store.queue.entries([QueueState.QUEUED])
    assert found.order.machine == of_client(client).state.parts.offered.machine != ""
