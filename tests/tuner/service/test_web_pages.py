import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from explain_builders import keep
from fastapi.testclient import TestClient
from record_builders import a_study, finished

from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.options import TuneOptions
from tuner.service.pages.home import SHOWN

EVIL = "<script>alert(1)<"


class Elements(HTMLParser):
    """The text of each element of a name, and where links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, ""))
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser gives it
        self.found.append(("", ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, text = self.found[-1]
            self.found[-1] = (tag, text + data)

    def of(self, *tags: str) -> list[str]:
        return [text for tag, text in self.found if tag in tags]


@pytest.fixture
def three(store: Store) -> None:
    trials = [
        finished(number, 70.0 + number, key=f"k{number}", params={"NB": 64 * number, "grid": "1x2"})
        for number in range(1, 5)
    ]
    keep(store, a_study(space_text=""), trials)
    store.end_study("study", "complete")


def test_an_empty_database_says_how_to_begin(client: TestClient) -> None:
    assert "There is no campaign here yet: start one here" in client.get("/").text


@pytest.mark.heavy
@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("address", ["/docs", "/campaigns/study/trials/1"])
def test_a_page_that_is_kept_for_all_names_each_visitor(client: TestClient, store: Store, address: str) -> None:
    mine = client.get(address).text
    assert "(admin)</span>" in mine
    assert {"/new", "/tokens"} <= set(Elements(mine).links)
    _, token = store.tokens.create("ada", AccessScope.READ, None)
    theirs = client.get(address, headers={"Authorization": f"Bearer {token}"}).text
    assert 'ada <span class="caption">(read)</span>' in theirs
    assert not {"/new", "/tokens"} & set(Elements(theirs).links)


@pytest.mark.heavy
@pytest.mark.usefixtures("three")
def test_the_list_leads_to_each_campaign_and_it_to_its_files(client: TestClient) -> None:
    assert "/campaigns/study" in Elements(client.get("/").text).links
    page = client.get("/campaigns/study")
    links = Elements(page.text).links
    assert "74.00 GFLOPS" in page.text
    assert "/" in links
    assert all(client.get(link).status_code == 200 for link in links if link.startswith("/"))
    assert len({link for link in links if link.startswith("/api/v1/campaigns/study/")}) == 6


@pytest.mark.heavy
@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("address", ["/compare?studies=study&studies=other", "/api/v1/campaigns/study/report.html"])
def test_only_our_own_style_and_script_are_let_work(client: TestClient, store: Store, address: str) -> None:
    keep(store, a_study("other", space_text=""), [finished(1, study="other")])
    answer = client.get(address)
    policy = answer.headers["content-security-policy"]
    inline = Elements(answer.text).of("style", "script")
    assert inline
    for text in filter(None, inline):  # a script with an address has none
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert "unsafe" not in policy
    text = re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)
    assert re.findall(r"<[^>]*\s(?:style|on\w+)=.{0,60}", text) == []


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("address", ["/", "/new", "/compare", "/campaigns/study"])
def test_pages_of_templates_use_files_of_the_service_only(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert "'sha256-" not in policy
    assert "<style" not in answer.text
    assert not re.search(r"<script(?! src=.[/]assets/)", answer.text)
    assert not re.search(r"<[^>]*\s(style|on\w+)=", answer.text)


def test_names_that_are_html_stay_text(client: TestClient, store: Store) -> None:
    keep(store, a_study(EVIL, space_text="", host={"cpu_model": EVIL}), [finished(1, study=EVIL)])
    store.end_study(EVIL, "complete")
    home = client.get("/").text
    link = next(link for link in Elements(home).links if link.startswith("/campaigns/"))
    for page in (home, client.get(link).text):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;" in page


@pytest.mark.parametrize("address", ["/", "/campaigns/study"])
def test_a_page_is_not_read_again_when_its_campaign_has_ended(client: TestClient, store: Store, address: str) -> None:
    store.create_study(a_study())
    store.end_study("study", "complete")
    assert 'http-equiv="refresh"' not in client.get(address).text


def test_older_campaigns_are_a_link_away(client: TestClient, store: Store) -> None:
    for number in range(SHOWN + 1):
        store.create_study(a_study(f"c{number:02}"))
    first = Elements(client.get("/").text)
    older = next(link for link in first.links if link.startswith("/?cursor="))
    second = Elements(client.get(older).text)
    assert "/campaigns/c00" in second.links
    assert "/campaigns/c00" not in first.links
    assert "/" in second.links


@pytest.mark.heavy
def test_a_campaign_whose_space_no_longer_loads_has_its_pages(client: TestClient, store: Store) -> None:
    trials = [
        finished(number, 70.0 + number, key=f"k{number}", params={"NB": 64 * number, "N": 6000, "layout": "2x1"})
        for number in (1, 2, 3)
    ]
    space = "[parameters]\nNB = [64, 'of another time']\nwarp = 9\n"
    keep(store, a_study(space_text=space, options=TuneOptions().to_json()), trials)
    store.end_study("study", "complete")
    for address in ("/campaigns/study", "/api/v1/campaigns/study/report.html", "/api/v1/campaigns/study/best"):
        assert client.get(address).status_code == 200


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("address", ["/", "/new", "/compare", "/node-checks", "/dat"])
def test_every_page_leads_to_all_others_and_says_who_looks_at_it(client: TestClient, address: str) -> None:
    page = client.get(address).text
    assert set(Elements(page).links) >= {"/", "/new", "/compare", "/node-checks", "/dat", "/docs"}
    assert f'<a href="{address}" aria-current="page">' in page
    assert '<div class="visitor">' in page
    assert "Sign out" not in page, "nobody signed in here"


@pytest.mark.usefixtures("three")
def test_the_list_says_how_a_campaign_stands_with_an_icon_and_when_it_began(client: TestClient) -> None:
    page = client.get("/").text
    assert '<span class="state complete">complete</span>' in page
    assert re.search(r'<time datetime="20\d\d-[^"]*\+00:00">20\d\d-\d\d-\d\d \d\d:\d\d UTC</time>', page)


@pytest.mark.heavy
@pytest.mark.usefixtures("three")
def test_campaigns_that_are_compared_are_drawn_over_each_other(client: TestClient, store: Store) -> None:
    keep(store, a_study("other", space_text=""), [finished(1, study="other"), finished(2, 80.0, study="other")])
    page = client.get("/compare?studies=study&studies=other").text
    assert "Studies study and other" in page
    places = [
        page.index(text) for text in ("</h1>", "<h2>No difference", "<svg", "<h2>What differs", "How this was tested")
    ]
    assert places == sorted(places)
    assert "How the best rate of each study grew" in page
    assert re.search(r"\nother,0\.1\d*,80", page)


def test_the_page_of_the_api_tells_each_address_and_needs_no_script(client: TestClient) -> None:
    page = client.get("/docs")
    described = client.get("/api/v1/openapi.json").json()["paths"]
    assert all(path in page.text for path in described)
    assert "<script" not in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "unsafe" not in page.headers["content-security-policy"]
