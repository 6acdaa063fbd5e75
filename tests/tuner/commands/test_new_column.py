"""A new column is a field, a line and a migration: every face tells it that must, and none that must not."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from shutil import copytree

import pytest
from column_faces import API, AT_A_GLANCE, COMMANDS, DOWNLOADS, faces
from record_builders import DISTURBED, QUIET, finished

from results.columns import FIELDS, PUBLIC, TABLE, doubts
from results.record import TrialRecord
from tuner.reports.lists import trials_table

ROOT = Path(__file__).parents[3]
ADD = "ALTER TABLE trials ADD COLUMN {} TEXT NOT NULL DEFAULT ''"
EDITS = {
    "record.py": ("    session: int = 0\n", '    arithmetic: str = ""\n    rack: str = ""\n'),
    "columns.py": (
        '    "params": TrialColumn(',
        """    "arithmetic": TrialColumn(str, is_later=True, about="how", head="arithmetic", usual=("", "FP64")),
    "rack": TrialColumn(str, is_later=True, is_public=False),\n""",
    ),
    "store/migrations.py": (
        ')\n"""The name of each and its statements',
        f'    ("m999_columns", ("{ADD.format("arithmetic")}", "{ADD.format("rack")}")),\n',
    ),
}
"""Two new columns, of which one is private: the text in a file before which their lines come."""
DESCRIPTION = "/api/v1/openapi.json"
TO_PEOPLE = (*AT_A_GLANCE, "show one#1", "notification", "/campaigns/one", "/campaigns/one/trials/1")
"""Faces that tell the rate to people."""


def test_every_field_of_a_record_has_a_column_or_several() -> None:
    assert {*FIELDS, "hpl", "observed"} == {field.name for field in fields(TrialRecord)}


def test_a_column_of_the_observed_library_can_stand_in_lists_and_beside_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, table in product(("library_version", "hosts", "NB"), (TABLE, PUBLIC)):
        monkeypatch.setitem(table, name, replace(TABLE[name], head=name, usual=("usual",)))
    assert doubts(finished(1)) == ["0.3.21", "node-1,node-2", "192"]
    rows = trials_table("", [finished(1), finished(2, observed=None)], ()).rows
    assert ["0.3.21" in row and "node-1,node-2" in row and "192" in row for row in rows] == [True, False]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What every face of an hpltune with two more columns tells of a trial."""
    tree = tmp_path_factory.mktemp("hpltune")
    for package in ("tuner", "hpl", "runners", "search_spaces"):
        (tree / package).symlink_to(ROOT / package)
    copytree(ROOT / "results", tree / "results")
    for name, (before, lines) in EDITS.items():
        text = (tree / "results" / name).read_text()
        assert text.count(before) == 1
        (tree / "results" / name).write_text(text.replace(before, lines + before))
    program, paths = ROOT / "tests/contracts/column_faces.py", f"{tree}{os.pathsep}{ROOT / 'tests/contracts'}"
    words: list[str | Path] = [sys.executable, program, tree, '{"arithmetic": "FP8", "rack": "r-seven"}']
    more = os.environ | {"PYTHONPATH": paths, "HOME": str(tree)}
    done = subprocess.run(words, env=more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_every_face_tells_a_new_column(told: Mapping[str, str]) -> None:
    assert {face for face, text in told.items() if "FP8" not in text} == {DESCRIPTION, "/api/v1/campaigns"}
    assert "arithmetic" in told[DESCRIPTION]


def test_a_private_column_is_only_in_files_to_take_home(told: Mapping[str, str]) -> None:
    assert {face for face, text in told.items() if "r-seven" in text} == {"store", *DOWNLOADS, *COMMANDS}
    assert '"rack"' not in told[DESCRIPTION]


@pytest.mark.parametrize("face", TO_PEOPLE)
def test_what_is_not_usual_stands_beside_the_rate(told: Mapping[str, str], face: str) -> None:
    text = " ".join(told[face].split())
    assert any(f"75.50{words}" in text for words in (" GFLOPS, FP8", " (FP8)", " GFLOPS (FP8)", " │ FP8")), text


@pytest.mark.parametrize(("measured", "word"), [(DISTURBED, "disturbed"), ({}, "not known"), (QUIET, "undisturbed")])
def test_every_face_says_whether_a_run_was_disturbed(tmp_path: Path, measured: dict[str, float], word: str) -> None:
    found = faces(tmp_path, {"measurements": measured})
    people = TO_PEOPLE if word != "undisturbed" else ()
    asked = {*DOWNLOADS, "stream", "/api/v1/campaigns", API, f"{API}/1", *COMMANDS[:4], *people}
    assert not {face for face in asked if word not in found[face]}
