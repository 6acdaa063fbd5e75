"""The page that writes an HPL.dat for any machine, as a browser without JavaScript sees it."""

from html import unescape

from fastapi.testclient import TestClient

from hpl.dat_parse import parse

ADDRESS = "/dat?nodes=16&cores=64&memory=256GiB&network=100g&cpu=zen4&ghz=&flops_per_cycle=&gflops="


def test_the_form_asks_for_the_fields_of_the_command_and_needs_no_script(client: TestClient) -> None:
    answer = client.get("/dat")
    assert answer.status_code == 200
    assert '<form class="filled" method="get" action="/dat">' in answer.text
    assert [
        name for name in ("nodes", "cores", "memory", "network", "N", "NB") if f'name="{name}"' not in answer.text
    ] == []
    assert "<script" not in answer.text
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    assert 'href="/dat"' in client.get("/").text


def test_a_form_that_is_filled_in_shows_the_file_its_reasons_and_commands(client: TestClient) -> None:
    page = client.get(ADDRESS).text
    assert "HPLinpack benchmark input file" in page
    assert "mpirun -np 128" in page
    assert "the squarest grid with P" in page
    assert 'value="256GiB"' in page


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


def test_a_word_in_place_of_a_number_is_told_in_our_words(client: TestClient) -> None:
    page = unescape(client.get("/dat", params={"cores": "x", "memory": "8GiB"}).text)
    assert "Physical cores of a node: write a whole number, not 'x'" in page
    assert "Input should" not in page
    page = unescape(client.get("/dat", params={"cores": "4", "memory": "8GiB", "colour": "red"}).text)
    assert "colour: there is no such field here" in page


def test_every_field_that_is_wrong_is_told_where_it_is(client: TestClient) -> None:
    page = unescape(client.get("/dat", params={"nodes": "0", "cores": "-1", "memory": "8GiB"}).text)
    assert "2 things are not right" in page
    assert '<a href="#nodes">Nodes: write 1 or more' in page
    assert page.count('aria-invalid="true"') == 2


def test_sentences_call_the_fields_as_the_form_does(client: TestClient) -> None:
    page = client.get("/dat", params={"nodes": "2", "cores": "4", "memory": "8GiB"}).text
    assert "a middle value, since “CPU” is not given" in page
    assert "it follows from “Expected rate in GFLOPS”, or from “CPU” and “Clock in GHz” together" in page
    assert "“Network of a node” is not given" in page
    assert "“Physical cores of a node” is missing" in client.get("/dat", params={"nodes": "2"}).text


def test_commands_wrap_where_the_page_is_narrow(client: TestClient) -> None:
    page = client.get(ADDRESS).text
    assert '<pre class="copied">mpirun -np 128' in page
    assert '<pre class="copied">OMP_NUM_THREADS=8 srun' in page


def test_a_machine_that_no_hpl_can_use_is_one_sentence(client: TestClient) -> None:
    answer = client.get("/dat", params={"nodes": "1000000", "cores": "10000", "memory": "900TiB", "network": "1g"})
    assert answer.status_code == 422
    assert "does not fill it" in answer.text
