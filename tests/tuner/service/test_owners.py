"""Whose a campaign is stands in lists, and what one campaign may take has a limit."""

from pathlib import Path

from fastapi.testclient import TestClient
from record_builders import a_study
from service_client import served

from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store
from tuner.service.config import LimitsTable, ServiceConfig


def test_lists_tell_whose_a_campaign_is_and_show_those_of_one(client: TestClient, store: Store) -> None:
    store.create_study(a_study("of-nobody"))
    for name, owner in (("of-ada", "ada"), ("of-bob", "bob")):
        store.queue.add(CampaignOrder(name, "tune", {"kind": "tune"}, ("here",), owner, 0))
        store.create_study(a_study(name))
    told = client.get("/api/v1/campaigns").json()["campaigns"]
    owners = {one["name"]: one["handed_in_by"] for one in told}
    assert owners == {"of-nobody": None, "of-ada": "ada", "of-bob": "bob"}
    assert client.get("/api/v1/campaigns/of-ada").json()["handed_in_by"] == "ada"
    assert [one["name"] for one in client.get("/api/v1/campaigns?by=ada").json()["campaigns"]] == ["of-ada"]
    page = client.get("/?by=ada").text
    assert ">of-ada</a></td>" in page
    assert '<td class="last">ada</td>' in page
    assert "of-bob</a></td>" not in page
    assert 'href="/?by=' in client.get("/").text
    assert "handed in by ada." in client.get("/campaigns/of-ada").text
    assert "Handed in by" not in client.get("/campaigns/of-nobody").text


def test_the_limit_of_a_budget_is_the_operators(tmp_path: Path, store: Store) -> None:
    with served(store, tmp_path, ServiceConfig(limits=LimitsTable(most_budget=1.0))) as client:
        answer = client.post("/api/v1/campaigns", json={"kind": "tune", "budget": "61m"})
        assert (answer.status_code, "a campaign may ask for 1 h" in answer.text) == (422, True), answer.text
        assert client.post("/api/v1/campaigns", json={"kind": "tune", "budget": "60m"}).status_code == 201
