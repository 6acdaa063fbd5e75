"""People get pages where something is wrong, and no link of a page leads them to where they may not go."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from explain_builders import keep
from fastapi.testclient import TestClient
from node_check_builders import kept
from record_builders import a_study, finished
from service_client import bearer

from results.store.service.campaign_entry import CampaignOrder
from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.options import TuneOptions

PAGE = {"Accept": "text/html,application/xhtml+xml"}
_LINK = re.compile(r'<(?:a|link)\b[^>]*\bhref="([^"]+)"')


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("/nothing", 404, "There is nothing at this address"),
        ("/campaigns/nope", 404, "There is no campaign nope"),
        ("/node-checks/0", 422, "number"),
        ("/tokens?x=1", 422, "x"),
    ],
)
def test_a_person_gets_a_page_and_a_program_a_document(
    client: TestClient, address: str, status: int, sentence: str
) -> None:
    page = client.get(address, headers=PAGE)
    document = client.get(address)
    assert (page.status_code, document.status_code) == (status, status)
    assert page.headers["content-type"].startswith("text/html")
    assert document.headers["content-type"] == "application/problem+json"
    assert sentence in page.text
    assert 'class="brand" href="/"' in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert client.get(address, headers={**PAGE, "HX-Request": "true"}).headers["content-type"] != "text/html"


@pytest.mark.parametrize(("address", "status"), [("/campaigns/nope", 404), ("/nothing", 404), ("/new", 403)])
def test_a_page_of_a_problem_says_who_looks_at_it_and_lets_them_sign_out(
    client: TestClient, store: Store, address: str, status: int
) -> None:
    _, token = store.tokens.create("ada", AccessScope.READ, None)
    client.post("/sign-in", data={"token": token})
    page = client.get(address, headers=PAGE)
    assert page.status_code == status
    assert '<span>ada <span class="caption">(read)</span></span>' in page.text
    assert 'action="/sign-out"' in page.text


def test_who_is_not_known_has_no_name_on_the_page_of_a_problem(client: TestClient, store: Store) -> None:
    store.tokens.create("ada", AccessScope.READ, None)
    page = client.get("/", headers={**PAGE, "Authorization": "Bearer nonsense"})
    assert page.status_code == 401
    assert 'class="visitor"' not in page.text


def test_the_page_of_a_fault_of_ours_says_who_looks_at_it(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = bearer(store.tokens.create("ada", AccessScope.ADMIN, None)[1])
    monkeypatch.setattr("tuner.service.pages.operation.page", None)
    page = client.get("/tokens", headers={**PAGE, **ada})
    assert (page.status_code, "<span>ada" in page.text) == (500, True)
    assert "style-src 'self'" in page.headers["content-security-policy"]


def test_only_who_is_not_known_or_may_not_is_led_to_sign_in(client: TestClient, store: Store) -> None:
    ada = bearer(store.tokens.create("ada", AccessScope.READ, None)[1])
    assert "/sign-in" not in client.get("/campaigns/nope", headers={**PAGE, **ada}).text
    assert "Sign in with another token" in client.get("/new", headers={**PAGE, **ada}).text
    wrong = client.get("/", headers={**PAGE, "Authorization": "Bearer nonsense"})
    assert (wrong.status_code, ">Sign in</a>" in wrong.text) == (401, True)


def links(address: str, text: str) -> Iterator[str]:
    """The addresses of this service to which a page leads."""
    for found in _LINK.findall(text):
        whole = urldefrag(urljoin(f"http://localhost{address}", unescape(found)))[0]
        if urlsplit(whole).netloc == "localhost":
            yield whole.removeprefix("http://localhost")


@pytest.mark.heavy
@pytest.mark.parametrize("scope", list(AccessScope))
def test_every_link_of_every_page_answers_for_who_sees_it(client: TestClient, store: Store, scope: AccessScope) -> None:
    keep(store, a_study("one", options=TuneOptions().to_json()), [finished(1, 75.0, "one"), finished(2, 76.0, "one")])
    store.end_study("one", "complete")
    store.queue.add(CampaignOrder("two", "tune", {"kind": "tune"}, ("here",), "somebody", 0))
    store.node_checks.add(kept())
    ada = bearer(store.tokens.create("ada", scope, None)[1])
    report = "/api/v1/campaigns/one/report.html"  # it is made from more than is stored here
    seen, waiting = {"/", report}, ["/"]
    while waiting:
        address = waiting.pop()
        answer = client.get(address, headers={**PAGE, **ada})
        assert answer.status_code == 200, address
        if answer.headers["content-type"].startswith("text/html"):
            new = set(links(address, answer.text)) - seen
            seen |= new
            waiting += sorted(new)
    assert {"/node-checks", "/compare", "/campaigns/one", "/campaigns/two"} <= seen
    assert ("/new" in seen) == scope.covers(AccessScope.RUN)
