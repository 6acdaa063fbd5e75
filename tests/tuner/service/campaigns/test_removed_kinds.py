"""A campaign of a kind that services have no more: it is shown, ends no other, and fails with a sentence."""

import platform

import pytest
from fastapi.testclient import TestClient

from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignOrder, QueueState
from results.store.store import Store
from tuner.service.campaigns.offered import Offers
from tuner.service.campaigns.process import ProcessRequest, work_on
from tuner.stopping import StopRequest

SENTENCE = "a service has no campaigns of kind predict any more: run `hpltune predict` on a machine"


@pytest.fixture
def old(store: Store) -> str:
    """A campaign that an older service took, at work."""
    document = {"kind": "predict", "designs": {"base": "kronos", "design": [{"name": "half"}]}}
    store.queue.add(CampaignOrder("old", "predict", document, (platform.node(),), "ada"))
    store.queue.claim("old")
    return "old"


def test_it_fails_with_a_sentence(store: Store, old: str) -> None:
    request = ProcessRequest(old, Lease.mine(), store.place, Offers(), lambda _now: None)
    assert work_on(request, lambda _event: None, StopRequest()) is QueueState.FAILED
    entry = store.queue.find(old)
    assert entry is not None
    assert entry.reason == SENTENCE


def test_each_answer_that_reads_it_is_given(client: TestClient, old: str) -> None:
    assert "designs" in client.get(f"/campaigns/{old}").text
    assert client.get("/").status_code == client.get("/api/v1/queue").status_code == 200
    assert client.get(f"/api/v1/queue/{old}").json()["document"]["kind"] == "predict"
    result = client.get(f"/api/v1/printed/campaigns/{old}/result")
    assert (result.status_code, result.json()["detail"]) == (409, f"{SENTENCE}.")
    again = client.post(f"/api/v1/campaigns/{old}/clone", json={"name": "again"})
    assert (again.status_code, again.json()["errors"][0]["path"]) == (422, "kind")
    seen = client.post("/api/v1/previews", json={"kind": "tune", "space": "quick"})
    assert (seen.json()["ahead"], seen.json()["wait_s"]) == ([old], None)
