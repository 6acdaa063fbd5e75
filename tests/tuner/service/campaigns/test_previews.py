from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from service_client import served

from results.store.store import Store
from tuner.service.config import LimitsTable, ServiceConfig

CAMPAIGNS = "/api/v1/campaigns"
QUICK = {"kind": "tune", "space": "quick", "budget": "10m", "set": {"N": [400], "NB": [32, 64]}}
ON_KRONOS: dict[str, Any] = {
    "kind": "tune",
    "space": "kronos",
    "cluster": "kronos",
    "budget": "2h",
    "set": {"N": [5000]},
}


def preview(client: TestClient, status: int = 200, **changes: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/previews", json={**QUICK, **changes})
    assert answer.status_code == status, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_preview_counts_the_space_and_hands_in_nothing(client: TestClient) -> None:
    seen = preview(client, **ON_KRONOS)
    half = preview(client, **{**ON_KRONOS, "set": {"N": [5000], "NB": [128]}})
    assert 0 < half["points"] < seen["points"]
    assert client.get("/api/v1/queue").json() == {"running": [], "queued": [], "paused": [], "ended_early": []}


def test_the_budget_is_what_a_campaign_takes(client: TestClient) -> None:
    seen = preview(client)
    assert (seen["limits"], seen["longest_s"], seen["machine_s"]) == ("10 min of wall time", 600, 600)
    assert (seen["simulated"], seen["usd"], seen["ahead"], seen["wait_s"]) == (False, None, [], 0)


def test_price_and_power_tell_what_it_costs(client: TestClient) -> None:
    """35064 hours are four years, and a kilowatt-hour costs $0.25."""
    assert preview(client, budget="1h", price_usd=35064)["usd"] == 1
    assert preview(client, budget="1h", power_w=4000)["usd"] == 1
    assert preview(client, budget="2h", power_w=4000, price_usd=35064)["usd"] == 4


def test_the_time_of_a_simulation_is_that_of_its_cluster(client: TestClient) -> None:
    seen = preview(client, **ON_KRONOS)
    assert (seen["simulated"], seen["longest_s"], seen["machine_s"]) == (True, None, 7200)
    assert seen["usd"] > 0


def test_what_is_started_first_is_told_with_how_long_it_takes(client: TestClient) -> None:
    for name in ("one", "two"):
        client.post(CAMPAIGNS, json={**QUICK, "name": name})
    assert (preview(client)["ahead"], preview(client)["wait_s"]) == (["one", "two"], 1200)
    assert preview(client, priority=5)["ahead"] == []
    client.post(CAMPAIGNS, json={**QUICK, "name": "three", "budget": None, "trials": 5})
    assert preview(client)["wait_s"] is None


def test_a_preview_is_refused_to_whom_the_campaign_would_be(store: Store, tmp_path: Path) -> None:
    """Its priority, or the number of campaigns that wait for one caller."""
    full = ServiceConfig(limits=LimitsTable(waiting_of_one=1))
    with served(store, tmp_path, full) as client:
        assert client.post(CAMPAIGNS, json=QUICK).status_code == 201
        for address in ("/api/v1/previews", CAMPAIGNS):
            assert client.post(address, json=QUICK).status_code == 429
