from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from record_builders import a_study
from service_client import bearer, served

from results.store.service.campaign_entry import QueueState
from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.service.config import LimitsTable, ServiceConfig

CAMPAIGNS = "/api/v1/campaigns"
QUICK = {"kind": "tune", "space": "quick", "trials": 3}


def hand_in(client: TestClient, expected: int = 201, **changes: Any) -> dict[str, Any]:
    answer = client.post(CAMPAIGNS, json={**QUICK, **changes})
    assert answer.status_code == expected, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_no_path_of_the_machine_is_told(client: TestClient, store: Store) -> None:
    hand_in(client, name="monday")
    store.queue.claim("monday")
    store.queue.end("monday", QueueState.FAILED, "/home/ada/.cache/hpltune/builds/x/xhpl: cannot be run (/tmp/a/b.log)")
    assert client.get("/api/v1/queue/monday").json()["reason"] == "…/xhpl: cannot be run (…/b.log)"


def test_a_campaign_stands_in_the_api_before_its_study_is_there(client: TestClient, store: Store) -> None:
    hand_in(client, name="monday", cluster="kronos")
    told = client.get(f"{CAMPAIGNS}/monday").json()
    assert (told["state"], told["in_queue"], told["simulated"], told["trials"]) == ("queued", "queued", True, 0)
    client.post(f"{CAMPAIGNS}/monday/cancel")
    assert client.get(f"{CAMPAIGNS}/monday").json()["state"] == "cancelled"
    client.post(f"{CAMPAIGNS}/monday/resume")
    store.queue.claim("monday")
    store.create_study(a_study("monday"))
    store.queue.end("monday", QueueState.PAUSED)
    store.end_study("monday", "interrupted")
    told = client.get(f"{CAMPAIGNS}/monday").json()
    assert (told["state"], told["in_queue"]) == ("paused", "paused")


def test_a_cancelled_campaign_is_cancelled_wherever_it_is_told(client: TestClient, store: Store) -> None:
    hand_in(client, name="monday")
    store.queue.claim("monday")
    store.create_study(a_study("monday"))
    store.end_study("monday", "interrupted")
    store.queue.end("monday", QueueState.CANCELLED)
    (listed,) = client.get(CAMPAIGNS).json()["campaigns"]
    for told in (listed, client.get(f"{CAMPAIGNS}/monday").json()):
        assert (told["state"], told["in_queue"]) == ("cancelled", "cancelled")
    for page in ("/", "/compare"):
        assert 'class="state cancelled"' in client.get(page).text


def test_nobody_fills_the_queue_alone(store: Store, tmp_path: Path) -> None:
    _, ada = store.tokens.create("ada", AccessScope.RUN, None)
    _, eve = store.tokens.create("eve", AccessScope.RUN, None)
    config = ServiceConfig(limits=LimitsTable(waiting_of_one=2))
    with served(store, tmp_path, config) as client:

        def handed_in(token: str) -> Any:
            return client.post(CAMPAIGNS, json={"kind": "tune", "space": "quick"}, headers=bearer(token))

        assert [handed_in(ada).status_code for _ in range(3)] == [201, 201, 429]
        assert "2 campaigns of ada wait, and one caller may have 2" in handed_in(ada).json()["detail"]
        client.post(f"{CAMPAIGNS}/quick-1/pause", headers=bearer(ada))
        assert handed_in(ada).status_code == 429, "who pauses one gets no place for another"
        assert handed_in(eve).status_code == 201
