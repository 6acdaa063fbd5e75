"""Which runtime starts ranks in an image, and with which words."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from runners.containers.charliecloud import Charliecloud
from runners.containers.contract import Container
from runners.containers.looking import ImageFacts, parse_look
from runners.containers.registry import RUNTIMES, ImageError, runtime_for
from runners.job import Job
from runners.launchers.openmpi import OpenMpi

WORK = Path("/data/runs/1")


def job(container: Container, environment: dict[str, str]) -> Job:
    """Two ranks in an image, behind a wrapper."""
    container = replace(container.of_ranks(environment, 2), label="one")
    return Job(
        program=("/opt/xhpl", "-x"),
        ranks=2,
        directory=WORK,
        environment=container.variables_of(environment),
        before=("numactl", "--localalloc"),
        container=container,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An image that is a folder."""
    for name in ("dev", "proc", "sys"):
        (tmp_path / "image" / name).mkdir(parents=True)
    return tmp_path / "image"


def test_the_runtime_stands_between_a_wrapper_and_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    container = Container(Charliecloud(), "/images/hpl", (Path("/data"), Path("/cache")))
    line = job(container, {"A": "1"}).line
    assert line == (
        *("numactl", "--localalloc", "ch-run", "--join-ct=2", "--join-tag=one", "--bind=/data", "--bind=/cache"),
        *("--cd=/data/runs/1", "/images/hpl", "--", "/opt/xhpl", "-x"),
    )


def test_a_library_is_preloaded_into_the_program_alone() -> None:
    container = Container(Charliecloud(), "/images/hpl", (Path("/data"),))
    asked = job(container, {"LD_PRELOAD": "/cache/witness.so", "A": "1"})
    assert asked.line[-4:] == ("/usr/bin/env", "LD_PRELOAD=/cache/witness.so", "/opt/xhpl", "-x")
    command = OpenMpi(Path("/usr/bin/mpirun"), 4, as_root=False).command(asked)
    assert "A=1" in command
    assert command.count("LD_PRELOAD=/cache/witness.so") == 1
    without = job(replace(container, preloads=False), {"LD_PRELOAD": "/cache/witness.so"})
    assert "LD_PRELOAD=/cache/witness.so" not in without.line


def test_each_launch_has_a_label_of_its_own() -> None:
    container = Container(Charliecloud(), "/images/hpl")
    assert container.of_ranks({}, 2).label != container.of_ranks({}, 2).label


def test_a_working_folder_elsewhere_is_shown_too() -> None:
    container = Container(Charliecloud(), "/images/hpl", (Path("/data"),))
    assert "--bind=/scratch/run" in container.words(Path("/scratch/run"))


def test_an_image_gets_places_for_folders_of_the_host(folder: Path) -> None:
    assert Charliecloud().prepare(str(folder), (Path("/data/mine"), Path("/tmp/there"))) == ""  # noqa: S108
    assert (folder / "data/mine").is_dir()
    assert not (folder / "tmp").exists(), "ch-run shows /tmp itself"
    (folder / "taken").touch()
    sentence = Charliecloud().prepare(str(folder), (Path("/taken/mine"),))
    assert re.search("needs an empty folder /taken/mine, which cannot be made: Not a directory", sentence)


def test_a_runtime_that_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ImageError, match="charliecloud is not installed: its program ch-run is not on PATH"):
        runtime_for(f"charliecloud={folder}")
    runtime, image = runtime_for(f"charliecloud={folder}", asked_here=False)
    assert (runtime.name, image) == ("charliecloud", str(folder))
    assert [runtime.version() for runtime in RUNTIMES] == [""] * len(RUNTIMES)


def test_the_digest_of_a_file_is_that_of_its_content(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "hpl.sqfs").write_bytes(b"abc")
    assert Charliecloud().digest(str(tmp_path / "hpl.sqfs")).startswith("ba7816bf")
    assert Charliecloud().digest(str(folder)) == ""


def test_what_an_image_tells_is_read_between_lines_of_others() -> None:
    told = """
    Welcome to this image.
hpltune-image cpu x86_64
hpltune-image program there
hpltune-image mpi /lib/libmpi.so.40 /lib/libmpi.so.40.30.4
hpltune-image ompi_info Open MPI v4.1.4 https://www.open-mpi.org/
hpltune-image same /lib/libopenblas.so
hpltune-image loads /cache/witness.so
"""
    assert parse_look(told) == ImageFacts(
        cpu="x86_64",
        program_there=True,
        mpi="/lib/libmpi.so.40 /lib/libmpi.so.40.30.4",
        mpi_tells={"ompi_info": "Open MPI v4.1.4 https://www.open-mpi.org/"},
        same=frozenset({Path("/lib/libopenblas.so")}),
        loads=True,
    )
    assert parse_look("") == ImageFacts()
