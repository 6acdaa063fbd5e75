"""`hpltune` on nodes that share no folder with their head: programs, BLAS and inputs are copied to them."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import HPLTUNE
from needs import skip_without
from net_lab import HostsLab
from on_head import OnHead, on_head
from waiting import until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
SHORT = ("--blas", "openblas", "--set", "N=800", "--set", "NB=64", "--set", "binding=none", "--engine", "random")


@pytest.fixture
def lab(hosts: HostsLab, shared_cache: Path) -> Iterator[HostsLab]:
    """Two hosts; the second one has neither the cache nor an OpenBLAS, and a folder of its own for copies."""
    lab = hosts.wired(2)
    (lab.folder / "stage").mkdir(exist_ok=True)
    with lab.hidden("h2", shared_cache, lab.folder / "stage", *openblas()):
        yield lab


def openblas() -> list[Path]:
    """The folders of OpenBLAS' builds in Debian's packages."""
    found = list(Path("/usr/lib").glob("*-linux-gnu/openblas-*"))
    if not found:
        skip_without("Debian's OpenBLAS")
    return found


@pytest.fixture
def hpltune(lab: HostsLab, home: Path) -> Iterator[OnHead]:
    with lab.hidden("h2", home):
        yield on_head(lab, home)


@pytest.fixture
def cluster(lab: HostsLab, home: Path) -> Path:
    return write_cluster(lab, home / "lab.toml", stage="copy", stage_folder=str(lab.folder / "stage"))


def write_cluster(lab: HostsLab, file: Path, **further: object) -> Path:
    file.write_text(f"{lab.cluster(**further)}[node]\nmemory_gib = 1\n")
    return file


def copies(lab: HostsLab) -> dict[str, list[str]]:
    return {host: lab.files(host, lab.folder / "stage") for host in lab.names}


def runs_a_copy(lab: HostsLab, host: str) -> bool:
    return any(line.startswith(str(lab.folder / "stage")) for line in lab.processes(host))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_study_and_its_winner_run_on_nodes_that_share_no_folder(
    hpltune: OnHead, lab: HostsLab, cluster: Path, mpi: str
) -> None:
    if mpi == "mpich" and shutil.which("mpiexec.mpich") is None:
        skip_without("MPICH")
    asked = ("--set", f"mpi={mpi}", "--trials", "1", "--study", "one", "--json")
    done = hpltune.well("tune", "--cluster", str(cluster), *SHORT, *asked)
    assert re.search(rf"#1 .* {mpi} 2x1", done.stderr)
    records = hpltune.told("show", "one")
    assert {(*record["hosts"], record["invalidity"]) for record in records} == {("h1", "h2", None)}
    hpltune.well("run", json.loads(done.stdout)["hpl_dat"], "--like", "one")
    assert copies(lab) == {"h1": [], "h2": []}


def test_groups_of_nodes_that_share_no_folder_run_hpl(hpltune: OnHead, lab: HostsLab, cluster: Path) -> None:
    file = cluster.read_text().replace("memory_gib = 1", "memory_gib = 0.03")
    cluster.write_text(file)
    asked = ("--benchmark", "groups", "--groups", "2", "--repeats", "1", "--blas", "openblas", "--json")
    done = hpltune("nodes", "check", "--cluster", str(cluster), *asked)
    runs = json.loads(done.stdout)["groups"]
    assert [(sorted(run["nodes"]), run["accurate"]) for run in runs] == [(["h1", "h2"], True)] * 2, done.stderr
    assert copies(lab) == {"h1": [], "h2": []}


def test_the_doctor_says_how_nodes_get_programs(hpltune: OnHead, lab: HostsLab, home: Path, cluster: Path) -> None:
    copied = hpltune.well("doctor", "--cluster", str(cluster), "--json")
    assert json.loads(copied.stdout)["stage"] == "copy"
    shared = hpltune("doctor", "--cluster", str(write_cluster(lab, home / "shared.toml")))
    assert shared.returncode != 0
    assert 'let hpltune copy programs: stage = "copy" in the cluster file' in " ".join(shared.stdout.split())


@pytest.mark.process
def test_copies_that_a_killed_study_left_are_removed_by_clean(
    hpltune: OnHead, lab: HostsLab, home: Path, cluster: Path
) -> None:
    asked = ("tune", "--cluster", str(cluster), *SHORT, "--set", "N=6000", "--trials", "9", "--study", "killed")
    with subprocess.Popen([*lab.enter("h1"), str(HPLTUNE), *asked], cwd=home, start_new_session=True) as ours:
        until(lambda: runs_a_copy(lab, "h2"))
        ours.send_signal(signal.SIGKILL)
    assert any("openblas" in file for file in copies(lab)["h2"])
    until(lambda: not runs_a_copy(lab, "h2"))
    shown = hpltune("clean", "--dry-run").stdout
    assert re.search(r"stage/hpltune-copy\.[0-9a-f]{8} on h1, h2", shown)
    forget = home / "cache"
    forget.mkdir()
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("HPLTUNE_CACHE", str(forget))
        assert hpltune("clean", "--yes").returncode == 0
    assert copies(lab) == {"h1": [], "h2": []}


def test_a_node_without_room_for_copies_is_named_before_anything_runs(
    hpltune: OnHead, lab: HostsLab, home: Path
) -> None:
    (home / "on-h1").mkdir()
    file = write_cluster(lab, home / "lab.toml", stage="copy", stage_folder=str(home / "on-h1"))
    done = hpltune("tune", "--cluster", str(file), *SHORT, "--trials", "1")
    assert done.returncode == 1
    assert re.search(
        r"node h2: files cannot be copied to \S+/on-h1/hpltune-copy\.\S+ \(mkdir: .*No such file", done.stderr
    )
    assert "name another folder with stage_folder in the cluster file" in done.stderr
