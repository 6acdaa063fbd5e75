"""Checks of nodes in the service: handed in, listed, read, and a page that fills while a check goes on."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from node_check_builders import FIRST_DAY, a_check, kept
from service_client import served

from results.store.node_checks import NodeCheckState
from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store
from tuner.service.config import OffersTable, ServiceConfig

CHECKS = "/api/v1/node-checks"
LAB = 'name = "lab"\nbackend = "ssh"\nhosts = ["node1", "node2"]\n\n[node]\ncores = 4\nmemory_gib = 16\n'


def test_checks_are_listed_a_page_at_a_time(client: TestClient, store: Store) -> None:
    for day in range(3):
        store.node_checks.add(kept(a_check(checked_at=FIRST_DAY + timedelta(days=day)), ready=day != 1))
    store.node_checks.add(kept(a_check("attic"), campaign="nightly"))
    first = client.get(CHECKS, params={"cluster": "lab", "limit": 2}).json()
    assert [(one["number"], one["ready"]) for one in first["checks"]] == [(3, True), (2, False)]
    rest = client.get(CHECKS, params={"cluster": "lab", "limit": 2, "cursor": first["next_cursor"]}).json()
    assert ([one["number"] for one in rest["checks"]], rest["next_cursor"]) == ([1], None)
    assert [one["number"] for one in client.get(CHECKS, params={"campaign": "nightly"}).json()["checks"]] == [4]


def test_a_large_cluster_has_a_row_for_several_nodes(client: TestClient, store: Store) -> None:
    nodes = tuple(f"node{number:03}" for number in range(100))
    check = replace(a_check(), nodes=nodes, runs=(), pairs=(), silent={"node042": "no answer"})
    store.node_checks.add(kept(check, state=NodeCheckState.INTERRUPTED))
    page = client.get("/node-checks/1").text
    assert page.count('<th scope="row">') == 10
    assert 'title="node042: out"' in page
    assert page.count("not measured yet</span>") == 99


def hand_in(client: TestClient, **document: object) -> dict[str, object]:
    answer = client.post("/api/v1/campaigns", json={"kind": "nodes", **document})
    assert answer.status_code == 201, answer.text
    told: dict[str, object] = answer.json()
    return told


def begin(store: Store, name: str) -> int:
    """Begin a check for a campaign as its process does."""
    store.queue.claim(name)
    return store.node_checks.add(kept(state=NodeCheckState.RUNNING, campaign=name))


def test_the_page_of_its_campaign_leads_to_a_check_that_has_begun(client: TestClient, store: Store) -> None:
    name = str(hand_in(client, name="tonight")["name"])
    assert "It is number 1 of the queue." in client.get(f"/campaigns/{name}").text
    begin(store, name)
    assert client.get(f"/campaigns/{name}/waiting").headers["HX-Refresh"] == "true"
    answer = client.get(f"/campaigns/{name}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/node-checks/1")
    page = client.get("/node-checks/1").text
    assert "2 nodes are measured: 1 benchmark so far, last DGEMM, all cores." in page
    assert "Ready:" not in page, "there is no verdict before all is measured"
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page
    assert 'action="/campaigns/tonight/do"' in page
    assert 'value="cancel"' in page


def test_what_a_check_finds_out_is_sent_until_it_ends(client: TestClient, store: Store) -> None:
    hand_in(client, name="tonight")
    number = begin(store, "tonight")
    found = re.search(r'sse-connect="([^"]+)"', client.get(f"/node-checks/{number}").text)
    assert found
    store.node_checks.replace(number, kept(ready=False, campaign="tonight"))
    sent = client.get(found[1]).text
    assert "event: check" in sent
    assert "Not ready: node2 would slow a run down." in sent
    assert sent.rstrip().endswith("event: over\ndata:")


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    file = tmp_path / "lab.toml"
    file.write_text(LAB)
    return file


def test_a_check_of_a_cluster_is_of_its_nodes(store: Store, lab: Path, tmp_path: Path) -> None:
    config = ServiceConfig(offers=OffersTable(clusters={"lab": lab}))
    with served(store, tmp_path, config) as client:
        assert hand_in(client, cluster="lab")["nodes"] == ["node1", "node2"]


def test_a_check_is_started_from_the_page(client: TestClient, store: Store) -> None:
    token = re.search(r'name="form_token" value="([^"]+)"', client.get("/node-checks").text)
    assert token
    answer = client.post("/node-checks", data={"form_token": token[1], "cluster": ""})
    assert answer.status_code == 303
    name = answer.headers["location"].removeprefix("/campaigns/")
    entry = store.queue.find(name)
    assert entry is not None
    assert (entry.order.kind, name.startswith("nodes-")) == ("nodes", True)
    assert client.post("/node-checks", data={"cluster": ""}).status_code == 403


def test_a_check_of_the_command_line_that_runs_is_shown_as_it_goes(client: TestClient, store: Store) -> None:
    store.node_checks.add(kept(state=NodeCheckState.RUNNING))
    assert "2 nodes are measured" in client.get("/node-checks/1").text


def test_a_campaign_of_another_kind_keeps_its_page(client: TestClient, store: Store) -> None:
    store.queue.add(CampaignOrder("waits", "tune", {"kind": "tune"}, ("elsewhere",), "ada"))
    assert client.get("/campaigns/waits").status_code == 200
