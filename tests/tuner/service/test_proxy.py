"""A proxy that has asked users who they are is believed, and nobody else."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from needs import skip_without
from running_service import running_service
from service_client import bearer, client_of, of_client, served

from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.service.config import ListenTable, ProxyTable, ServiceConfig

CAMPAIGNS = "/api/v1/campaigns"
ADA = {"X-Forwarded-User": "ada", "X-Forwarded-Groups": "staff, tuners", "X-Forwarded-For": "203.0.113.9"}
ME = pwd.getpwuid(os.geteuid()).pw_name
CONFIG = ServiceConfig(
    listen=ListenTable(names=("tuner.example.org",)),
    proxy=ProxyTable(trusted=("10.0.0.0/8", "::1"), user=ME, scopes={"run": ("tuners",), "admin": ("wheel",)}),
)


@pytest.fixture
def proxy(store: Store, tmp_path: Path) -> Iterator[TestClient]:
    """A proxy that is trusted."""
    with served(store, tmp_path, CONFIG) as client:
        yield client_of(of_client(client), "10.1.2.3")


def test_a_user_whom_the_proxy_names_may_do_what_the_groups_may(proxy: TestClient) -> None:
    assert proxy.get(CAMPAIGNS, headers=ADA).status_code == 200
    assert proxy.post(f"{CAMPAIGNS}/nope/anything", headers=ADA).status_code == 404
    nobody = proxy.get(CAMPAIGNS, headers={**ADA, "X-Forwarded-Groups": "staff"})
    assert nobody.status_code == 403
    assert nobody.json()["detail"].startswith("ada is in no group that may use this service")


@pytest.mark.parametrize("address", ["192.168.0.1", "127.0.0.1", "11.0.0.1", "", "10.1.2.3.evil"])
def test_headers_of_somebody_else_are_not_believed(proxy: TestClient, address: str) -> None:
    assert client_of(of_client(proxy), address).get(CAMPAIGNS, headers=ADA).status_code == 401


def test_the_proxy_must_name_one_user(proxy: TestClient) -> None:
    unnamed = {"X-Forwarded-For": "203.0.113.9"}
    assert proxy.get(CAMPAIGNS, headers=unnamed).json()["detail"].startswith("The proxy names no user")
    twice = [("X-Forwarded-User", "root"), *ADA.items()]
    answer = proxy.get(CAMPAIGNS, headers=twice)
    assert answer.status_code == 400
    assert "two headers X-Forwarded-User" in answer.json()["detail"]


def test_a_token_is_taken_through_the_proxy_too(proxy: TestClient, store: Store) -> None:
    _, token = store.tokens.create("ci", AccessScope.READ, None)
    assert proxy.get(CAMPAIGNS, headers=bearer(token)).status_code == 200


def test_the_proxy_says_under_which_name_it_was_asked(proxy: TestClient) -> None:
    named = {**ADA, "X-Forwarded-Host": "tuner.example.org", "X-Forwarded-Proto": "https"}
    assert proxy.get(CAMPAIGNS, headers=named).status_code == 200
    assert proxy.get(CAMPAIGNS, headers={**named, "X-Forwarded-Host": "evil.example"}).status_code == 421
    changing = {**named, "Origin": "https://tuner.example.org"}
    assert proxy.post("/healthz", headers=changing).status_code == 405
    assert proxy.post("/healthz", headers={**changing, "Origin": "https://evil.example"}).status_code == 403
    elsewhere = client_of(of_client(proxy), "192.168.0.1")
    assert elsewhere.get("/healthz", headers={"X-Forwarded-Host": "evil.example"}).status_code == 200


def test_everybody_can_be_let_read(store: Store, tmp_path: Path) -> None:
    config = ServiceConfig(proxy=ProxyTable(trusted=("::1",), user=ME, scopes={"read": ("*",)}))
    with served(store, tmp_path, config) as client:
        proxy = client_of(of_client(client), "::1")
        assert proxy.get(CAMPAIGNS, headers={"X-Forwarded-User": "eve"}).status_code == 200
        assert proxy.post(CAMPAIGNS, headers={"X-Forwarded-User": "eve"}).status_code == 403


@pytest.mark.parametrize(("uid", "status"), [(0, 200), (None, 401), (os.geteuid(), 200), (12_345, 401)])
def test_of_the_programs_here_only_the_proxys_are_believed(
    store: Store, tmp_path: Path, uid: int | None, status: int
) -> None:
    """A program of any user can connect from an address of this machine; None is one that has gone meanwhile."""
    with served(store, tmp_path, CONFIG, lambda *_: uid) as client:
        for address, expected in (("::1", status), ("10.1.2.3", 200 if uid is None else status)):
            answer = client_of(of_client(client), address).get(CAMPAIGNS, headers=ADA)
            assert answer.status_code == expected, address


@pytest.mark.usefixtures("home")
@pytest.mark.service
def test_another_users_program_can_say_nothing_to_a_real_service(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    if os.geteuid() != 0:
        skip_without("root")
    config = tmp_path / "service.toml"
    config.write_text(f'[proxy]\ntrusted = ["127.0.0.1"]\nuser = "{ME}"\nscopes = {{admin = ["*"]}}\n')
    headers = "".join(f"{name}: {value}\r\n" for name, value in ADA.items())
    request = f"GET {CAMPAIGNS} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}\r\n"
    ask = 'exec 3<>"/dev/tcp/127.0.0.1/$0"; cat >&3; read -r version status rest <&3; echo "$status"'
    with running_service("--config", str(config)) as service:
        line = ["bash", "-c", ask, str(service.client.base_url.port)]
        theirs = subprocess.run(
            line, input=request, capture_output=True, text=True, check=False, user=nobody.pw_uid, group=nobody.pw_gid
        )
        ours = subprocess.run(line, input=request, capture_output=True, text=True, check=False)
    assert (theirs.stdout, ours.stdout) == ("401\n", "200\n")
