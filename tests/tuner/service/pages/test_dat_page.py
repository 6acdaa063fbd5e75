"""The page that writes an HPL.dat for any machine, as a browser without JavaScript sees it."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from golden import hold_scene, seen

from hpl.dat_parse import parse
from tuner.commands.cpu_names import read_cpu, sold_cpus
from tuner.service.pages.dat import cpu_examples

ADDRESS = "/dat?nodes=16&cores=64&memory=256GiB&network=100g&cpu=zen4&ghz=&flops_per_cycle=&gflops="


def test_the_file_is_downloaded_as_it_is_shown(client: TestClient) -> None:
    answer = client.get(ADDRESS.replace("/dat?", "/dat/HPL.dat?"))
    assert answer.headers["content-disposition"] == 'attachment; filename="HPL.dat"'
    assert parse(answer.text).ranks == 128


def test_a_mistake_stands_at_its_field_with_what_was_written(client: TestClient) -> None:
    answer = client.get("/dat", params={"cores": "4", "memory": "<b>256"})
    assert answer.status_code == 422
    assert 'id="memory-wrong"' in answer.text
    assert "&lt;b&gt;256" in answer.text
    for wrong in ({"cores": "many", "memory": "1GiB"}, {"nodes": "0", "cores": "1", "memory": "1GiB"}, {"nodes": "4"}):
        assert client.get("/dat", params=wrong).status_code == 422
    assert client.get("/dat/HPL.dat", params={"nodes": "4"}).status_code == 422


def test_every_cpu_and_every_machine_of_the_lists_can_be_chosen(client: TestClient) -> None:
    chosen = {read_cpu(name).name.rpartition("(")[2].rstrip(")") for name in cpu_examples()}
    assert chosen == {one.archspec for one in sold_cpus()}
    listed = re.findall(r'<li><a href="(/dat[?][^"]+)"', client.get("/dat").text)
    assert [client.get(unescape(address)).status_code for address in listed] == [200] * 5


def test_the_file_is_sent_alone_while_somebody_types(client: TestClient) -> None:
    part = client.get("/dat/preview", params={"cores": "4", "memory": "8GiB"}).text
    assert (part.count("<pre"), part.count("<form")) == (3, 0)
    wrong = client.get("/dat/preview", params={"cores": "4"})
    assert (wrong.status_code, "is missing" in wrong.text) == (200, True), "htmx shows no answer of another status"


SCENES = {
    "an empty form": "",
    "a machine": ADDRESS.removeprefix("/dat?"),
    "a machine of which little is told": "nodes=2&cores=4&memory=8GiB",
    "a field is missing": "nodes=2",
    "a word in place of a number": "cores=x&memory=8GiB",
    "a field that there is not": "cores=4&memory=8GiB&colour=red",
    "two fields are wrong": "nodes=0&cores=-1&memory=8GiB",
    "a machine that no HPL can use": "nodes=1000000&cores=10000&memory=900TiB&network=1g",
}


@pytest.mark.parametrize("scene", SCENES)
def test_the_page_is_what_it_was(client: TestClient, request: pytest.FixtureRequest, scene: str) -> None:
    answer = client.get(f"/dat?{SCENES[scene]}")
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    lists = r'<datalist.*?</datalist>|<details class="known".*?</details>'
    told = re.sub(lists, "", answer.text.partition("</header>")[2], flags=re.DOTALL)
    hold_scene(request, "dat_pages", SCENES, scene, f"{answer.status_code}\n{seen(told)}")
