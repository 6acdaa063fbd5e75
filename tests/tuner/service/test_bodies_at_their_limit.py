"""No request, whatever its body or query at the limit, gets a long answer or is read on the event loop."""

import asyncio
import gc
import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from service_client import of_client

from tuner.service.api import queue_access
from tuner.service.api.queue_access import MOST_VALUES, DocumentRoute
from tuner.service.problems import MOST_TOLD

LIMIT = 1_000_000
LONGEST_ANSWER = 50_000
"""Bytes; an answer to a mistake is 21 sentences."""


def filled(piece: str) -> str:
    """A piece, repeated up to the limit of a body."""
    return ",".join([piece] * ((LIMIT - 200) // (len(piece) + 1)))


def keys(count: int) -> str:
    return ",".join(f'"k{number}":1' for number in range(count))


TUNE = '{"kind":"tune",'
SHAPES = {
    "80,000 unknown keys": TUNE + keys(80_000) + "}",
    "as many as may be": TUNE + keys(MOST_VALUES - 1) + "}",
    "a long key": TUNE + f'"{"k" * 900_000}":1}}',
    "a long value": TUNE + f'"engine":"{"k" * 900_000}"}}',
    "a long kind": f'{{"kind":"{"k" * 900_000}"}}',
    "a long name": TUNE + f'"name":"{"k" * 900_000}"}}',
    "empty lists": TUNE + f'"warm_start":[{filled("[]")}]}}',
    "lists in set": TUNE + f'"set":{{"NB":[{filled("[]")}]}}}}',
    "as many lists in set as may be": TUNE + f'"set":{{"NB":[{",".join(["[]"] * (MOST_VALUES - 5))}]}}}}',
    "as many wrong parameters as may be": TUNE
    + '"set":{'
    + ",".join(f'"{number}":null' for number in range(MOST_VALUES - 5))
    + "}}",
    "numbers": TUNE + f'"set":{{"NB":[{filled("1")}]}}}}',
    "nulls": f"[{filled('null')}]",
    "deep lists": "[" * 400_000,
    "deep objects": '{"a":' * 100_000,
    "a long number": "9" * 900_000,
    "a long text": f'"{"k" * 900_000}"',
    "escapes": TUNE + '"engine":"' + "\\u00e9" * 150_000 + '"}',
    "blanks": " " * LIMIT,
    "no JSON": "x" * LIMIT,
    "bytes": "\x00" * LIMIT,
    "many values of two parameters": TUNE + f'"set":{{"NB":{list(range(1, 990))},"N":{list(range(1000, 1990))}}}}}',
    "many parameters with many values": TUNE
    + '"set":{'
    + ",".join(f'"env.k{number}":["x"{",1" * 17}]' for number in range(100))
    + "}}",
    "long words": TUNE + f'"warm_start":[{",".join([chr(34) + "é" * 240 + chr(34)] * 1900)}]}}',
    "huge numbers": TUNE + f'"set":{{"N":[{",".join(["9" * 4000] * 200)}]}}}}',
    "wrong values": TUNE + f'"set":{{"NB":[{",".join(["{}"] * 900)}]}}}}',
    "deep values": TUNE + f'"set":{{"NB":{"[" * 900}{"]" * 900}}}}}',
    "another kind": '{"kind":"blas","set":{"NB":' + str(list(range(1, 1990))) + "}}",
}
FORMS = {
    "escapes": "set=" + "%41" * 300_000,
    "lines": "set=" + "".join(f"k{number}%3D1%0A" for number in range(60_000)),
    "fields": "&".join(f"k{number}=1" for number in range(80_000)),
    "values": "set=NB%3D" + "1%2C" * 200_000,
    "a long name": "name=" + "k" * 900_000,
}


def addresses(client: TestClient, *methods: str) -> Iterator[APIRoute]:
    def below(routes: Any) -> Iterator[Any]:
        for route in routes:
            yield from below(route.original_router.routes) if hasattr(route, "original_router") else [route]

    for route in below(of_client(client).routes):
        if isinstance(route, APIRoute) and (route.methods or set()) & set(methods):
            yield route


MOST_BARE = 100
"""Times the processor's time of a bare request: so much of it may one step on the event loop take."""


class LoopWatch:
    """Watches how much of the processor each step on the event loop takes; other threads and programs do not count.

    Attributes:
        longest_s: of the longest step since it was set.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._run = asyncio.Handle._run

    def run(self, handle: asyncio.Handle) -> None:
        """Do a step."""
        begun_s = time.thread_time()
        self._run(handle)
        self.longest_s = max(self.longest_s, time.thread_time() - begun_s)


@pytest.fixture
def loop(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopWatch]:
    """Watches the event loop of a test, at whose end no step may have taken very much more than a bare request does."""
    watch = LoopWatch()
    for address in ("/new", "/new/preview", "/node-checks"):  # what is imported late is imported now
        client.post(address, data={"name": "x"})
    monkeypatch.setattr(asyncio.Handle, "_run", lambda handle: watch.run(handle))  # noqa: PLW0108 - a method of a handle
    gc.disable()
    for _ in range(20):
        client.get("/healthz")
    bare_s, watch.longest_s = watch.longest_s, 0.0
    yield watch
    gc.enable()
    assert watch.longest_s < MOST_BARE * bare_s, f"{watch.longest_s:.3f} s, a bare request {bare_s:.5f} s"


@pytest.mark.usefixtures("loop")
def test_every_address_answers_a_body_at_its_limit_with_few_words(client: TestClient) -> None:
    sent = 0
    for route in addresses(client, "POST", "PATCH"):
        path = route.path.replace("{name}", "none").replace("{number}", "1")
        for name, body in SHAPES.items():
            answer = client.request(
                next(iter(route.methods or ())),
                path,
                content=body.encode(),
                headers={"Content-Type": "application/json"},
            )
            assert answer.status_code != 500, (path, name)
            assert len(answer.content) < LONGEST_ANSWER, (path, name)
            sent += 1
    assert sent >= 15 * len(SHAPES)


def test_every_mistake_is_counted_and_few_are_told(client: TestClient) -> None:
    for address in ("/api/v1/campaigns", "/api/v1/previews"):
        told = client.post(address, json={"kind": "tune", **{f"k{number}": 1 for number in range(100)}}).json()
        assert len(told["errors"]) == MOST_TOLD + 1
        assert told["errors"][-1]["sentence"] == f"and {100 - MOST_TOLD} more mistakes"
        huge = client.post(address, json={"kind": "tune", **{f"k{number}": 1 for number in range(MOST_VALUES + 1)}})
        assert (huge.status_code, huge.json()["detail"]) == (422, "document: it may have 2,000 values at most.")


@pytest.mark.usefixtures("loop")
def test_every_address_answers_a_long_query_with_few_words(client: TestClient) -> None:
    queries = [
        "&".join(f"k{n}=1" for n in range(5000)), "&".join(f"k{n}=1" for n in range(900)), "&".join(["name=1"] * 1100),
        "&".join(f"studies={n}" for n in range(600)), "k" * 60_000, "k" * 7_990, f"limit={'9' * 7_990}",
        "name=" + "%C3%A9" * 1300, "%26" * 2600,
    ]  # fmt: skip
    for route in addresses(client, "GET"):
        path = route.path.replace("{name}", "none").replace("{number}", "1")
        for query in queries:
            answer = client.get(f"{path}?{query}")
            assert answer.status_code != 500, (path, query[:20])
            assert answer.status_code == 200 or len(answer.content) < LONGEST_ANSWER, (path, query[:20])


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("shape", FORMS)
def test_a_form_at_its_limit_is_answered(client: TestClient, shape: str) -> None:
    token = re.search(r'name="form_token" value="([^"]+)"', client.get("/new").text)
    assert token is not None
    body = f"form_token={quote(token[1])}&space=quick&trials=1&{FORMS[shape]}"
    for address in ("/new", "/new/preview", "/node-checks"):
        if address == "/node-checks":
            body = f"form_token={quote(token[1])}&cluster={'k' * 900_000}"
        answer = client.post(address, content=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status_code == 422, (address, answer.text[:2000])


def test_what_grows_with_a_body_is_read_beside_the_event_loop(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops, readers = set[int](), set[int]()
    real_read, real_body = queue_access._read_json, queue_access.DocumentRequest.body

    def read(*given: Any) -> Any:
        readers.add(threading.get_ident())
        return real_read(*given)

    async def body_of(request: queue_access.DocumentRequest) -> bytes:
        loops.add(threading.get_ident())
        return await real_body(request)

    monkeypatch.setattr(queue_access, "_read_json", read)
    monkeypatch.setattr(queue_access.DocumentRequest, "body", body_of)
    client.post("/api/v1/campaigns", content=json.dumps({"kind": "tune"}))
    client.post("/api/v1/campaigns", json={"kind": "race"})
    assert loops
    assert readers
    assert not loops & readers


def test_every_address_that_takes_json_reads_it_so(client: TestClient) -> None:
    taking = [route for route in addresses(client, "POST", "PATCH") if route.body_field is not None]
    assert len(taking) >= 4
    assert {type(route) for route in taking} == {DocumentRoute}
