"""What commands tell of stored studies, letter by letter: `--update` writes the files that hold it."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from as_user import Run
from golden import hold, play, scenes_of, seen
from golden_studies import STUDIES, add_studies_without_answers, write_studies

from tuner.provision.plan import Needs

FACES = (
    *("show STUDY", "show STUDY --json", "show STUDY#1", "show STUDY#1 --json", "show STUDY#9", "best STUDY"),
    *(
        "best STUDY --json",
        "best STUDY --pareto usd-per-gflops",
        "compare STUDY --by NB",
        "compare STUDY --by NB --json",
    ),
    *("plot --study STUDY", "explain STUDY", "export csv STUDY", "export jsonl STUDY", "export md STUDY"),
    *("export dat STUDY", "export sheet STUDY"),
)
OF_ALL = ("show --all", "show --json", "compare plain cluster", "compare plain disturbed simulated --json", "best")


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the six studies, to be copied."""
    file = tmp_path_factory.mktemp("golden") / "golden.db"
    write_studies(file)
    return file


@pytest.fixture
def golden_db(studies: Path, home: Path) -> Path:
    return Path(shutil.copy(studies, home))


def told(hpltune: Run, home: Path, words: str) -> str:
    done = hpltune(*shlex.split(words), "--db", "golden.db")
    return f"$ hpltune {words}\n{done.stdout}{done.stderr}exit {done.returncode}\n".replace(str(home), "HOME")


@pytest.mark.usefixtures("golden_db")
@pytest.mark.parametrize("study", [*STUDIES, "all"])
def test_commands_tell_of_stored_studies_what_they_always_told(
    hpltune: Run, home: Path, study: str, request: pytest.FixtureRequest
) -> None:
    """A change of a letter here is meant: it has a reason in its commit."""
    faces = OF_ALL if study == "all" else [face.replace("STUDY", study) for face in FACES]
    hold(request, study, "\n".join(told(hpltune, home, face) for face in faces))


@pytest.mark.usefixtures("golden_db")
@pytest.mark.parametrize("study", STUDIES)
def test_pages_of_stored_studies_show_what_they_always_showed(
    hpltune: Run, home: Path, study: str, request: pytest.FixtureRequest
) -> None:
    hpltune.well("report", study, "--db", "golden.db", "--out", "page.html")
    hold(request, f"{study}.page", seen((home / "page.html").read_text()))


@pytest.fixture
def user(home: Path, golden_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who has these studies, on a machine that lacks all that runs HPL, and where nothing is installed."""
    (home / "data").mkdir()
    add_studies_without_answers(golden_db.rename(home / "data/hpltune.db"))
    monkeypatch.setattr("tuner.provision.setup.install", lambda *_, **__: "everything")
    for module in ("commands.set_up", "provision.setup"):
        monkeypatch.setattr(f"tuner.{module}.needs", lambda *_, **__: Needs(compiler=True, mpi=True, blas=True))


def word(text: str) -> str:
    """A word as a prompt writes it: `\\x1b`, `\\n` and the like stand for what no file shows."""
    return text.encode("ascii", "backslashreplace").decode("unicode_escape") if "\\" in text else text


def answered(hpltune: Run, home: Path, line: str) -> str:
    """What a user reads who types a line: a call of hpltune, or anything else for the shell."""
    if line.startswith("hpltune "):
        done = hpltune(*map(word, shlex.split(line)[1:]))
        end = f"exit {done.returncode}\n"
    else:
        done = subprocess.run(
            ["sh", "-c", f"export LC_ALL=C; {line}"], cwd=home, capture_output=True, text=True, check=False
        )
        end = f"exit {done.returncode}\n" if done.returncode else ""
    assert "Traceback" not in done.stderr
    return f"{done.stdout}{done.stderr}{end}".replace(str(home), "HOME")


DIALOGUES = [(name, scene) for name in ("dialogues", "mistakes") for scene in scenes_of(name)]


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(("name", "scene"), DIALOGUES)
def test_commands_answer_one_after_the_other_as_they_did(
    hpltune: Run, home: Path, name: str, scene: str, request: pytest.FixtureRequest
) -> None:
    play(request, name, scene, lambda line: answered(hpltune, home, line))
