"""Copies of programs, libraries and inputs on nodes; the program in place of ssh runs commands here."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program

from runners.errors import InvalidJobError, SubmitError, UnreachableError
from runners.hosts.cluster import Cluster
from runners.hosts.copies import Copies, named_as_here, recorded, try_copy
from runners.hosts.staging import stage, unstage
from runners.hosts.transport import Local, Ssh
from runners.job import Job


@pytest.fixture
def ssh(tmp_path: Path) -> Ssh:
    text = '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n'
    return Ssh((str(program(tmp_path / "ssh", text)),))


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


@pytest.fixture
def copies(ssh: Ssh, parent: Path, tmp_path: Path) -> Copies:
    return Copies(ssh, str(parent), tmp_path / "records")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "HPL.dat").write_text("first")
    library = tmp_path / "libblas.so"
    library.write_bytes(os.urandom(1000))
    xhpl = program(tmp_path / "xhpl", "#!/bin/sh\ncat HPL.dat\n")
    return Job((str(xhpl), "-v"), 1, folder, nodes=("h1",), inputs=("HPL.dat",), libraries=(library,))


def cluster_of(ssh: Ssh, parent: str) -> Cluster:
    hosts = ("h1", "h2")
    return Cluster(name="lab", backend="ssh", hosts=hosts, ssh=ssh.program, stage="copy", stage_folder=parent)


def test_a_job_runs_from_its_copies(copies: Copies, job: Job, parent: Path) -> None:
    brought = copies.bring(job)
    assert Path(brought.program[0]).is_relative_to(parent)
    assert brought.program[1:] == ("-v",)
    assert os.access(brought.program[0], os.X_OK)
    assert (brought.rank_directory / "HPL.dat").read_text() == "first"
    assert Path(brought.environment["LD_PRELOAD"]).read_bytes() == job.libraries[0].read_bytes()
    assert brought.directory == job.directory


def test_each_file_is_sent_once_and_a_changed_one_again(copies: Copies, job: Job) -> None:
    first = copies.bring(job)
    sent = Path(first.program[0]).stat().st_ino
    assert Path(copies.bring(job).program[0]).stat().st_ino == sent
    program(Path(job.program[0]), "#!/bin/sh\necho new\n")
    os.utime(job.program[0], ns=(1, 1))
    assert Path(copies.bring(job).program[0]).stat().st_ino != sent


def test_every_run_has_its_own_inputs(copies: Copies, job: Job) -> None:
    first = copies.bring(job)
    (job.directory / "HPL.dat").write_text("second")
    second = copies.bring(job)
    assert (first.rank_directory / "HPL.dat").read_text() == "first"
    assert (second.rank_directory / "HPL.dat").read_text() == "second"


def test_a_node_that_may_have_been_restarted_gets_everything_again(copies: Copies, job: Job) -> None:
    lost = Path(copies.bring(job).program[0])
    lost.unlink()
    copies.doubt(job.nodes)
    copies.bring(job)
    assert lost.exists()


def test_copies_are_recorded_before_and_removed_with_their_record(
    copies: Copies, job: Job, parent: Path, tmp_path: Path
) -> None:
    brought = copies.bring(job)
    ((record, copied),) = recorded(tmp_path / "records").items()
    assert copied.nodes == ("h1",)
    assert Path(brought.program[0]).is_relative_to(copied.folder)
    assert not copied.remove()
    assert not list(parent.iterdir())
    copies.bring(job)
    copies.remove()
    assert not list(parent.iterdir())
    assert not record.exists()


def test_a_damaged_record_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"ssh": ["ssh"]')
    (tmp_path / "b.json").write_text("{}")
    assert not recorded(tmp_path)


def test_what_preloads_a_library_already_preloads_its_copy(copies: Copies, job: Job, tmp_path: Path) -> None:
    witness = tmp_path / "witness.so"
    witness.write_bytes(b"w")
    brought = copies.bring(replace(job, environment={"LD_PRELOAD": str(witness), "A": "b"}))
    first, second = brought.environment["LD_PRELOAD"].split(":")
    assert named_as_here(f"loaded {first} and {second}") == f"loaded {witness} and {job.libraries[0]}"
    assert brought.environment["A"] == "b"


def test_a_path_that_the_loader_would_split_is_refused(copies: Copies, job: Job, tmp_path: Path) -> None:
    odd = tmp_path / "lib blas.so"
    odd.write_bytes(b"x")
    with pytest.raises(InvalidJobError, match=r'stage = "copy" cannot take \S+/lib blas.so: its path has a space'):
        copies.bring(replace(job, libraries=(odd,)))


def test_a_missing_file_is_named(copies: Copies, job: Job) -> None:
    with pytest.raises(InvalidJobError, match=r"none.so cannot be copied to nodes: No such file"):
        copies.bring(replace(job, libraries=(Path("/none.so"),)))


def test_a_node_that_does_not_answer_is_lost_and_one_without_room_is_told(
    job: Job, ssh: Ssh, parent: Path, tmp_path: Path
) -> None:
    away = program(tmp_path / "away", "#!/bin/sh\necho 'Connection refused' >&2; exit 255\n")
    with pytest.raises(UnreachableError, match="node h1: nothing listens for ssh there"):
        Copies(Ssh((str(away),)), str(parent), tmp_path / "records").bring(job)
    with pytest.raises(SubmitError, match=r"node h1: files cannot be copied to /no/such/hpltune-copy\S+ \(mkdir"):
        Copies(ssh, "/no/such", tmp_path / "records").bring(job)
    assert "name another folder with stage_folder" in try_copy(cluster_of(ssh, "/no/such"), ["h1"])["h1"]


def test_a_folder_of_somebody_else_is_not_used(copies: Copies, job: Job, parent: Path, tmp_path: Path) -> None:
    copies.bring(job)
    (folder,) = parent.iterdir()
    copies.remove()
    folder.symlink_to(tmp_path)
    with pytest.raises(SubmitError, match="belongs to somebody else"):
        copies.bring(job)


def test_nothing_is_left_of_a_trial_copy(ssh: Ssh, parent: Path) -> None:
    assert not try_copy(cluster_of(ssh, str(parent)), ["h1", "h2"])
    assert not list(parent.iterdir())


def test_files_arrive_whole_and_are_removed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    file = tmp_path / "data.bin"
    file.write_bytes(os.urandom(300_000))
    staged = stage(Local(), ["here"], {"node_bench": file})
    folder = Path(staged.folders["here"])
    assert (folder / "node_bench").read_bytes() == file.read_bytes()
    assert (folder / "node_bench").stat().st_mode & 0o777 == 0o700
    unstage(Local(), staged)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    """The program in place of ssh runs commands here, on node h2 with a folder for files that is not there."""
    elsewhere = 'case "$*" in *" h2 "*) export TMPDIR=/no/such/folder;; esac'
    text = f'#!/bin/sh\nfor last; do :; done\n{elsewhere}\nexec sh -c "$last"\n'
    ssh = program(tmp_path / "ssh", text)
    file = tmp_path / "data.bin"
    file.write_bytes(b"x")
    staged = stage(Ssh((str(ssh),)), ["h1", "h2"], {"data": file})
    assert list(staged.folders) == ["h1"]
    assert "node h2: files cannot be copied to its /tmp" in staged.failed["h2"]
    unstage(Ssh((str(ssh),)), staged)
    assert not Path(staged.folders["h1"]).exists()


def test_of_what_tar_prints_the_first_line_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "bin").mkdir()
    says = "tar: node_bench: Cannot write: No space left on device"
    program(
        tmp_path / "bin/tar", f"#!/bin/sh\necho '{says}' >&2\necho 'tar: Exiting with failure status' >&2\nexit 2\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    file = tmp_path / "data.bin"
    file.write_bytes(b"x")
    staged = stage(Local(), ["here"], {"node_bench": file})
    assert staged.failed["here"] == (
        f"node here: files cannot be copied to its /tmp ({says}): make room or set TMPDIR there"
    )
