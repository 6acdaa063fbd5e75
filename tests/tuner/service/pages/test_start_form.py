"""The form that starts a campaign, as a browser without JavaScript sees it."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from fastapi.testclient import TestClient
from record_builders import a_study

from results.store.service.campaign_entry import QueueState
from results.store.service.tokens import AccessScope
from results.store.store import Store

CAMPAIGNS = "/api/v1/campaigns"
QUICK = {"space": "quick", "budget": "10m", "set.N": "400", "set.NB": "32, 64"}


class FormPage(HTMLParser):
    """What a browser would send of a form, and what the page says at its fields."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.fields: dict[str, str] = {}
        self.invalid: list[str] = []
        self._select = self._textarea = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "aria-invalid" in given:
            self.invalid.append(given["id"])
        if tag == "select":
            self._select = given["name"]
        elif tag == "option" and "selected" in given:
            self.fields[self._select] = given["value"]
        elif tag == "textarea":
            self._textarea = given["name"]
            self.fields[self._textarea] = ""
        elif tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
            self.fields[given["name"]] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.fields[self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._textarea = ""


def opened(client: TestClient, address: str = "/new") -> FormPage:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    return FormPage(answer.text)


def send(client: TestClient, form: FormPage, do: str = "start", **changes: str) -> Any:
    address = "/new/preview" if do == "preview" else "/new"
    return client.post(address, data={**form.fields, "do": do, **changes}, follow_redirects=False)


def document(client: TestClient, name: str) -> dict[str, Any]:
    told: dict[str, Any] = client.get(f"/api/v1/queue/{name}").json()["document"]
    return told


def test_a_filled_in_form_starts_a_campaign(client: TestClient) -> None:
    answer = send(client, opened(client), **QUICK, name="first", priority="7")
    assert (answer.status_code, answer.headers["location"]) == (303, "/campaigns/first")
    assert document(client, "first") == {
        "kind": "tune",
        "name": "first",
        "space": "quick",
        "budget": "10m",
        "set": {"N": [400], "NB": [32, 64]},
    }
    assert client.get("/api/v1/queue/first").json()["priority"] == 7


def test_a_double_click_starts_one_campaign_and_a_changed_form_another(client: TestClient) -> None:
    form = opened(client)
    places = [send(client, form, **QUICK).headers["location"] for _ in range(2)]
    assert places == ["/campaigns/quick-1"] * 2
    assert send(client, form, **{**QUICK, "budget": "20m"}).headers["location"] == "/campaigns/quick-2"


def test_a_preview_starts_nothing_and_keeps_what_was_filled_in(client: TestClient) -> None:
    answer = send(client, opened(client), do="preview", **{**QUICK, "price_usd": "35064", "budget": "1h"})
    assert answer.status_code == 200
    assert "about $1.00 of the machine&#39;s time" in answer.text
    assert "nothing: it starts now" in answer.text
    assert FormPage(answer.text).fields["set.NB"] == "32, 64"
    assert client.get("/api/v1/queue").json()["queued"] == []


def test_a_preview_is_no_action_of_the_audit_log(client: TestClient, store: Store) -> None:
    send(client, opened(client), do="preview", **QUICK)
    assert store.audit.newest(1) == []
    send(client, opened(client), **QUICK)
    assert [(row.noted.action, row.noted.target) for row in store.audit.newest(2)] == [("POST /new", "quick-1")]
    assert client.get("/new/preview").headers["location"] == "/new"


def test_htmx_is_sent_the_preview_alone(client: TestClient) -> None:
    fields = {**opened(client).fields, **QUICK}
    part = client.post("/new/preview", data=fields, headers={"HX-Request": "true"})
    assert part.text.lstrip().startswith("<dl")
    wrong = client.post("/new/preview", data={**fields, "budget": "soon"}, headers={"HX-Request": "true"})
    assert wrong.status_code == 200, "htmx shows no answer of another status"
    assert "Budget: " in wrong.text
    assert client.get("/api/v1/queue").json()["queued"] == []


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"budget": "soon"}, "budget", "not a duration"),
        ({"trials": "many"}, "trials", "write a whole number, not"),
        ({"set.NB": "wide"}, "set-NB", "expected a whole number"),
        ({"set": "grid 1x2"}, "set", "write NAME = VALUE, VALUE"),
        ({"set": "gird = 1x2"}, "set", "gird: "),
        ({"set.N": "", "set": "N = foo=bar"}, "set", "N = foo=bar: no value of N has a =: write NAME = VALUE"),
        ({"set.N": "", "set": "N = many"}, "set", ">N: expected a whole number"),
        ({"set": "N = 800"}, "set", "N = 800: the field N has values already"),
        ({"set": "PFACT = Left\nPFACT = Right"}, "set", "PFACT = Right: PFACT has a line already"),
        ({"name": "taken"}, "name", "exists already"),
        ({"objective": "usd-per-gflops"}, "objective", "price_usd"),
        ({"space": "kronos", "cluster": "kronos", "set.N": "90000"}, "space", "take at most N = "),
    ],
)
def test_a_mistake_stands_at_its_field_and_in_the_summary_and_what_was_typed_is_kept(
    client: TestClient, store: Store, changes: dict[str, str], field: str, sentence: str
) -> None:
    store.create_study(a_study("taken"))
    answer = send(client, opened(client), **{**QUICK, **changes})
    assert answer.status_code == 422
    page = FormPage(answer.text)
    assert page.invalid == [field]
    assert f'<a href="#{field}">' in answer.text
    assert sentence in answer.text
    assert {name: page.fields[name] for name in changes} == changes
    assert client.get("/api/v1/queue").json()["queued"] == []


def test_several_mistakes_are_told_together(client: TestClient) -> None:
    answer = send(client, opened(client), **{**QUICK, "trials": "many", "seed": "x", "priority": "200"})
    assert FormPage(answer.text).invalid == ["trials", "seed", "priority"]
    assert "3 things are not right" in answer.text


def test_a_copy_begins_with_all_that_the_first_one_was_given(client: TestClient) -> None:
    asked = {
        "kind": "tune",
        "name": "first",
        "space": "quick",
        "trials": 4,
        "set": {"N": [400], "grid": ["1x2", "2x1"]},
        "full": True,
        "power_w": 250.5,
        "blas": ["openblas"],
        "confirm": 0,
    }
    client.post(CAMPAIGNS, json=asked)
    answer = send(client, opened(client, "/new?from=first"))
    assert answer.headers["location"] == "/campaigns/quick-1"
    assert document(client, "quick-1") == {key: value for key, value in asked.items() if key != "name"}


def test_a_form_of_another_page_is_refused(client: TestClient) -> None:
    fields = {**opened(client).fields, **QUICK, "form_token": "guessed"}
    assert client.post("/new", data=fields).status_code == 403
    assert client.post("/new", json=QUICK).status_code == 415


PAGE = {"Accept": "text/html"}


@pytest.fixture
def ada(client: TestClient, store: Store) -> str:
    """A token of somebody who has signed in in the browser."""
    token = store.tokens.create("ada", AccessScope.RUN, None)[1]
    client.post("/sign-in", data={"token": token})
    return token


def fields_of(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that goes to an address."""
    form = page.split(f'action="{action}"')[1].split("</form>", maxsplit=1)[0]
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)}


def test_what_was_filled_in_outlives_the_session(client: TestClient, store: Store, ada: str) -> None:
    form = opened(client)
    client.cookies.clear()
    filled = {**form.fields, **QUICK, "name": "<b>first", "do": "start"}
    refused = client.post("/new", data=filled, headers=PAGE)
    assert refused.status_code == 401
    assert "What you filled in is kept" in refused.text
    kept = fields_of(refused.text, "/sign-in")
    wrong = client.post("/sign-in", data={**kept, "token": "guessed"}, headers=PAGE)
    assert wrong.status_code == 403
    assert fields_of(wrong.text, "/sign-in") == kept, "a wrong token loses nothing"
    again = client.post("/sign-in", data={**kept, "token": ada}, headers=PAGE)
    assert "Nothing was done with it yet. Your session had ended" in again.text
    assert "&lt;b&gt;first" in again.text
    assert not store.queue.entries(list(QueueState))
    done = client.post(
        "/new", data={**fields_of(again.text, "/new"), "name": "first", "do": "start"}, follow_redirects=False
    )
    assert (done.status_code, done.headers["location"]) == (303, "/campaigns/first")


def test_a_form_of_an_earlier_session_is_shown_and_asked_again(client: TestClient, ada: str) -> None:
    form = opened(client)
    client.post("/sign-out")
    client.post("/sign-in", data={"token": ada})
    asked = client.post("/new", data={**form.fields, **QUICK, "name": "first", "do": "start"}, headers=PAGE)
    assert asked.status_code == 403
    assert "It is of an earlier session, or not yours." in asked.text
    sent = {**fields_of(asked.text, "/new"), "do": "start"}
    assert client.post("/new", data=sent, follow_redirects=False).headers["location"] == "/campaigns/first"


@pytest.mark.usefixtures("ada")
def test_another_site_has_no_form_kept(client: TestClient) -> None:
    client.cookies.clear()
    there = {**PAGE, "Origin": "https://evil.example"}
    answer = client.post("/new", data=QUICK, headers=there)
    assert "kept" not in answer.text


@pytest.mark.usefixtures("ada")
def test_a_program_whose_token_has_ended_is_answered_as_before(client: TestClient) -> None:
    client.cookies.clear()
    answer = client.post("/new", data=QUICK)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


def test_a_stranger_gets_no_long_form_back(client: TestClient, ada: str) -> None:
    assert ada
    client.cookies.clear()
    answer = client.post("/new", data={"space": '"' * 60_000}, headers=PAGE)
    assert answer.status_code == 401
    assert len(answer.text) < 20_000


def test_a_field_that_the_form_does_not_have_is_refused(client: TestClient) -> None:
    """As the API does: a slip would be a campaign that nobody asked for."""
    for do in ("start", "preview"):
        answer = send(client, opened(client), do, **QUICK, trails="5")
        assert (answer.status_code, "trails: the form has no such field." in answer.text) == (422, True)
    assert client.get("/api/v1/queue").json()["queued"] == []
