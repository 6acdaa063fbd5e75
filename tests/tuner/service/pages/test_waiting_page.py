"""The page of a campaign that was handed in, before its study begins, and its buttons."""

import re
from typing import Any

from fastapi.testclient import TestClient
from record_builders import a_study
from service_client import bearer
from sqlalchemy import update

from results.store.schema import CAMPAIGNS
from results.store.service.tokens import AccessScope
from results.store.store import Store

QUICK: dict[str, Any] = {"kind": "tune", "space": "quick", "budget": "10m", "set": {"N": [400]}, "full": True}


def hand_in(client: TestClient, name: str, **headers: str) -> None:
    answer = client.post("/api/v1/campaigns", json={**QUICK, "name": name}, headers=headers)
    assert answer.status_code == 201, answer.text


def page(client: TestClient, name: str = "first", **headers: str) -> str:
    answer = client.get(f"/campaigns/{name}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def buttons(text: str) -> list[str]:
    return re.findall(r'<button id="do-(\w+)"', text)


def form_token(client: TestClient, name: str = "first") -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', page(client, name))
    assert found
    return found[1]


def press(client: TestClient, button: str, token: str = "") -> str:
    """Press a button of the page of a campaign, and read the page to which that leads."""
    answer = client.post("/campaigns/first/do", data={"form_token": token or form_token(client), "do": button})
    assert (answer.status_code, answer.headers.get("location")) == (303, "/campaigns/first"), answer.text
    return page(client)


def test_only_its_owner_and_admins_have_buttons(client: TestClient, store: Store) -> None:
    scopes = {"ada": AccessScope.RUN, "bob": AccessScope.RUN, "eve": AccessScope.READ, "root": AccessScope.ADMIN}
    headers = {name: bearer(store.tokens.create(name, scope, None)[1]) for name, scope in scopes.items()}
    hand_in(client, "first", **headers["ada"])
    seen = {name: buttons(page(client, **header)) for name, header in headers.items()}
    assert seen == {"ada": ["pause", "cancel"], "bob": [], "eve": [], "root": ["pause", "cancel"]}
    copied = [name for name, header in headers.items() if ">Repeat<" in page(client, **header)]
    assert copied == ["ada", "bob", "root"]


def test_the_part_is_sent_again_only_where_it_has_changed(client: TestClient, store: Store) -> None:
    hand_in(client, "first")
    found = re.search(r'name="seen" value="(\w+)"', page(client))
    assert found
    address = f"/campaigns/first/waiting?seen={found[1]}"
    assert client.get(address).status_code == 204
    press(client, "pause")
    assert "It was paused" in client.get(address).text
    store.create_study(a_study("first"))
    assert client.get(address).headers["hx-refresh"] == "true"


def test_admins_can_say_that_a_process_elsewhere_is_dead(client: TestClient, store: Store) -> None:
    scopes = {"ada": AccessScope.RUN, "root": AccessScope.ADMIN}
    headers = {name: bearer(store.tokens.create(name, scope, None)[1]) for name, scope in scopes.items()}
    hand_in(client, "first", **headers["ada"])
    store.queue.claim("first")
    address = "/api/v1/campaigns/first/declare-dead"
    answer = client.post(address, headers=headers["root"])
    assert answer.status_code == 409, "it runs before our eyes"
    assert "runs on this machine: cancel the campaign" in answer.json()["detail"]
    assert "declare-dead" not in page(client, **headers["root"])
    with store.queue.database.writing() as connection:
        connection.execute(update(CAMPAIGNS).values(owner="pod-a|another boot|17|123"))
    assert "Declare process 17 on pod-a dead" in page(client, **headers["root"])
    assert client.post(address, headers=headers["ada"]).status_code == 403
    told = client.post(address, headers=headers["root"]).json()
    assert (told["state"], told["reason"]) == (
        "queued",
        "an administrator said that its process is dead; it goes on where it was",
    )


def test_the_button_of_a_dead_process_works_for_those_who_may(client: TestClient, store: Store) -> None:
    hand_in(client, "first")
    store.queue.claim("first")
    with store.queue.database.writing() as connection:
        connection.execute(update(CAMPAIGNS).values(owner="pod-a|another boot|17|123"))
    assert "It is number 1 of the queue." in press(client, "declare-dead")


def test_a_state_that_a_newer_hpltune_wrote_is_shown_and_breaks_no_page(client: TestClient, store: Store) -> None:
    hand_in(client, "first")
    hand_in(client, "second")
    with store.queue.database.writing() as connection:
        strange = update(CAMPAIGNS).where(CAMPAIGNS.c.name == "first").values(state="held", wanted="hold")
        connection.execute(strange)
    for address in ("/", "/metrics", "/campaigns/first", "/campaigns/second", "/api/v1/queue", "/api/v1/campaigns"):
        assert client.get(address).status_code == 200, address
    assert "only known to a newer hpltune" in client.get("/campaigns/first").text
    assert client.get("/api/v1/queue/first").json()["state"] == "unknown"
    refused = client.post("/api/v1/campaigns/first/cancel")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "Campaign first stands as only a newer hpltune knows: change it there.",
    )
