"""Log lines of a real server."""

import json
import subprocess
import sys

import pytest
from running_service import running_service
from service_client import bearer


@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_every_request_is_an_object_of_json() -> None:
    with running_service("--log", "json") as service:
        answer = service.client.get("/api/v1/campaigns?limit=1", headers={"Cookie": "hpltune=x.y"})
        service.client.get("/api/v1/campaigns/hpltune_secret", headers=bearer("hpltune_secret"))
        service.client.get("/healthz")
        service.end()
        lines = [json.loads(line) for line in service.said if line.startswith("{")]
    first, second = lines
    assert (first["method"], first["path"], first["status"]) == ("GET", "/api/v1/campaigns", 200)
    assert (first["address"], first["level"]) == ("127.0.0.1", "info")
    assert first["id"] == answer.headers["x-request-id"]
    assert 0 < first["ms"] < 60_000
    assert (second["path"], second["status"]) == ("/api/v1/campaigns/hpltune_…", 401)
    assert "secret" not in "".join(service.said)


@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_people_are_told_what_changed_something_or_failed() -> None:
    with running_service() as service:
        service.client.get("/api/v1/campaigns")
        service.client.get("/nothing")
        service.client.post("/api/v1/campaigns/monday/pause")
        service.end()
    told = [line.split(" (")[0].split(" ", 2)[2] for line in service.said[:2]]
    assert told == ["127.0.0.1 GET /nothing 404", "127.0.0.1 POST /api/v1/campaigns/monday/pause 404"]
    assert service.said[2:] == ["hpltune: the service has ended\n"]


@pytest.mark.process
def test_loggers_that_were_there_before_speak() -> None:
    """Those of asyncio, SQLAlchemy and others, with what nobody foresaw."""
    script = (
        "import logging, logging.config; names = ['asyncio', 'sqlalchemy.pool', 'of.others']\n"
        "early = [logging.getLogger(name) for name in names]\n"
        "from tuner.service.request_log import log_config; logging.config.dictConfig(log_config('plain'))\n"
        "for one in early: one.error('%s failed', one.name)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr
    assert said.splitlines() == ["asyncio failed", "sqlalchemy.pool failed", "of.others failed"]
