"""What a service answers to requests, letter by letter: `--update` writes the file that holds it."""

import json
import os
import platform
import pwd
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from golden import play, scenes_of, seen
from golden_studies import add_studies_without_answers, write_studies

from results.store.store import Store

NOW = re.compile(r"\"20\d\d-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)\"")
"""When something was handed in, which is now."""
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


def answered(client: TestClient, text: str) -> str:
    """What a program or a browser reads that sends a request; its headers and JSON stand behind its address."""
    request, *more = text.splitlines()
    method, address = request.split(maxsplit=1)
    body = next((line for line in more if line.startswith("{")), None)
    headers = dict(line.split(": ", 1) for line in more if line != body)
    given = {"Content-Type": "application/json"} if body else {}
    answer = client.request(method, address, content=body, headers={**given, **headers})
    head = ", ".join(answer.headers[name] for name in TOLD if name in answer.headers)
    if "json" in head:
        shown = NOW.sub('"now"', json.dumps(answer.json(), indent=1, ensure_ascii=False))
        shown = shown.replace(f'"{platform.node()}"', '"HERE"').replace(f'"{ME}"', '"ME"')
    else:
        shown = seen(answer.text.partition("</header>")[2])
    return f"{answer.status_code} {head}\n{shown.rstrip()}\n"


@pytest.mark.parametrize("scene", scenes_of("requests"))
def test_requests_are_answered_as_they_were(client: TestClient, scene: str, request: pytest.FixtureRequest) -> None:
    play(request, "requests", scene, lambda text: answered(client, text))
