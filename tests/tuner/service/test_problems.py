import pytest
from fastapi.testclient import TestClient

from results.store.store import Store
from results.store.study_list import StudyLists


def test_an_unknown_address_is_a_problem(client: TestClient) -> None:
    answer = client.get("/api/v1/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "There is nothing at this address: /api/v1/openapi.json lists what there is."


def test_a_wrong_method_is_a_problem_that_tells_the_right_ones(client: TestClient) -> None:
    answer = client.delete("/healthz")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET"
    assert answer.json()["title"] == "Method Not Allowed"


def test_a_huge_body_is_refused(client: TestClient) -> None:
    answer = client.post("/healthz", content=b"x" * 1_000_001)
    assert answer.status_code == 413
    assert "1,000,000 bytes" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["evil.example", "192.168.1.7:8475", "", "[::1", "127.0.0.1.evil.example"])
def test_a_foreign_name_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/healthz", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["detail"].startswith("The service answers only under a name of this machine")


@pytest.mark.parametrize("host", ["localhost:8475", "127.0.0.1:8475", "[::1]:8475"])
def test_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.heavy
@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_page_of_another_site_cannot_change_anything(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/healthz", headers=headers).status_code == 403
    assert client.post("/healthz", headers={"Origin": "http://localhost"}).status_code == 405


@pytest.mark.parametrize("address", ["/healthz", "/api/v1/nothing"])
def test_every_answer_keeps_browsers_careful(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_a_database_that_cannot_be_read_is_a_problem_without_a_path(client: TestClient, store: Store) -> None:
    with store._database.writing() as connection:
        connection.exec_driver_sql("DROP TABLE trials")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "10"
    assert answer.json()["detail"].startswith("The database cannot be used now")
    assert client.get("/healthz").status_code == 200


def test_a_failure_tells_nothing_of_the_inside_and_has_the_headers(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: StudyLists) -> None:
        raise RuntimeError("secret of /root")

    monkeypatch.setattr(StudyLists, "check", fail)
    answer = client.get("/readyz")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "secret" not in answer.text


def test_the_api_describes_itself(client: TestClient) -> None:
    described = client.get("/api/v1/openapi.json").json()
    assert "/readyz" in described["paths"]
