import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from explain_builders import keep
from fastapi.testclient import TestClient
from record_builders import START, a_study, finished
from sqlalchemy import update

from results.record import TrialState
from results.store.schema import CAMPAIGNS as CAMPAIGNS_TABLE
from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store

CAMPAIGNS = "/api/v1/campaigns"
Keep = Callable[..., None]


@pytest.fixture
def kept(store: Store) -> Keep:
    """Keeps a campaign with trials of these rates, None for one that failed."""

    def keep_one(name: str, *rates: float | None, age: int = 0, state: str = "complete") -> None:
        trials = [
            finished(number, rate, name, key=f"k{number}", params={"NB": 64 * number, "grid": "1x2"})
            if rate
            else finished(number, None, name, key=f"k{number}", state=TrialState.FAILED, passed=None)
            for number, rate in enumerate(rates, 1)
        ]
        keep(store, a_study(name, created_at=START - timedelta(days=age)), trials)
        store.end_study(name, state)  # type: ignore[arg-type]

    return keep_one


def names(page: dict[str, Any]) -> list[str]:
    return [one["name"] for one in page["campaigns"]]


@pytest.mark.heavy
def test_campaigns_come_newest_first_with_what_they_found(client: TestClient, kept: Keep) -> None:
    kept("old", None, age=2)
    kept("new", 70.0, 75.0, None)
    page = client.get(CAMPAIGNS).json()
    assert names(page) == ["new", "old"]
    newest, oldest = page["campaigns"]
    assert (newest["trials"], newest["failed"], newest["state"]) == (3, 1, "complete")
    assert newest["best_gflops"] == pytest.approx(75.0)
    assert oldest["best_gflops"] is None
    assert page["next_cursor"] is None
    assert client.get(f"{CAMPAIGNS}/new").json() == newest


def test_pages_stay_in_place_when_a_campaign_begins_in_between(client: TestClient, kept: Keep) -> None:
    for age in range(1, 6):
        kept(f"c{age}", age=age)
    first = client.get(CAMPAIGNS, params={"limit": 2}).json()
    kept("c0")
    second = client.get(CAMPAIGNS, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    third = client.get(CAMPAIGNS, params={"limit": 2, "cursor": second["next_cursor"]}).json()
    assert [names(first), names(second), names(third)] == [["c1", "c2"], ["c3", "c4"], ["c5"]]
    assert third["next_cursor"] is None


def test_campaigns_are_filtered_by_how_they_stand(client: TestClient, kept: Keep) -> None:
    kept("whole")
    kept("broken", state="interrupted", age=1)
    assert names(client.get(CAMPAIGNS, params={"state": "interrupted"}).json()) == ["broken"]
    assert names(client.get(CAMPAIGNS, params={"state": "running"}).json()) == []


def test_a_campaign_whose_trials_all_failed_has_failed_however_it_ended(client: TestClient, kept: Keep) -> None:
    kept("stopped", None, None, state="interrupted", age=3)
    kept("ended", None, age=2)
    kept("half", None, 70.0, state="interrupted", age=1)
    kept("empty", state="interrupted")
    states = {one["name"]: one["state"] for one in client.get(CAMPAIGNS).json()["campaigns"]}
    assert states == {"stopped": "failed", "ended": "failed", "half": "interrupted", "empty": "interrupted"}
    assert client.get(f"{CAMPAIGNS}/ended").json()["state"] == "failed"
    for state, found in (("failed", ["ended", "stopped"]), ("interrupted", ["empty", "half"]), ("complete", [])):
        assert names(client.get(CAMPAIGNS, params={"state": state}).json()) == found
        assert re.findall(r'name="studies" value="([^"]+)"', client.get("/", params={"state": state}).text) == found


@pytest.mark.parametrize("state", ["queued", "running", "paused", "failed", "cancelled"])
def test_the_filter_by_state_finds_what_the_list_shows_of_the_queue(
    client: TestClient, kept: Keep, store: Store, state: str
) -> None:
    store.queue.add(CampaignOrder("monday", "tune", {"kind": "tune"}, ("here",), "somebody", 0))
    kept("monday", 70.0)
    kept("tuesday", 70.0, age=1)
    with store.lists.database.writing() as connection:
        connection.execute(update(CAMPAIGNS_TABLE).values(state=state))
    (shown, _) = client.get(CAMPAIGNS).json()["campaigns"]
    assert shown["state"] == state
    assert names(client.get(CAMPAIGNS, params={"state": state}).json()) == ["monday"]
    assert names(client.get(CAMPAIGNS, params={"state": "complete"}).json()) == ["tuesday"]


def test_pages_of_trials_hold_each_once_in_order(client: TestClient, kept: Keep) -> None:
    kept("one", 70.0, None, 75.0)
    first = client.get(f"{CAMPAIGNS}/one/trials", params={"limit": 2}).json()
    rest = client.get(f"{CAMPAIGNS}/one/trials", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [trial["number"] for trial in (*first["trials"], *rest["trials"])] == [1, 2, 3]
    assert first["trials"][1]["state"] == "failed"
    assert rest["trials"][0]["params"] == {"NB": 192, "grid": "1x2"}
    assert rest["next_cursor"] is None


def test_files_of_a_campaign_can_be_taken_home(client: TestClient, kept: Keep) -> None:
    kept("one", 70.0, 75.0)
    of_one = {name: client.get(f"{CAMPAIGNS}/one/{name}") for name in ("HPL.dat", "trials.csv", "trials.jsonl")}
    assert all("attachment" in answer.headers["content-disposition"] for answer in of_one.values())
    assert of_one["HPL.dat"].text.startswith("HPLinpack benchmark input file")
    assert len(of_one["trials.csv"].text.splitlines()) == 3
    assert [json.loads(line)["gflops"] for line in of_one["trials.jsonl"].text.splitlines()] == [70.0, 75.0]


def test_a_best_run_whose_parameters_are_not_all_known_has_no_hpl_dat(client: TestClient, store: Store) -> None:
    keep(store, a_study("one"), [finished(1, study="one", hpl=None, hpl_dat="")])
    answer = client.get(f"{CAMPAIGNS}/one/HPL.dat")
    assert answer.status_code == 409
    assert "has no HPL.dat" in answer.json()["detail"]


def test_what_is_shipped_is_listed(client: TestClient) -> None:
    spaces = {one["name"]: one for one in client.get("/api/v1/spaces").json()}
    assert spaces["default"]["description"]
    assert spaces["kronos"]["made_for"] == "kronos"
    clusters = {one["name"]: one for one in client.get("/api/v1/virtual-clusters").json()}
    assert clusters["kronos"]["rpeak_gflops"] > 0


def test_the_description_tells_what_answers_are(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    told = paths["/api/v1/campaigns"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert told == {"$ref": "#/components/schemas/CampaignPage"}
    csv = paths["/api/v1/campaigns/{name}/trials.csv"]["get"]["responses"]["200"]["content"]
    assert list(csv) == ["text/csv; charset=utf-8"]
    assert "/campaigns/{name}" not in paths


def test_a_file_that_was_measured_is_told_without_its_folder(client: TestClient, store: Store) -> None:
    keep(store, a_study("run-HPL-1", space_name="/home/ana/private/HPL.dat"), [finished(1, 75.0, "run-HPL-1")])
    assert client.get(f"{CAMPAIGNS}/run-HPL-1").json()["space"] == "HPL.dat"
