"""A command line that a test runs in its own process is what the installed program is, and leaves nothing behind."""

import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study

from results.store.store import Store
from tuner.commands.stored import show


@pytest.fixture
def stored(home: Path) -> Path:
    """A user who has a study."""
    with Store.open(home / "data/hpltune.db") as store:
        store.create_study(a_study())
    return home


@pytest.mark.process
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("study", "--help"), 0),
        (("show",), 0),
        (("tune", "--quickly"), 2),
        (("tune", "--study", ""), 2),
        (("show", "none"), 1),
    ],
)
def test_it_prints_and_ends_as_the_installed_program_does(
    hpltune: Run, hpltune_process: Run, arguments: tuple[str, ...], code: int
) -> None:
    here, installed = hpltune(*arguments), hpltune_process(*arguments)
    assert (here.returncode, here.stdout, here.stderr) == (installed.returncode, installed.stdout, installed.stderr)
    assert here.returncode == code


@pytest.mark.usefixtures("stored")
def test_what_nobody_expected_is_a_traceback_and_1(hpltune: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_more: object) -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(show, "show_studies", fail)
    done = hpltune("show")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ValueError: a mistake of ours\n")


def test_it_leaves_nothing_behind(hpltune: Run, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (stored / "elsewhere").mkdir()
    monkeypatch.chdir(stored / "elsewhere")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")

    def state() -> list[object]:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        streams = [sys.stdin, sys.stdout, sys.stderr, sys.excepthook, sys.argv]
        return [*handlers, *streams, dict(os.environ), Path.cwd(), warnings.showwarning, list(warnings.filters)]

    before = state()
    for arguments in (("show",), ("tune", "--engine", "none"), ("--help",)):
        hpltune(*arguments)
        assert state() == before


def test_it_has_nothing_to_read_and_temporary_files_where_the_environment_says(
    hpltune: Run, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tempfile.gettempdir() != str(stored)
    monkeypatch.setenv("TMPDIR", str(stored))
    seen: list[object] = []

    def look(*_arguments: object, **_more: object) -> None:
        seen.extend([tempfile.gettempdir(), sys.stdin.read(), sys.stdout.isatty()])
        raise FileNotFoundError(2, "gone", "here")

    monkeypatch.setattr(show, "show_studies", look)
    done = hpltune("show")
    assert seen == [str(stored), "", False]
    assert (done.returncode, done.stderr) == (1, "hpltune: here: gone\n")
