"""Requests that the OpenAPI document allows, and some that it does not, made up by schemathesis."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
import requests
import schemathesis
from explain_builders import keep
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from record_builders import a_study, finished
from running_service import OpenService, service_in_thread
from schemathesis import GenerationMode

from results.store.store import Store

LEFT_OUT = re.compile("/events$|report.html|parquet")
"""Streams without an end, and what takes many seconds."""
INSIDE = ("Traceback", 'File "', ".py", "sqlite", "hpltune.db")


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Iterator[OpenService]:
    """A server on a port of its own, with one campaign, which starts none."""
    keep(store, a_study("one"), [finished(1, 75.0, "one")])
    store.end_study("one", "complete")
    with service_in_thread(store, tmp_path) as service:
        yield service


def said_well(case: Any) -> None:
    """The answer is right, or one sentence that tells nothing of the inside."""
    case.headers.pop("Authorization", None)
    if case.path_parameters and "name" in case.path_parameters and len(case.path_parameters["name"]) % 2:
        case.path_parameters["name"] = "one"
    answer = case.call()
    assert answer.status_code < 500, (case.as_curl_command(), answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"], case.as_curl_command()
        detail = answer.json()["detail"]
        assert detail, case.as_curl_command()
        assert "\n" not in detail, detail
        asked = all_that_was_asked(answer.request)
        assert not [word for word in INSIDE if word in detail and word not in asked], detail


def all_that_was_asked(request: requests.PreparedRequest) -> str:
    """The text of a request, which its answer may repeat: a made-up name can look like a detail of the inside."""
    body = request.body
    return unquote_plus(request.url or "") + (body.decode(errors="replace") if isinstance(body, bytes) else str(body))


@pytest.mark.filterwarnings("ignore")
def test_every_request_that_can_be_made_up_gets_a_right_answer_or_a_sentence(
    service: OpenService, request: pytest.FixtureRequest
) -> None:
    schema = schemathesis.openapi.from_url(f"{service.client.base_url}/api/v1/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # the document can be read
        if LEFT_OUT.search(operation.path):
            continue
        for mode in GenerationMode:
            try_all(operation.as_strategy(generation_mode=mode), request.config.getoption("--requests"))
        tried += 1
    assert tried > 20


def try_all(cases: Any, count: int) -> None:
    limits = settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with suppress(Unsatisfiable):  # an address that takes nothing has no wrong input
        limits(given(case=cases)(said_well))()
