"""Connections of strangers, who say nothing or only a little, take no place from others."""

import resource
import shutil
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from explain_builders import keep
from needs import needs, skip_without
from own_certificate import certificate, written
from record_builders import a_study, finished
from replayed import OFFERED, replaying_service
from running_service import running_service, service_in_thread
from waiting import PATIENCE_S, until

from results.store.store import Store
from tuner.service import connections

CAMPAIGNS = "/api/v1/campaigns"
SMALL = {"kind": "tune", "program": OFFERED, "space": "quick", "set": {"N": [400], "NB": [32, 48]}, "confirm": 0}
HALF_OPEN = 1300
HALF = b"GET / HTTP/1.1\r\nX: "
FEW = ("prlimit", "--nofile=1024:1024")
"""As many open files as systemd allows a service."""
pytestmark = [pytest.mark.service, pytest.mark.usefixtures("home", "mpirun")]


@pytest.fixture
def many_files() -> Iterator[None]:
    """Lets this process have as many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * HALF_OPEN:
        skip_without("more open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * HALF_OPEN), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def half_open(url: str, count: int, begin: bytes = HALF) -> Iterator[list[socket.socket]]:
    """Connections that have said a part of a request."""
    place = urlsplit(url)
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection((place.hostname, place.port)))
            one.sendall(begin)
            opened.append(one)
        yield opened


@pytest.mark.usefixtures("many_files")
@pytest.mark.skipif(shutil.which("prlimit") is None, reason=needs("util-linux"))
def test_who_says_nothing_takes_no_place_from_others() -> None:
    with replaying_service(before=FEW) as service:
        url = str(service.client.base_url)
        with half_open(url, HALF_OPEN):
            assert service.client.get("/healthz").status_code == 200
            name = service.client.post(CAMPAIGNS, json={**SMALL, "trials": 1}).json()["name"]

            def state() -> str:
                return str(service.client.get(f"/api/v1/queue/{name}").json()["state"])

            until(lambda: state() == "done", "the campaign is done")


def closed(one: socket.socket) -> bool:
    """Whether the other side has ended a connection."""
    one.settimeout(PATIENCE_S)
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


BODY = b"POST /api/v1/campaigns HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"


@pytest.mark.parametrize(
    ("limit", "begin"), [("HEAD_S", b""), ("HEAD_S", HALF), ("BODY_S", BODY)], ids=["nothing", "half a head", "a body"]
)
def test_a_head_or_a_body_that_does_not_come_ends_its_connection(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, begin: bytes
) -> None:
    monkeypatch.setattr(connections, limit, 0.2)
    with service_in_thread(store, tmp_path) as service, half_open(str(service.client.base_url), 1, begin) as (one,):
        assert closed(one)
        assert service.client.get("/healthz").status_code == 200


@pytest.mark.usefixtures("many_files")
def test_who_begins_no_handshake_takes_no_place_from_others(tmp_path: Path) -> None:
    """Over TLS, too: a connection that says nothing has not even begun to be one for uvicorn."""
    crt, _ = certificate(tmp_path, "tuner")
    config = written(tmp_path, "tuner.crt", "tuner.key")
    tls = ssl.create_default_context(cafile=str(crt))
    with running_service("--config", config, tls=tls, before=FEW) as service:
        with half_open(str(service.client.base_url), HALF_OPEN, b""):
            assert service.client.get("/healthz").status_code == 200
        with half_open(str(service.client.base_url), 1, b"GET / HTTP/1.1\r\n\r\n") as (plain,):
            assert closed(plain), "what is no handshake ends it"
        assert service.client.get("/healthz").status_code == 200


def test_a_request_that_takes_longer_than_its_head_may_is_answered(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    with service_in_thread(store, tmp_path) as service, service.client.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()
        next(lines)
        keep(store, a_study("later"), [finished(1, 75.0, "later")])
        assert any("later" in line for line in lines)


def test_the_oldest_silent_connection_of_an_address_goes_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WAITING_OF_ONE", 3)
    with service_in_thread(store, tmp_path) as service, half_open(str(service.client.base_url), 4) as opened:
        assert closed(opened[0])
        opened[3].sendall(b"x\r\nHost: localhost\r\n\r\n")
        assert opened[3].recv(8) == b"HTTP/1.1"


def test_bodies_that_do_not_come_take_no_more_places_than_heads(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WAITING_OF_ONE", 3)
    begin = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\na"
    with service_in_thread(store, tmp_path) as service, half_open(str(service.client.base_url), 4, begin) as opened:
        assert closed(opened[0])
        assert service.client.get("/healthz").status_code == 200


def test_who_takes_no_answer_loses_the_connection(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "TAKING_S", 0.2)
    asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400  # more than all buffers hold
    with service_in_thread(store, tmp_path) as service, half_open(str(service.client.base_url), 1, asked) as (one,):
        until(lambda: _is_over(one), "that the service gives the connection up")
        assert service.client.get("/healthz").status_code == 200


def _is_over(one: socket.socket) -> bool:
    """Whether the other side has reset a connection of which nothing is read."""
    try:
        one.send(b"x")
    except ConnectionError:
        return True
    return False
