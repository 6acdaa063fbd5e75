"""Who changed something, signed in or was refused is noted."""

import pytest
from as_user import Run
from fastapi.testclient import TestClient
from service_client import bearer

from results.store.service.tokens import AccessScope
from results.store.store import Store

AUDIT = "/api/v1/audit"


@pytest.fixture
def tokens(store: Store) -> dict[str, str]:
    """A token of each scope, by its name."""
    return {scope: store.tokens.create(scope, scope, None)[1] for scope in AccessScope}


def actions(client: TestClient, tokens: dict[str, str]) -> list[tuple[str, str, str, int]]:
    """What was noted, oldest first."""
    page = client.get(AUDIT, headers=bearer(tokens["admin"])).json()
    return [(one["who"], one["action"], one["target"], one["status"]) for one in reversed(page["deeds"])]


def test_what_was_done_is_noted_with_who_did_it(client: TestClient, tokens: dict[str, str]) -> None:
    client.post("/api/v1/campaigns/monday/pause", headers=bearer(tokens["run"]))
    client.get("/api/v1/campaigns", headers=bearer(tokens["run"]))
    assert actions(client, tokens) == [("run", "POST /api/v1/campaigns/{name}/pause", "monday", 404)]


def test_the_audit_log_is_asked_for_by_who_what_and_when(client: TestClient, tokens: dict[str, str]) -> None:
    for scope in ("run", "admin"):
        client.post("/api/v1/campaigns/monday/pause", headers=bearer(tokens[scope]))

    def found(**asked: str) -> list[str]:
        page = client.get(AUDIT, params=asked, headers=bearer(tokens["admin"])).json()
        return [one["who"] for one in page["deeds"]]

    assert found(who="RU") == ["run"]
    assert found(what="MONDAY") == found(since="2020-01-01T00:00:00Z") == ["admin", "run"]
    assert found(what="revoke") == found(until="2020-01-01T00:00:00Z") == []


def test_refusals_and_signing_in_are_noted_with_their_sentence(client: TestClient, tokens: dict[str, str]) -> None:
    client.get("/api/v1/campaigns")
    client.post("/api/v1/campaigns/monday/pause", headers=bearer(tokens["read"]))
    client.post("/sign-in", data={"token": "hpltune_wrong"})
    client.post("/sign-in", data={"token": tokens["read"], "next": "/audit?what=x"})
    client.cookies.clear()
    assert actions(client, tokens) == [
        ("", "GET /api/v1/campaigns", "", 401),
        ("read", "POST /api/v1/campaigns/monday/pause", "", 403),
        ("", "POST /sign-in", "", 403),
        ("read", "POST /sign-in", "", 303),
    ]
    page = client.get(AUDIT, headers=bearer(tokens["admin"])).json()
    assert page["deeds"][-1]["detail"].startswith("This service needs a token")


def test_no_token_is_in_it(client: TestClient, store: Store, tokens: dict[str, str]) -> None:
    token = tokens["run"]
    client.post(f"/api/v1/campaigns/{token}/pause?token={token}", headers=bearer(token))
    client.get(f"/{token}")
    noted = store.audit.newest(10)
    assert len(noted) == 2
    assert token not in str(noted)
    assert "hpltune_…" in str(noted)


def test_strangers_cannot_fill_it(client: TestClient, store: Store, tokens: dict[str, str]) -> None:
    for _ in range(30):
        assert client.get("/api/v1/campaigns").status_code == 401
    assert len(store.audit.newest(100)) == 10
    assert tokens


def test_only_an_admin_reads_it_in_pages(client: TestClient, tokens: dict[str, str]) -> None:
    for name in ("a", "b", "c"):
        client.post(f"/api/v1/campaigns/{name}/pause", headers=bearer(tokens["run"]))
    assert client.get(AUDIT, headers=bearer(tokens["run"])).status_code == 403
    first = client.get(AUDIT, params={"limit": 2}, headers=bearer(tokens["admin"])).json()
    rest = client.get(AUDIT, params={"cursor": first["next_cursor"]}, headers=bearer(tokens["admin"])).json()
    assert [one["target"] for one in first["deeds"]] == ["", "c"]
    assert [one["target"] for one in rest["deeds"]] == ["b", "a"]
    assert client.get(AUDIT, params={"cursor": "x"}, headers=bearer(tokens["admin"])).status_code == 400


def test_what_the_command_line_does_with_tokens_is_noted(hpltune: Run) -> None:
    for arguments in (("create", "ada", "--scope", "run", "--expires", "never"), ("revoke", "ada")):
        assert hpltune("token", *arguments, "--db", "x.db").returncode == 0
    with Store.open("x.db") as store:
        noted = [row.noted for row in reversed(store.audit.newest(10))]
    assert [(done.action, done.target, done.address) for done in noted] == [
        ("token create", "ada", ""),
        ("token revoke", "ada", ""),
    ]
    assert noted[0].detail == "scope run, expires never"
