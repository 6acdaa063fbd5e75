import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from found_here import found_mpi
from in_process import run_in_process
from made_study import MakeStudy, studies
from net_lab import HostsLab
from on_head import OnHead, on_head
from replayed import replaying

from results.store.store import Store


@pytest.fixture
def home(tmp_path: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of his own: an empty data folder, and the shared cache."""
    monkeypatch.setenv("HPLTUNE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HPLTUNE_CACHE", str(shared_cache))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """The user's own database."""
    with Store.open(home / "data/hpltune.db") as store:
        yield store


@pytest.fixture
def hpltune(home: Path) -> Run:
    """Runs the command line in this process: for all that a command prints, stores and answers."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_in_process(arguments, home)

    return Run(run)


@pytest.fixture
def hpltune_process(home: Path) -> Run:
    """Starts the installed program as a user would: for tests of the process itself, which are marked so."""

    def run(*arguments: str, timeout_s: float = 240) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(HPLTUNE), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            cwd=home,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return Run(run)


@pytest.fixture
def head(lab: HostsLab, home: Path) -> OnHead:
    """Runs the command line on the first host of a laboratory."""
    return on_head(lab, home)


@pytest.fixture
def real_hpl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skips where real HPL cannot run."""
    found_mpi(monkeypatch, building=True)


@pytest.fixture
def prints_hpl(home: Path, mpirun: str) -> Path:
    """A program of the user's that behaves as xhpl does and computes nothing: `--xhpl xhpl`."""
    del mpirun
    return replaying(home)


@pytest.fixture
def make_study(home: Path) -> Iterator[MakeStudy]:
    """Makes studies whose trials a test makes one by one."""
    with studies(home) as make:
        yield make


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command waits for a quiet machine: what else runs here must not decide what a test sees."""
    monkeypatch.setattr("tuner.machine.quiet.others_on", lambda *_: {})
