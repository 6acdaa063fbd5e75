"""Which runtime starts ranks in an image, and with which words."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from stand_in_runtimes import apptainer, podman, srun_with_pyxis

from runners.batch.slurm.srun import Srun
from runners.containers.apptainer import Apptainer, Singularity
from runners.containers.charliecloud import OF_A_SYSTEM, Charliecloud
from runners.containers.contract import Container
from runners.containers.looking import ImageFacts, parse_look
from runners.containers.podman import Podman
from runners.containers.registry import RUNTIMES, ImageError, runtime_for
from runners.containers.slurm import SlurmImage
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
    for name in OF_A_SYSTEM:
        (tmp_path / "image" / name).mkdir(parents=True)
    return tmp_path / "image"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runtimes stand in commands by their names, where nobody knows their paths."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv("TMPDIR", raising=False)


@pytest.mark.usefixtures("nothing_installed")
def test_the_runtime_stands_between_a_wrapper_and_the_program() -> None:
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
    assert not (folder / "tmp/there").exists(), "ch-run shows /tmp itself"
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


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("runtime", [Apptainer(), Singularity()])
def test_apptainer_shows_folders_and_the_gpus_of_the_program(runtime: Apptainer) -> None:
    line = Container(runtime, "/images/hpl.sif", (Path("/data"),), gpus="NVIDIA").words(WORK)
    assert line == (runtime.program, "exec", "--nv", "--bind=/data", "--pwd=/data/runs/1", "/images/hpl.sif")


@pytest.mark.usefixtures("nothing_installed")
def test_podman_leaves_network_processes_and_memory_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    line = Container(Podman(), "localhost/hpl:2.3", (Path("/data"),)).words(WORK)
    assert line[:3] == ("podman", "run", "--rm")
    assert {"--network=host", "--pid=host", "--ipc=host", "--env-host", "--userns=keep-id"} <= set(line)
    assert line[-2:] == ("--pull=never", "localhost/hpl:2.3")
    assert "--volume=/data:/data" in line
    assert Podman().variables == {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def test_srun_puts_all_of_the_command_into_the_image() -> None:
    container = Container(SlurmImage(), "nvcr.io#nvidia/hpc-benchmarks:26.02", (Path("/data"), Path("/cache")))
    command = Srun(1).command(job(container, {"LD_PRELOAD": "/cache/witness.so"}))
    at = command.index("--container-image=nvcr.io#nvidia/hpc-benchmarks:26.02")
    assert command[at + 1 :] == [
        *("--container-mounts=/data:/data,/cache:/cache", "--container-workdir=/data/runs/1"),
        *("numactl", "--localalloc", "/usr/bin/env", "LD_PRELOAD=/cache/witness.so", "/opt/xhpl", "-x"),
    ]


def test_an_image_goes_to_the_first_installed_runtime_that_takes_it(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    sif = tmp_path / "hpl.sif"
    sif.touch()
    with pytest.raises(ImageError, match="podman, which knows images by name, is not installed"):
        runtime_for("localhost/hpl:2.3")
    folder_of = (
        r"install it, or make a folder of it \(`ch-image pull ubuntu:22\.04`, `ch-convert ubuntu:22\.04 FOLDER`\)"
    )
    with pytest.raises(ImageError, match=rf"^apptainer is not installed: its program .* is not on PATH; {folder_of}"):
        runtime_for("docker://ubuntu:22.04")
    with pytest.raises(ImageError, match=rf"^there is no such file or folder, and podman, .*: {folder_of}"):
        runtime_for("ubuntu:22.04")
    with pytest.raises(
        ImageError, match=r"^there is no image ubuntu; only podman and .*: make a folder of it .* and name"
    ):
        runtime_for("charliecloud=ubuntu")
    assert runtime_for("docker://ubuntu:22.04", asked_here=False)[0].name == "apptainer"
    apptainer(programs, "singularity")
    podman(programs)
    assert runtime_for(str(sif))[0].name == "singularity"
    assert runtime_for(str(folder))[0].name == "singularity"
    assert runtime_for(f"podman={folder}")[0].name == "podman"
    assert runtime_for("localhost/hpl:2.3")[0].name == "podman"
    assert runtime_for("docker://alpine")[0].name == "singularity"
    with pytest.raises(ImageError, match=r"podman has no image localhost/hpl:2\.4: `podman pull"):
        runtime_for("localhost/hpl:2.4")
    assert Podman().digest("localhost/hpl:2.3") == "0123456789abcdef"
    assert Podman().version() == "podman version 4.3.1"


def test_an_srun_without_pyxis_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    other = srun_with_pyxis(tmp_path)
    assert runtime_for("slurm=hpl.sqfs")[0].name == "slurm"
    other.write_text("#!/bin/sh\necho no such thing\n")
    with pytest.raises(ImageError, match="this srun starts no images: Slurm needs the plugin pyxis for that"):
        runtime_for("slurm=hpl.sqfs")
