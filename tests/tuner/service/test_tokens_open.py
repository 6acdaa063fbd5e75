"""Who may ask, by a token or by being on this machine."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_client import bearer, client_of, of_client

from results.store.service.tokens import AccessScope, TokenBook
from results.store.store import Store

CAMPAIGNS = "/api/v1/campaigns"


@pytest.fixture
def token(store: Store) -> str:
    """A token of ada's, who may read."""
    return store.tokens.create("ada", AccessScope.READ, None)[1]


def test_without_a_token_this_machine_is_served_and_no_other(client: TestClient) -> None:
    assert client.get(CAMPAIGNS).status_code == 200
    assert client_of(of_client(client), "::1").get(CAMPAIGNS).status_code == 200
    assert client_of(of_client(client), "::ffff:127.0.0.1").get(CAMPAIGNS).status_code == 200
    assert client_of(of_client(client), "10.0.0.7").get(CAMPAIGNS).status_code == 401


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_what_a_proxy_passes_on_unasked_is_not_of_this_machine(client: TestClient, header: str) -> None:
    assert client.get(CAMPAIGNS, headers={header: "127.0.0.1"}).status_code == 401


def test_once_there_is_a_token_everybody_needs_one(client: TestClient, token: str) -> None:
    answer = client.get(CAMPAIGNS)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="hpltune"'
    assert answer.headers["content-type"] == "application/problem+json"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.json()["detail"].startswith("This service needs a token: send `Authorization: Bearer TOKEN`")
    assert client.get(CAMPAIGNS, headers=bearer(token)).status_code == 200
    assert client_of(of_client(client), "10.0.0.7").get(CAMPAIGNS, headers=bearer(token)).status_code == 200


@pytest.mark.parametrize("address", ["/healthz", "/readyz", "/sign-in"])
def test_some_addresses_are_open_to_all(client: TestClient, token: str, address: str) -> None:
    assert client.get(address).status_code == 200
    assert token not in client.get(address).text


@pytest.mark.heavy
@pytest.mark.parametrize("address", ["/api/v1/openapi.json", "/nothing", "/sign-in/x", "//healthz", "/healthz/"])
def test_nothing_else_is(client: TestClient, token: str, address: str) -> None:
    assert client.get(address).status_code == 401
    assert client.get(address, headers=bearer(token)).status_code != 401


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "must be `Bearer`, a space and a token"),
        ("Bearer", "must be `Bearer`, a space and a token"),
        ("Basic YWRhOmFkYQ==", "must be `Bearer`, a space and a token"),
        ("Bearer hpltune_wrong", "This token is not known here"),
        ("Bearer \xff\xfe' OR 1=1", "This token is not known here"),
        ("Bearer " + "x" * 60_000, "This token is not known here"),
    ],
)
def test_a_garbled_token_is_a_sentence(client: TestClient, given: str, said: str) -> None:
    answer = client.get(CAMPAIGNS, headers=[(b"Authorization", given.encode("latin-1"))])
    assert answer.status_code == 401
    assert said in answer.json()["detail"]


def test_a_token_that_has_ended_says_how(client: TestClient, store: Store, token: str) -> None:
    _, old = store.tokens.create("bob", AccessScope.ADMIN, datetime.now(UTC) - timedelta(seconds=1))
    assert client.get(CAMPAIGNS, headers=bearer(old)).json()["detail"].startswith("The token of bob has expired")
    assert client.get(CAMPAIGNS, headers=bearer(token)).status_code == 200
    store.tokens.revoke("ada")
    answer = client.get(CAMPAIGNS, headers=bearer(token))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="hpltune", error="invalid_token"'
    assert answer.json()["detail"].startswith("The token of ada was revoked")


def test_who_may_only_read_changes_nothing(client: TestClient, token: str) -> None:
    answer = client.post(f"{CAMPAIGNS}/one/anything", headers=bearer(token), json={})
    assert answer.status_code == 403
    assert answer.json()["detail"] == "This needs scope run, and ada has only scope read."
    assert answer.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="run"'


def test_the_use_of_a_token_is_noted(client: TestClient, store: Store, token: str) -> None:
    client.get(CAMPAIGNS, headers=bearer(token))
    entry = store.tokens.find(token)
    assert entry is not None
    assert entry.used_at is not None
    assert datetime.now(UTC) - entry.used_at < timedelta(minutes=1)


def test_a_database_that_cannot_be_read_opens_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from results.errors import ResultsError

    def fail(_self: TokenBook) -> bool:
        raise ResultsError(f"{tmp_path} is gone")

    monkeypatch.setattr(TokenBook, "exist", fail)
    answer = client.get(CAMPAIGNS)
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text
