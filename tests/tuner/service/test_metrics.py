"""What the service counts, as Prometheus reads it."""

import re

from explain_builders import keep
from fastapi.testclient import TestClient
from record_builders import a_study
from service_client import bearer, client_of, of_client

from results.store.service.campaign_entry import CampaignOrder
from results.store.service.tokens import AccessScope
from results.store.store import Store

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+.e\d]+')


def figures(client: TestClient) -> dict[str, float]:
    """All figures by their names and labels; each line must be one that Prometheus reads."""
    text = client.get("/metrics").text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if not LINE.fullmatch(line)]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_requests_are_counted_by_route_and_status(client: TestClient, store: Store) -> None:
    keep(store, a_study("one"), [])
    for address in ("/api/v1/campaigns/one", "/api/v1/campaigns/two", "/api/v1/campaigns/three", "/no/such/thing"):
        client.get(address)
    found = figures(client)
    requests, route = "hpltune_http_requests_total", "/api/v1/campaigns/{name}"
    assert found[f'{requests}{{method="GET",route="{route}",status="200"}}'] == 1
    assert found[f'{requests}{{method="GET",route="{route}",status="404"}}'] == 2
    assert found[f'{requests}{{method="GET",route="unmatched",status="404"}}'] == 1
    duration = "hpltune_http_request_duration_seconds"
    assert found[f'{duration}_count{{route="{route}"}}'] == 3
    assert found[f'{duration}_bucket{{le="+Inf",route="{route}"}}'] == 3
    shortest, longest = (found[f'{duration}_bucket{{le="{end}",route="{route}"}}'] for end in ("0.005", "10.0"))
    assert shortest <= longest
    assert 0 < found[f'{duration}_sum{{route="{route}"}}'] < 60


def test_names_and_methods_that_strangers_make_up_need_no_memory(client: TestClient) -> None:
    client.get("/first")
    figures(client)
    before = len(figures(client))
    for number in range(20):
        client.request(f"METHOD{number}", f"/{number}")
    client.request("BREW", "/coffee")
    assert len(figures(client)) - before == 1


def test_campaigns_are_counted_by_how_they_stand(client: TestClient, store: Store) -> None:
    for name in ("a", "b"):
        store.queue.add(CampaignOrder(name, "tune", {}, ("node",), "ada"))
    found = figures(client)
    assert found['hpltune_campaigns{state="queued"}'] == 2
    assert found['hpltune_campaigns{state="running"}'] == 0
    assert 0 <= found["hpltune_queue_oldest_seconds"] < 60
    assert found["process_resident_memory_bytes"] > 1e6


def test_a_database_that_does_not_work_is_counted(client: TestClient, store: Store) -> None:
    with store._database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE studies")
    assert client.get("/api/v1/campaigns/one").status_code == 503
    assert figures(client)["hpltune_database_errors_total"] == 1


def test_programs_of_this_machine_read_them_and_others_need_a_token(client: TestClient, store: Store) -> None:
    _, token = store.tokens.create("prometheus", AccessScope.READ, None)
    other = client_of(of_client(client), "10.0.0.7")
    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics", headers={"X-Forwarded-For": "10.0.0.7"}).status_code == 401
    assert other.get("/metrics").status_code == 401
    assert other.get("/metrics", headers=bearer(token)).status_code == 200
