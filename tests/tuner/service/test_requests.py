"""What a service answers to requests, letter by letter: `--update` writes the file that holds it."""

import json
import os
import platform
import pwd
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from fastapi.testclient import TestClient
from golden import play, scenes_of, seen
from golden_studies import add_studies_without_answers, write_studies
from live_watch import trials
from node_check_builders import kept
from record_builders import a_study

from results.store.node_checks import NodeCheckState
from results.store.service.campaign_entry import QueueState
from results.store.store import Store

NOW = re.compile(r"20\d\d-\d\d-\d\d[T ][\d:.]+(?:Z|\+00:00| UTC)")
"""When something was handed in or done, which is now."""
ME = pwd.getpwuid(os.geteuid()).pw_name
TOLD = ("content-type", "location", "allow", "content-disposition")
"""Headers that are held."""


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the six studies and those without answers, to be copied."""
    file = tmp_path_factory.mktemp("golden") / "golden.db"
    write_studies(file)
    add_studies_without_answers(file)
    return file


@pytest.fixture
def store(studies: Path, tmp_path: Path) -> Iterator[Store]:
    with Store.open(shutil.copy(studies, tmp_path / "hpltune.db")) as store:
        yield store


WORK: Mapping[str, Callable[..., object]] = {
    "claim": lambda store, name: store.queue.claim(name),
    "end": lambda store, name, state, *reason: store.queue.end(name, QueueState(state), " ".join(reason)),
    "begin-study": lambda store, name: store.create_study(a_study(name)),
    "end-study": lambda store, name, state: store.end_study(name, state),
    "trials": lambda store, name, *rates: trials(store, *map(float, rates), name=name),
    "check-nodes": lambda store: store.node_checks.add(kept(ready=False)),
    "begin-check": lambda store, name: store.node_checks.add(kept(state=NodeCheckState.RUNNING, campaign=name)),
    "leave-check": lambda store, name: store.node_checks.leave(name),
}
"""What the process of a campaign does, by the first word of a prompt; the other prompts are requests."""


def form(client: TestClient, fields: str) -> dict[str, str]:
    """The fields of a form with the token of a page of ours."""
    token = re.search(r'name="form_token" value="([^"]+)"', client.get("/new").text)
    assert token is not None
    return {"form_token": token[1], **dict(parse_qsl(fields))}


def answered(client: TestClient, store: Store, text: str) -> str:
    """What a program or a browser reads that sends a request, behind which stand headers and JSON or a form."""
    request, *more = text.splitlines()
    method, *words = request.split()
    if method in WORK:
        WORK[method](store, *words)
        return ""
    body = next((line for line in more if line.startswith("{")), None)
    fields = next((line.removeprefix("form ") for line in more if line.startswith("form ")), None)
    headers = dict(line.split(": ", 1) for line in more if not line.startswith(("{", "form ")))
    kind = {"Content-Type": "application/json"} if body else {}
    data = None if fields is None else form(client, fields)
    answer = client.request(method, *words, content=body, data=data, headers={**kind, **headers})
    head = ", ".join(answer.headers[name] for name in TOLD if name in answer.headers)
    if "json" in head:
        shown = json.dumps(answer.json(), indent=1, ensure_ascii=False)
    else:
        shown = seen("".join(answer.text.partition("<main")[1:]))
    return f"{answer.status_code} {head}\n{plain(shown).rstrip()}\n"


def plain(shown: str) -> str:
    """A text without what is another one each time, and on each machine."""
    shown = re.sub(r"(name=(?:form_token|seen) value)=[^>]*", r"\1", shown.replace(platform.node(), "HERE"))
    shown = shown.replace("Unprocessable Content", "Unprocessable Entity")  # as Python calls it from 3.13 on
    return NOW.sub(now, re.sub(rf"(\"|by |of ){re.escape(ME)}\b", r"\1ME", shown))


def now(found: re.Match[str]) -> str:
    """A moment of the test has no digits, and others stay."""
    age = datetime.now(UTC) - datetime.fromisoformat(f"{found[0][:10]}T00:00Z")
    return "now" if abs(age) < timedelta(days=2) else found[0]


@pytest.mark.parametrize("scene", scenes_of("requests"))
def test_requests_are_answered_as_they_were(
    client: TestClient, store: Store, scene: str, request: pytest.FixtureRequest
) -> None:
    play(request, "requests", scene, lambda text: answered(client, store, text))
