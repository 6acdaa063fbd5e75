"""People sign in with a token in a browser."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from service_client import client_of, of_client, served

from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.service.forms import Form, csrf_field

PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def token(store: Store) -> str:
    """A token of ada's, who may start campaigns."""
    return store.tokens.create("ada", AccessScope.RUN, None)[1]


def test_a_person_is_led_to_the_form_and_back(client: TestClient, token: str) -> None:
    led = client.get("/?cursor=x", headers=PAGE)
    assert (led.status_code, led.headers["location"]) == (303, "/sign-in?next=%2F%3Fcursor%3Dx")
    form = client.get(led.headers["location"])
    assert 'name="next" value="/?cursor=x"' in form.text
    done = client.post("/sign-in", data={"token": token, "next": "/?cursor=x"})
    assert (done.status_code, done.headers["location"]) == (303, "/?cursor=x")
    assert client.get("/", headers=PAGE).status_code == 200
    client.post("/sign-out")
    assert client.get("/", headers=PAGE).status_code == 303


def test_a_program_is_told_and_not_led(client: TestClient, token: str) -> None:
    assert client.get("/").status_code == 401
    assert client.get("/signed-in").status_code == 401
    in_part = client.get("/", headers={"HX-Request": "true"})
    assert in_part.status_code == 401, "its page tells who watches it, and what was filled in stays there"
    assert "hx-redirect" not in in_part.headers
    assert token not in client.get("/").text


def test_the_cookie_is_for_this_service_alone(client: TestClient, token: str) -> None:
    plain = client.post("/sign-in", data={"token": token}).headers["set-cookie"]
    assert plain.startswith("hpltune-80=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(plain.split("; "))
    assert token not in plain
    secure = client_of(of_client(client), url="https://localhost").post("/sign-in", data={"token": token})
    assert secure.headers["set-cookie"].startswith("__Host-hpltune-443=")
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Secure"} <= set(secure.headers["set-cookie"].split("; "))


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "/\\evil.example", "x", "/\n/evil", ""])
def test_nobody_is_led_to_another_site(client: TestClient, token: str, target: str) -> None:
    assert client.post("/sign-in", data={"token": token, "next": target}).headers["location"] == "/"


def test_a_wrong_token_is_told_in_the_form(client: TestClient, token: str) -> None:
    answer = client.post("/sign-in", data={"token": token[:-1]})
    assert answer.status_code == 403
    assert "This token is not known here" in answer.text
    assert "set-cookie" not in answer.headers
    assert token[:-1] not in answer.text


def test_a_session_outlives_the_server_and_ends_with_its_token(store: Store, tmp_path: Path, token: str) -> None:
    with served(store, tmp_path) as client:
        client.post("/sign-in", data={"token": token})
        cookies = dict(client.cookies)
    with served(store, tmp_path) as client:
        client.cookies.update(cookies)
        assert client.get("/").status_code == 200
        store.tokens.revoke("ada")
        assert client.get("/").status_code == 401
        told = client.get("/sign-in").text
        assert "The token of ada works no more: ask for a new one." in told
        assert "Sign out" not in told
    assert (tmp_path / "data/service.key").stat().st_mode & 0o777 == 0o600


def signed_in(client: TestClient, token: str) -> dict[str, str]:
    """The header of a new session, whose cookie the client itself forgets."""
    client.post("/sign-in", data={"token": token})
    header = {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
    client.cookies.clear()
    return header


def test_a_copy_of_a_cookie_opens_nothing_after_signing_out(store: Store, tmp_path: Path, token: str) -> None:
    with served(store, tmp_path) as client:
        copied, other = signed_in(client, token), signed_in(client, token)
        assert client.get("/", headers=copied).status_code == 200
        client.post("/sign-out", headers=copied)
        assert client.get("/", headers=copied).status_code == 401
        assert client.get("/", headers=other).status_code == 200, "another session of the same token"
    with served(store, tmp_path) as client:
        assert client.get("/", headers=copied).status_code == 401, "also after a new start"
        assert client.get("/", headers=other).status_code == 200


def test_a_session_ends_also_where_nothing_can_be_kept(client: TestClient, tmp_path: Path, token: str) -> None:
    copied = signed_in(client, token)
    (tmp_path / "data/signed-out").touch()  # no folder can be made there
    client.post("/sign-out", headers=copied)
    assert client.get("/", headers=copied).status_code == 401


@pytest.mark.parametrize("cookie", ["x", "x.y", ".", "W10.0", "🙂"])
def test_a_cookie_that_we_did_not_write_opens_nothing(client: TestClient, token: str, cookie: str) -> None:
    given = [(b"Cookie", f"hpltune-80={cookie}".encode())]
    assert client.get("/", headers=given).status_code == 401
    client.post("/sign-in", data={"token": token})
    content, _, signature = client.cookies["hpltune-80"].partition(".")
    client.cookies.clear()
    assert client.get("/", headers={"Cookie": f"hpltune-80={content}A.{signature}"}).status_code == 401
    assert client.get("/", headers={"Cookie": f"hpltune-80={content}.{signature}"}).status_code == 200


@pytest.fixture
def form(client: TestClient) -> FastAPI:
    """The service with one more page, which has a form."""
    app = of_client(client)

    @app.get("/test-form")
    def page(request: Request) -> str:
        return str(csrf_field(request))

    @app.post("/test-form")
    def take(fields: Form) -> dict[str, str]:
        return dict(fields)

    return app


def hidden(page: str) -> str:
    found = re.search(r'value=\\"([\w-]+)\\"', page)
    assert found
    return found[1]


def test_a_form_comes_back_with_its_token(client: TestClient, token: str, form: FastAPI) -> None:
    client.post("/sign-in", data={"token": token})
    mine = hidden(client.get("/test-form").text)
    assert client.post("/test-form", data={"form_token": mine, "space": "quick"}).json()["space"] == "quick"
    other = client_of(form)
    other.post("/sign-in", data={"token": token})
    for wrong in (hidden(other.get("/test-form").text), "", "\ud7ff", mine[:-1]):
        refused = client.post("/test-form", data={"form_token": wrong})
        assert refused.status_code == 403
        assert refused.json()["detail"].startswith("This form is not yours or too old")


def test_what_is_no_form_is_a_sentence(client: TestClient, form: FastAPI) -> None:
    assert client_of(form).post("/test-form", json={}).status_code == 415
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"a=%ff", b"\xff", b"&".join([b"a=1"] * 501)):
        answer = client.post("/test-form", content=body, headers=kind)
        assert answer.status_code == 422
        assert "The form cannot be read" in answer.json()["detail"]


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_page_of_another_site_signs_nobody_in(client: TestClient, token: str, headers: dict[str, str]) -> None:
    answer = client.post("/sign-in", data={"token": token}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
