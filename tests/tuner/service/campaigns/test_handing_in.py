from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from record_builders import a_study, begun, finished
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


def test_a_campaign_is_queued_under_its_name(client: TestClient) -> None:
    answer = client.post(CAMPAIGNS, json={**QUICK, "name": "monday", "priority": 7, "set": {"NB": [128, 192]}})
    assert (answer.status_code, answer.headers["location"]) == (201, f"{CAMPAIGNS}/monday")
    told = answer.json()
    assert (told["state"], told["position"], told["priority"]) == ("queued", 1, 7)
    assert told["document"] == {
        "kind": "tune",
        "name": "monday",
        "space": "quick",
        "trials": 3,
        "set": {"NB": [128, 192]},
    }
    assert client.get("/api/v1/queue/monday").json() == told
    assert [entry["name"] for entry in client.get("/api/v1/queue").json()["queued"]] == ["monday"]


def test_a_campaign_without_a_name_is_called_after_its_space(client: TestClient) -> None:
    assert [hand_in(client)["name"] for _ in range(3)] == ["quick-1", "quick-2", "quick-3"]


def test_a_repeated_request_with_a_key_hands_in_one_campaign(client: TestClient) -> None:
    marked = {"Idempotency-Key": "9f2c"}
    names = {client.post(CAMPAIGNS, json=QUICK, headers=marked).json()["name"] for _ in range(3)}
    assert names == {"quick-1"}
    other = client.post(CAMPAIGNS, json={**QUICK, "trials": 4}, headers=marked)
    assert (other.status_code, "take a new key" in other.json()["detail"]) == (409, True)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "path", "sentence"),
    [
        ({"space": "quik"}, "space", "there is no space 'quik' here: did you mean quick?"),
        ({"space": "../../home/ada/my.toml"}, "space", "there is no space"),
        ({"cluster": "kronoss"}, "cluster", "did you mean kronos?"),
        ({"cluster": "/etc/passwd"}, "cluster", "there is no cluster"),
        ({"program": "/bin/sh"}, "program", "the service offers none"),
        ({"blas": ["/lib/evil.so"]}, "blas", "there is no BLAS library"),
        ({"budget": "soon"}, "budget", "not a duration; write for example 90s, 5m or 1h30m"),
        ({"budget": "3"}, "budget", "a duration needs a unit"),
        ({"run_time": "x"}, "run_time", "not a duration"),
        ({"trials": 0}, "trials", "write 1 or more"),
        ({"set": {"NB": ["wide"]}}, "set.NB", "expected a whole number"),
        ({"set": {"NBB": [1]}}, "set.NBB", "did you mean NB?"),
        ({"set": {"NB": []}}, "set.NB", "a list of values, 1 to 1,000"),
        ({"set": {"mpi.btl": "tcp"}}, "set.mpi.btl", "the service lets no document set this parameter"),
        ({"engine": "hpll"}, "engine", "did you mean hpl"),
        ({"points": 3}, "points", "add engine grid"),
        ({"objective": "usd-per-gflops"}, "objective", "price_usd"),
        ({"warm_start": ["/etc/passwd"]}, "warm_start", "there is no study …/passwd"),
        ({"from_simulation": "nope"}, "from_simulation", "there is no study nope"),
        ({"cluster": "kronos", "blas": ["openblas"]}, "blas", "for real machines"),
        ({"parallel": 2}, "parallel", "name a real cluster with cluster"),
        ({"name": "a/b"}, "name", "without / and #"),
        ({"name": ""}, "name", "printable"),
        ({"colour": "red"}, "colour", "there is no such field here"),
        ({"modules": ["foss/2025b"]}, "modules", "there is no such field here"),
        ({"kind": "race"}, "kind", "'tune', 'check'"),
        ({"set": {"N": [[1]]}}, "set.N", "a value or a list of values"),
        ({"set": {"N": {"low": 1}}}, "set.N", "a value or a list of values"),
        ({"kind": "check", "space": "quick", "baseline": "x"}, "space", "there is no such field"),
    ],
)
def test_what_is_wrong_in_a_document_is_told_with_its_place(
    client: TestClient, changes: dict[str, Any], path: str, sentence: str
) -> None:
    told = hand_in(client, 422, **changes)
    wrong = {error["path"]: error["sentence"] for error in told["errors"]}
    assert len(wrong) == len(told["errors"]), "each place once"
    assert sentence in wrong[path]
    assert path in told["detail"]
    assert "--" not in told["detail"]
    assert client.get("/api/v1/queue").json() == {"running": [], "queued": [], "paused": [], "ended_early": []}


def test_a_check_needs_a_measured_study(client: TestClient, store: Store) -> None:
    def check(baseline: str) -> tuple[int, Any]:
        answer = client.post(CAMPAIGNS, json={"kind": "check", "baseline": baseline})
        return answer.status_code, answer.json()

    (unknown,) = check("nope")[1]["errors"]
    assert unknown == {"path": "baseline", "sentence": "there is no study nope: /api/v1/campaigns lists all"}
    store.create_study(a_study("empty"))
    assert "no valid run" in check("empty")[1]["errors"][0]["sentence"]
    store.create_study(a_study("measured"))
    store.finish(finished(store.begin(begun("measured")), study="measured"))
    code, told = check("measured")
    assert (code, told["name"]) == (201, "check-measured-1")
    assert told["document"] == {"kind": "check", "baseline": "measured"}


def test_a_comparison_of_libraries_and_a_check_of_facts_are_queued(client: TestClient) -> None:
    told = hand_in(client, kind="blas", space="blas", blas=["openblas", "blis"], name="fair")
    assert told["document"] == {"kind": "blas", "name": "fair", "blas": ["openblas", "blis"], "trials": 3}
    checked = client.post(CAMPAIGNS, json={"kind": "nodes", "facts": True, "name": "facts", "baseline": None})
    assert checked.json()["document"] == {"kind": "nodes", "facts": True, "name": "facts", "baseline": None}
    refused = client.post(CAMPAIGNS, json={"kind": "nodes", "soak": "2h"})
    assert (refused.status_code, "soak" in refused.text) == (422, True)


def test_a_check_of_the_nodes_before_a_search_needs_a_cluster_of_the_service(client: TestClient) -> None:
    told = hand_in(client, 422, nodes_check="drop")
    assert told["errors"][0]["path"] == "nodes_check"
    assert "measures the nodes of a real cluster" in told["errors"][0]["sentence"]


def test_a_campaign_is_paused_resumed_and_cancelled(client: TestClient) -> None:
    hand_in(client, name="monday")
    states = [client.post(f"{CAMPAIGNS}/monday/{verb}").json()["state"] for verb in ("pause", "resume", "cancel")]
    assert states == ["paused", "queued", "cancelled"]
    listed = client.get("/api/v1/queue").json()
    assert [entry["name"] for entry in listed.pop("ended_early")] == ["monday"]
    assert listed == {"running": [], "queued": [], "paused": []}
    refused = client.post(f"{CAMPAIGNS}/monday/pause")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "Campaign monday cannot be paused: it is cancelled.",
    )


def test_a_higher_priority_comes_first(client: TestClient) -> None:
    for name in ("first", "second"):
        hand_in(client, name=name)
    assert client.patch("/api/v1/queue/second", json={"priority": 5}).json()["position"] == 1
    assert client.patch("/api/v1/queue/second", json={"priority": 500}).status_code == 422


def test_a_clone_differs_where_it_is_asked_to(client: TestClient) -> None:
    hand_in(client, name="monday", set={"NB": 128})
    clone = client.post(f"{CAMPAIGNS}/monday/clone", json={"trials": 9})
    assert clone.status_code == 201
    assert clone.json()["document"] == {"kind": "tune", "space": "quick", "trials": 9, "set": {"NB": 128}}
    wrong = client.post(f"{CAMPAIGNS}/monday/clone", json={"trials": "many"})
    assert (wrong.status_code, wrong.json()["errors"][0]["path"]) == (422, "trials")
    taken = client.post(f"{CAMPAIGNS}/monday/clone", json={"name": "monday"})
    assert (taken.status_code, taken.json()["detail"]) == (409, "Campaign monday exists already: choose another name.")


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "clone"])
def test_a_study_of_the_command_line_is_changed_there(client: TestClient, store: Store, verb: str) -> None:
    assert client.post(f"{CAMPAIGNS}/local/{verb}", json={}).status_code == 404
    store.create_study(a_study("local"))
    refused = client.post(f"{CAMPAIGNS}/local/{verb}", json={})
    assert (refused.status_code, "begun by the command line" in refused.json()["detail"]) == (409, True)


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
