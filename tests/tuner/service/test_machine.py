import pytest
from fastapi.testclient import TestClient
from record_builders import a_study
from running_service import running_service
from waiting import PATIENCE_S

from results.store.store import Store
from tuner.service.machine_queries import MachineQueries

PREDICTIONS = "/api/v1/predictions"


@pytest.mark.real
@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_doctor_and_a_prediction_are_asked_of_a_real_service() -> None:
    with running_service() as service:
        told = service.client.get("/api/v1/doctor", timeout=PATIENCE_S)
        assert told.json()["host"]["physical_cores"] >= 1
        assert "/usr/" not in told.text
        assert service.client.get("/api/v1/doctor").text == told.text
        kronos = {"cluster": "kronos", "trials": 1}
        predicted = service.client.post(PREDICTIONS, json=kronos, timeout=PATIENCE_S)
        assert 5.0 < predicted.json()["gflops"] < 28.096
        assert predicted.json()["stopped_early"] is False
        assert service.client.get("/api/v1/campaigns").json()["campaigns"] == []


def test_nothing_is_measured_beside_a_campaign(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_study(a_study())
    monkeypatch.setattr(MachineQueries, "_campaign_runs", lambda _: True)
    for answer in (client.get("/api/v1/doctor"), client.post(PREDICTIONS, json={"cluster": "kronos"})):
        assert answer.status_code == 503
        assert answer.json()["detail"].startswith("A campaign runs on this machine")
        assert answer.headers["retry-after"] == "300"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("design", "place"),
    [
        ({}, "cluster"),
        ({"cluster": "/etc/passwd"}, "cluster"),
        ({"cluster": "kronos", "space": "/etc/passwd"}, "space"),
        ({"cluster": "kronos", "network": "token-ring"}, "document"),
        ({"cluster": "kronos", "trials": 13}, "trials"),
        ({"cluster": "kronos", "full": True}, "full"),
        ([], "document"),
    ],
)
def test_a_design_that_cannot_be_is_a_problem(client: TestClient, design: object, place: str) -> None:
    answer = client.post(PREDICTIONS, json=design)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == place


def test_the_page_of_the_api_tells_each_address_and_needs_no_script(client: TestClient) -> None:
    page = client.get("/docs")
    described = client.get("/api/v1/openapi.json").json()["paths"]
    assert all(path in page.text for path in described)
    assert "<script" not in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "unsafe" not in page.headers["content-security-policy"]
