"""Pages of tokens and the audit log: who sees them, what they say, and their buttons."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
import time_machine
from fastapi.testclient import TestClient
from service_client import bearer

from results.store.service.audit import AuditedAction
from results.store.service.tokens import AccessScope, TokenState
from results.store.store import Store

NOW = datetime.now(UTC)
OF_ADMINS = ("/tokens", "/audit")


@pytest.fixture
def people(store: Store) -> dict[str, dict[str, str]]:
    """Headers of people, by name."""
    scopes = {"ada": AccessScope.RUN, "bob": AccessScope.RUN, "eve": AccessScope.READ, "root": AccessScope.ADMIN}
    return {name: bearer(store.tokens.create(name, scope, None)[1]) for name, scope in scopes.items()}


def send(client: TestClient, page: str, address: str, headers: Mapping[str, str] | None = None, **fields: str) -> int:
    """Send a form of a page, as a browser does; give the status."""
    status: int = sent_to(client, page, address, headers, fields).status_code
    return status


def sent_to(
    client: TestClient, page: str, address: str, headers: Mapping[str, str] | None, fields: Mapping[str, str]
) -> Any:
    """Send a form of a page, as a browser does."""
    found = re.search(r'name="form_token" value="([^"]+)"', client.get(page, headers=headers).text)
    assert found
    return client.post(address, data={"form_token": found[1], **fields}, headers=headers)


@pytest.mark.heavy
def test_the_pages_of_admins_are_shown_to_admins_only(client: TestClient, people: dict[str, dict[str, str]]) -> None:
    for name, headers in people.items():
        seen = [address for address in OF_ADMINS if client.get(address, headers=headers).status_code == 200]
        assert seen == (list(OF_ADMINS) if name == "root" else [])
        page = client.get("/compare", headers=headers).text
        assert ('href="/tokens"' in page) == (name == "root")


def test_a_form_that_is_not_of_our_page_changes_nothing(client: TestClient, store: Store) -> None:
    root = bearer(store.tokens.create("root", AccessScope.ADMIN, None)[1])
    store.tokens.create("ada", AccessScope.RUN, None)
    for fields in ({"do": "it"}, {"do": "it", "form_token": "guessed"}):
        assert client.post("/tokens/ada/revoke", data=fields, headers=root).status_code == 403
    ada = next(one for one in store.tokens.entries() if one.name == "ada")
    assert ada.revoked_at is None


@pytest.mark.heavy
def test_an_admin_revokes_a_token(client: TestClient, store: Store, people: dict[str, dict[str, str]]) -> None:
    page = client.get("/tokens", headers=people["root"]).text
    assert page.count("Yes, revoke it") == len(people)
    assert page.count("You came in with it") == 1
    assert "hpltune_" not in page
    assert send(client, "/tokens", "/tokens/ada/revoke", people["root"]) == 303
    entry = next(one for one in store.tokens.entries() if one.name == "ada")
    assert entry.state(datetime.now(UTC)) is TokenState.REVOKED
    assert client.get("/compare", headers=people["ada"]).status_code == 401
    assert send(client, "/tokens", "/tokens/nobody/revoke", people["root"]) == 404


@pytest.mark.heavy
def test_the_audit_log_says_in_words_who_did_what(client: TestClient, store: Store) -> None:
    store.tokens.create("ada", AccessScope.RUN, None)
    root = bearer(store.tokens.create("root", AccessScope.ADMIN, None)[1])
    send(client, "/tokens", "/tokens/ada/revoke", root)
    client.post("/tokens/ada/revoke", data={"form_token": "guessed"}, headers=root)
    page = client.get("/audit", headers=root).text
    said = "Let a token open nothing from now on"
    assert f'{said}<br><code class="caption">POST /tokens/{{name}}/revoke</code>' in page
    assert "<td>ada</td>" in page
    assert '<span class="state complete">done</span>' in page
    assert '<span class="state failed">refused</span> This form is not yours or too old' in page


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["pause", "revoke", "old"]),
        ({"who": "ADA"}, ["pause"]),
        ({"what": "pause, resume"}, ["pause"]),
        ({"what": "token"}, ["revoke"]),
        ({"what": "old"}, ["old"]),
        ({"since": f"{NOW:%Y-%m-%d}"}, ["pause", "revoke"]),
        ({"until": "2020-02-03"}, ["old"]),
        ({"since": "2020-02-03", "until": "2020-02-03", "who": "eve"}, ["old"]),
        ({"who": "nobody"}, []),
        ({"what": "%"}, []),
    ],
)
def test_the_audit_log_is_filtered_by_who_what_and_when(
    client: TestClient, store: Store, filters: dict[str, str], found: list[str]
) -> None:
    with time_machine.travel(datetime(2020, 2, 3, 23, 59, tzinfo=UTC), tick=False):
        store.audit.note(AuditedAction("eve", "", "sign in", "old", 303))
    store.audit.note(AuditedAction("root", "", "token revoke", "revoke", 200))
    store.audit.note(AuditedAction("ada", "::1", "POST /campaigns/{name}/do", "pause", 303))
    page = client.get("/audit", params=filters).text
    assert re.findall(r"<td>(pause|revoke|old)</td>", page) == found
    assert ("No action is like that" in page) == (not found)
    for name, text in filters.items():
        assert re.search(rf'name="{name}" value="{text}"', page)


def test_older_actions_of_a_filter_are_of_that_filter(client: TestClient, store: Store) -> None:
    for number in range(101):
        store.audit.note(AuditedAction("ada", "", "sign in", f"t{number}", 303))
        store.audit.note(AuditedAction("bob", "", "sign in", "x", 303))
    older = re.search(r'href="(/audit\?[^"]*cursor=[^"]+)"', client.get("/audit?who=ada").text)
    assert older
    page = client.get(unescape(older[1])).text
    assert re.findall(r"<td>(t\d+|x)</td>", page) == ["t0"]
    assert 'href="/audit?who=ada"' in page
