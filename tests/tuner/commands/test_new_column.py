"""A new column is a field, a line and a migration: every face tells it that must, and none that must not."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

import pytest
from column_faces import ADDRESSES, COMMANDS

ROOT = Path(__file__).parents[3]
ADD = "ALTER TABLE trials ADD COLUMN {} TEXT NOT NULL DEFAULT ''"
EDITS = {
    "record.py": ("    session: int = 0\n", ['    arithmetic: str = ""', '    rack: str = ""']),
    "columns.py": (
        '    "params": TrialColumn(',
        [
            '    "arithmetic": TrialColumn(str, is_later=True, about="how", head="arithmetic", usual=("", "FP64")),',
            '    "rack": TrialColumn(str, is_later=True, is_public=False),',
        ],
    ),
    "store/migrations.py": (
        ')\n"""The name of each and its statements',
        [f'    ("m999_columns", ("{ADD.format("arithmetic")}", "{ADD.format("rack")}")),'],
    ),
}
"""Two new columns, of which one is private: the text in a file before which their lines come."""
ON_THIS_MACHINE = {"store", "CSV", "JSON lines", "Parquet", "list as JSON", "trial", "trial as JSON"}
"""Faces that tell private columns, too."""
AT_A_GLANCE = ("list", "trial", "best", "studies", "notification", "page of a campaign", "page of a trial")
"""Faces that tell the rate to people."""


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
        (tree / "results" / name).write_text(text.replace(before, "\n".join((*lines, before))))
    paths = os.pathsep.join(map(str, (tree, ROOT / "tests/contracts")))
    done = subprocess.run(
        [sys.executable, ROOT / "tests/contracts/column_faces.py", tree, '{"arithmetic": "FP8", "rack": "r-seven"}'],
        env=os.environ | {"PYTHONPATH": paths, "HOME": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    assert found.keys() == {"store", "Parquet", "stream", "notification", *COMMANDS, *ADDRESSES}
    return found


def test_every_face_tells_a_new_column(told: Mapping[str, str]) -> None:
    assert {face for face, text in told.items() if "FP8" not in text} == {"description of the API"}
    assert "arithmetic" in told["description of the API"]


def test_a_private_column_stays_on_this_machine(told: Mapping[str, str]) -> None:
    assert {face for face, text in told.items() if "r-seven" in text} == ON_THIS_MACHINE
    assert '"rack"' not in told["description of the API"]


@pytest.mark.parametrize("face", AT_A_GLANCE)
def test_what_is_not_usual_stands_beside_the_rate(told: Mapping[str, str], face: str) -> None:
    text = " ".join(told[face].split())
    assert any(f"75.50{words}" in text for words in (" GFLOPS, FP8", " (FP8)", " GFLOPS (FP8)")), text
