import pytest
from fastapi.testclient import TestClient

from results.store.store import Store
from results.store.study_list import StudyLists


def test_a_huge_body_is_refused(client: TestClient) -> None:
    answer = client.post("/healthz", content=b"x" * 1_000_001)
    assert answer.status_code == 413
    assert "1,000,000 bytes" in answer.json()["detail"]


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
