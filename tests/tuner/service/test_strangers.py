"""What people hand in is bounded, and no request of anybody takes the service from the others."""

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from needs import needs
from record_builders import a_study
from running_service import OpenService, service_in_thread
from service_client import bearer
from waiting import PATIENCE_S

from results.store.service.campaign_entry import QueueState
from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.messages.plain_paths import without_paths
from tuner.service import middleware
from tuner.service.authentication import Authenticator
from tuner.service.campaigns import expected_tuning

CAMPAIGNS, PREVIEWS = "/api/v1/campaigns", "/api/v1/previews"
QUICK = {"kind": "tune", "space": "quick", "trials": 3}
_PATH = re.compile(r"(?<![\w:/.])(?!/api/)(?:~|/[^\s/:;,()'\"`])[^\s:;,()'\"`]*/([^\s/:;,()'\"`]*)")
"""A path as one pattern; it takes the square of the time of a text's length."""


@given(st.text(alphabet="ab/~.: ,('_-é", max_size=40))
def test_paths_are_taken_out_as_one_pattern_would(text: str) -> None:
    assert without_paths(text) == _PATH.sub(lambda found: f"…/{found[1]}", text)


@pytest.mark.parametrize("letters", ["~", "/", "a/", "~/", "/a", " ", "./"])
def test_paths_are_taken_out_of_a_long_text(letters: str) -> None:
    assert without_paths(letters * 500_000)


def unbounded(schema: Any, where: str, whole: Any) -> Iterator[str]:
    """The places in a schema where a text or a list may be as long as one wants."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from unbounded(whole["components"]["schemas"][name], f"{where}({name})", whole)
        return
    for word in ("anyOf", "oneOf", "allOf"):
        for number, part in enumerate(schema.get(word, ())):
            yield from unbounded(part, f"{where}|{number}", whole)
    if schema.get("type") == "string" and not {"maxLength", "enum", "const", "format", "pattern"} & schema.keys():
        yield where
    if schema.get("type") == "array":
        if "maxItems" not in schema:
            yield f"{where}[]"
        yield from unbounded(schema.get("items", {}), f"{where}[]", whole)
    for name, part in schema.get("properties", {}).items():
        yield from unbounded(part, f"{where}.{name}", whole)
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        if "maxProperties" not in schema:
            yield f"{where}.*"
        yield from unbounded(more, f"{where}.*", whole)


def test_no_text_and_no_list_of_a_request_is_without_a_limit(client: TestClient) -> None:
    whole = client.get("/api/v1/openapi.json").json()
    found = set()
    for path, operations in whole["paths"].items():
        for method, told in operations.items():
            for parameter in told.get("parameters", ()):
                found |= set(unbounded(parameter["schema"], f"{method} {path} {parameter['name']}", whole))
            for content in told.get("requestBody", {}).get("content", {}).values():
                found |= set(unbounded(content["schema"], f"{method} {path}", whole))
    assert sorted(found) == []


@pytest.mark.heavy
@pytest.mark.parametrize("text", ["x" * 201, "\ud800", "a\x00b", "\x1b[2J"], ids=["long", "half", "nul", "escape"])
@pytest.mark.parametrize("key", ["name", "from_simulation", "space", "engine", "cluster"])
def test_a_text_that_nobody_needs_is_refused_with_a_sentence(client: TestClient, key: str, text: str) -> None:
    content = str({**QUICK, key: "TEXT"}).replace("'", '"').replace("TEXT", ascii(text)[1:-1].replace("\\x", "\\u00"))
    for address in (CAMPAIGNS, PREVIEWS):
        answer = client.post(address, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422, answer.text
        assert f"{key}: " in answer.json()["detail"]


def test_a_large_space_is_not_counted_beforehand(client: TestClient) -> None:
    document = {**QUICK, "set": {"N": list(range(1000, 1200)), "NB": list(range(8, 58))}}
    answer = client.post(PREVIEWS, json=document)
    assert answer.status_code == 200, answer.text
    assert answer.json()["points"] is None
    assert "There are too many combinations to count them beforehand." in answer.json()["cautions"]


def test_one_space_is_counted_at_a_time(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_tuning, "PATIENT_S", 0.01)
    with expected_tuning.COUNTING:
        answer = client.post(PREVIEWS, json={**QUICK, "cluster": "kronos"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["points"] is None
    assert any("the service counts the spaces of others now" in caution for caution in answer.json()["cautions"])


def test_what_one_document_names_stands_in_no_other_preview(client: TestClient) -> None:
    client.post(PREVIEWS, json={**QUICK, "set": {"program": "ghost"}})
    assert "ghost" not in client.post(PREVIEWS, json=QUICK).text


@pytest.mark.parametrize(
    "host",
    [
        "localhost/metrics?",
        "localhost/healthz?",
        "evil.example@localhost",
        "localhost:99999",
        "localhost:x",
        "localhost ",
        "[::1",
        "localhost#",
        "localhost\\x",
        "",
    ],
)
def test_a_host_that_is_more_than_a_host_is_refused(client: TestClient, store: Store, host: str) -> None:
    store.tokens.create("ada", AccessScope.READ, None)
    assert client.get(CAMPAIGNS, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("address", ["/healthz", "/", CAMPAIGNS, "/api/v1/openapi.json", "/api/v1/events"])
def test_head_answers_as_get_without_content(client: TestClient, address: str) -> None:
    answer = client.head(address)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"]


def test_only_admins_go_first(client: TestClient, store: Store) -> None:
    scopes = {"ada": AccessScope.RUN, "root": AccessScope.ADMIN}
    ada, root = (bearer(store.tokens.create(name, scope, None)[1]) for name, scope in scopes.items())
    refused = client.post(CAMPAIGNS, json={**QUICK, "priority": 1}, headers=ada)
    assert (refused.status_code, "above 0 needs scope admin" in refused.json()["detail"]) == (422, True)
    name = client.post(CAMPAIGNS, json={**QUICK, "priority": -1}, headers=ada).json()["name"]
    assert client.patch(f"/api/v1/queue/{name}", json={"priority": 1}, headers=ada).status_code == 403
    assert client.patch(f"/api/v1/queue/{name}", json={"priority": 1}, headers=root).status_code == 200
    assert client.post(CAMPAIGNS, json={**QUICK, "priority": 1}, headers=root).status_code == 201


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Iterator[OpenService]:
    with service_in_thread(store, tmp_path) as service:
        yield service


ASK = """exec 3<>/dev/tcp/$0/$1
printf 'GET /api/v1/campaigns HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3
cat <&3"""
"""Asks a service, as a program of bash."""


@pytest.mark.service
@pytest.mark.skipif(os.geteuid() != 0, reason=needs("root"))
def test_without_a_token_nobody_else_of_this_machine_may_come_in(service: OpenService) -> None:
    assert service.client.get(CAMPAIGNS).status_code == 200
    url = service.client.base_url
    asking = ("bash", "-c", ASK, url.host, str(url.port))
    done = subprocess.run(asking, user=65534, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.startswith("HTTP/1.1 401 ")
    assert "may come in, who runs this service." in done.stdout


@pytest.mark.service
def test_a_stream_ends_when_its_token_is_revoked(
    service: OpenService, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.service.live.stream.HEARTBEAT_S", 0.2)
    token = store.tokens.create("ada", AccessScope.READ, None)[1]
    with service.client.stream("GET", "/api/v1/events", headers=bearer(token)) as stream:
        lines = stream.iter_lines()
        next(lines)
        store.tokens.revoke("ada")
        assert list(lines) is not None  # it ends
    assert service.client.get(CAMPAIGNS, headers=bearer(token)).status_code == 401


@pytest.mark.service
def test_one_caller_cannot_take_all_streams(
    service: OpenService, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.service.live.reader.MOST_OF_ONE", 2)
    ada, bob = (bearer(store.tokens.create(name, AccessScope.READ, None)[1]) for name in ("ada", "bob"))
    with (
        service.client.stream("GET", "/api/v1/events", headers=ada) as one,
        service.client.stream("GET", "/api/v1/events", headers=ada) as two,
    ):
        assert (one.status_code, two.status_code) == (200, 200)
        third = service.client.get("/api/v1/events", headers=ada)
        assert (third.status_code, "2 streams are watched already by ada" in third.text) == (503, True)
        with service.client.stream("GET", "/api/v1/events", headers=bob) as other:
            assert other.status_code == 200


def test_a_database_that_does_not_answer_is_told_soon(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """To people as a page; the database of a server is asked again for a minute, where it is away."""
    over = threading.Event()
    monkeypatch.setattr(middleware, "ADMITTED_S", 0.05)
    monkeypatch.setattr(Authenticator, "authenticate", lambda *_: over.wait(PATIENCE_S))
    answer = client.get("/", headers={"Accept": "text/html"})
    over.set()
    assert (answer.status_code, "The database cannot be used now" in answer.text) == (503, True)
    assert "<html" in answer.text


@pytest.mark.parametrize(
    "said",
    [
        "database postgresql://ada:secret@db.example.org:5432/hpl cannot be used",
        'connection to server at "db.example.org" (10.1.2.3), port 5432 failed',
        "postgres://ada@db.example.org/hpl?password=secret: no server answers there",
    ],
)
def test_nobody_elsewhere_reads_where_the_database_is(client: TestClient, store: Store, said: str) -> None:
    name = client.post(CAMPAIGNS, json=QUICK).json()["name"]
    store.queue.claim(name)
    store.queue.put_off(name, said, 1, 60.0)
    for address in (f"/api/v1/queue/{name}", "/api/v1/queue", f"/campaigns/{name}", "/"):
        told = client.get(address).text
        assert not any(word in told for word in ("secret", "example.org", "10.1.2.3", "5432")), address


def test_a_list_for_the_command_line_says_what_the_pages_say(client: TestClient, store: Store) -> None:
    """A campaign that failed, whose study was complete until then, has failed in all faces."""
    name = client.post(CAMPAIGNS, json={**QUICK, "name": "night"}).json()["name"]
    store.create_study(a_study(name))
    store.end_study(name, "complete")
    store.queue.claim(name)
    store.queue.end(name, QueueState.FAILED, "no room")
    (printed,) = client.get("/api/v1/printed/campaigns", params={"facts": True}).json()
    (listed,) = client.get(CAMPAIGNS).json()["campaigns"]
    assert (printed["state"], listed["state"]) == ("failed", "failed")
