"""Studies are deleted and renamed, with the folders of their runs, and never while somebody works on them."""

import json
import math
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from results.record import StudyNotes, ToldCaution
from results.store.store import Store
from tuner.options import TuneOptions

HOLD = """
import sys, time
from results.store.store import Store
with Store.open(sys.argv[1]) as store:
    store.take(sys.argv[2])
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def stored(home: Path) -> Callable[..., Path]:
    """Makes a study of one trial, whose files are where those of a real one would be."""

    def make(name: str, gflops: float | None = 75.0) -> Path:
        folder = home / "data" / "runs" / name / "00001"
        folder.mkdir(parents=True)
        (folder / "HPL.dat").write_text("its file")
        (home / "data" / "best" / name).mkdir(parents=True)
        with Store.open(home / "data" / "hpltune.db") as store:
            store.create_study(a_study(name, options=TuneOptions().to_json()))
            number = store.begin(begun(name))
            store.finish(finished(number, gflops, name, directory=str(folder), passed=gflops is not None))
            store.end_study(name, "interrupted")
        return folder

    return make


def names(home: Path) -> list[str]:
    with Store.open(home / "data" / "hpltune.db") as store:
        return [study.name for study in store.studies()]


def test_studies_are_deleted_with_their_trials_and_folders(
    hpltune: Run, home: Path, stored: Callable[..., Path]
) -> None:
    folders = [stored(name) for name in ("one", "two", "three")]
    assert "Study one: 1 trial\n" in hpltune.well("study", "delete", "one", "two", "--yes").stdout
    assert names(home) == ["three"]
    assert [folder.exists() for folder in folders] == [False, False, True]
    assert [one.name for one in (home / "data" / "best").iterdir()] == ["three"]
    with closing(sqlite3.connect(home / "data" / "hpltune.db")) as connection:
        assert connection.execute("SELECT DISTINCT study FROM outputs").fetchall() == [("three",)]


def test_a_study_at_work_is_neither_deleted_nor_renamed_nor_begun(
    hpltune: Run, home: Path, stored: Callable[..., Path]
) -> None:
    stored("one")
    holder = [sys.executable, "-c", HOLD, str(home / "data" / "hpltune.db"), "one"]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        for arguments in ("study delete one --yes", "study rename one two", "tune --study one", "blas --study one"):
            assert f"study one is being run by process {process.pid} on " in hpltune.refused(*arguments.split(), code=1)
        process.communicate("")
    assert names(home) == ["one"]


def test_a_renamed_study_keeps_its_trials_and_takes_its_folders_along(
    hpltune: Run, home: Path, stored: Callable[..., Path]
) -> None:
    stored("one")
    done = hpltune("study", "rename", "one", "before")
    assert (done.returncode, done.stdout) == (0, "Study one is called before now.\n")
    assert names(home) == ["before"]
    with Store.open(home / "data" / "hpltune.db") as store:
        [record] = store.records("before", outputs=True)
    assert (Path(record.directory) / "HPL.dat").read_text() == "its file"
    assert record.output
    assert sorted(one.name for one in (home / "data" / "runs").iterdir()) == ["before"]
    assert hpltune("best", "before").returncode == 0


@pytest.mark.real
@pytest.mark.usefixtures("simgrid")
def test_a_study_goes_on_where_the_same_cluster_is_named_again(hpltune: Run) -> None:
    tune = ("tune", "--cluster", "kronos", "--study", "again")
    hpltune.well(*tune, "--set", "N=1000", "--set", "NB=64,128", "--trials", "1", "--space", "quick")
    assert hpltune(*tune, "--resume", "--trials", "2").returncode == 0
    other = hpltune("tune", "--cluster", "infiniband64", "--study", "again", "--resume", "--trials", "3")
    assert "study again was begun on another cluster, or its file was changed since" in other.stderr


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_timed_or_stored(hpltune: Run, home: Path) -> None:
    done = hpltune("tune", "--space", "quick", "--out", "/proc/best")
    assert (done.returncode, done.stdout, names(home)) == (2, "", [])
    assert done.stderr.startswith("hpltune: --out /proc/best: /proc cannot be written")


@pytest.mark.usefixtures("prints_hpl")
def test_a_ranking_is_shown_though_the_winner_cannot_be_written_at_the_end(hpltune: Run, home: Path) -> None:
    (home / "out" / "HPL.dat").mkdir(parents=True)
    one = ("--xhpl", "xhpl", "--set", "N=1000", "--set", "NB=64", "--confirm", "0", "--trials", "1", "--space", "quick")
    done = hpltune("tune", *one, "--study", "unwritten", "--out", "out")
    assert done.returncode == 1
    assert "Best of study unwritten" in done.stdout
    assert "HPL.dat: Is a directory" in done.stderr


def test_a_stranger_s_notes_are_bounded_and_what_is_damaged_of_them_is_left_out(home: Path) -> None:
    def read(**stored: object) -> StudyNotes:
        with Store.open(home / "hpltune.db") as store:
            store.create_study(a_study(str(len(stored))))
            with closing(sqlite3.connect(store.place)) as connection, connection:
                connection.execute("UPDATE studies SET notes = ?", (json.dumps(stored),))
            return store.newest().notes

    told = {"text": "slow", "at": "2026-01-01T00:00:00+00:00"}
    notes = read(
        note="x" * 9000, tags=["<b>", 7, *(f"t{number}" for number in range(99))], cautions=[told, {"text": 7}]
    )
    assert len(notes.note) == 500
    assert len(notes.tags) == 20
    assert "<b>" not in notes.tags
    assert notes.cautions == (ToldCaution("slow", datetime(2026, 1, 1, tzinfo=UTC)),)
    assert read(note=7, nodes_left=True, noise_at_first=math.nan, cannot_have=[{"NB": [1]}], newer={}) == StudyNotes()
