"""The first page and the comparison, as a browser without JavaScript sees them."""

import html
import re
from dataclasses import replace

import pytest
from explain_builders import keep
from fastapi.testclient import TestClient
from record_builders import a_study, finished
from waiting import until

from results.store.store import Store


def text_of(client: TestClient, address: str = "/", status: int = 200) -> str:
    """What people read on a page."""
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text)))


def listed(client: TestClient, address: str) -> list[str]:
    """The campaigns of the list, which can be ticked."""
    return re.findall(r'name="studies" value="([^"]+)"', client.get(address).text)


def hand_in(client: TestClient, name: str, **more: object) -> None:
    answer = client.post("/api/v1/campaigns", json={"kind": "tune", "space": "quick", "name": name, **more})
    assert answer.status_code == 201, answer.text


@pytest.fixture
def two(store: Store) -> None:
    """Two studies with runs."""
    for name, gflops in (("before", 70.0), ("after", 80.0)):
        runs = [finished(number, gflops + number, study=name, key="k", params={"NB": 64}) for number in (1, 2, 3)]
        keep(store, a_study(name, space_text=""), runs)
        store.end_study(name, "complete")


def test_machines_are_free_or_work_on_a_campaign(client: TestClient, store: Store) -> None:
    assert "(this machine) free" in text_of(client)
    assert not {"Running now", "Queue", "Last results"} & set(re.findall(r"<h2[^>]*>([^<]*)", client.get("/").text))
    hand_in(client, "first")
    store.queue.claim("first")
    until(lambda: "(this machine) works on first" in text_of(client))
    assert re.search(r"Campaigns .* Running now first running started by \w+, on .* All campaigns", text_of(client))


@pytest.mark.usefixtures("two")
def test_last_results_have_a_picture_of_how_they_grew(client: TestClient, store: Store) -> None:
    grew = "The best rate grew from 81.00 to 83.00 GFLOPS in 3 trials."
    assert f'role="img" aria-label="{grew}"><path' in client.get("/").text
    run = finished(4, 90.0, study="after", key="k", params={"NB": 64})
    store.finish(replace(run, number=store.begin(run)))
    assert "from 81.00 to 90.00 GFLOPS in 4 trials" in client.get("/").text


@pytest.mark.usefixtures("two")
def test_filters_of_the_list_stay_in_their_form(client: TestClient, store: Store) -> None:
    store.create_study(a_study("virtual", engine="grid", versions={"simulator": "SimGrid"}))
    assert listed(client, "/") == ["virtual", "before", "after"]
    assert listed(client, "/?name=&state=&space=&engine=grid&simulated=") == ["virtual"]
    assert listed(client, "/?state=complete&name=ef") == ["before"]
    assert listed(client, "/?simulated=no") == ["before", "after"]
    assert '<option value="grid" selected>' in client.get("/?engine=grid").text
    assert "No campaign is like that: show all ." in text_of(client, "/?name=nobody")


@pytest.mark.usefixtures("two")
def test_campaigns_are_found_by_their_tags_and_tell_their_note(client: TestClient, store: Store) -> None:
    store.note("after", lambda notes: replace(notes, tags=("new_switch",), note="with <b>jumbo</b> frames, no old"))
    store.note("before", lambda notes: replace(notes, tags=("newXswitch",)))
    assert listed(client, "/?tag=new_switch") == ["after"]
    assert listed(client, "/?tag=old") == []
    assert '<a class="tag" href="/?tag=new_switch">new_switch</a>' in client.get("/").text
    assert "Note: with <b>jumbo</b> frames, no old" in text_of(client, "/campaigns/after")
    assert "&lt;b&gt;jumbo" in client.get("/campaigns/after").text


@pytest.mark.usefixtures("two")
def test_what_is_ticked_stays_ticked_when_the_list_is_read_again(client: TestClient) -> None:
    board = client.get("/board?studies=after").text
    assert re.findall(r'value="(\w+)"[^>]* checked', board) == ["after"]
