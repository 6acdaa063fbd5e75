from dataclasses import replace
from pathlib import Path

import pytest

from runners.errors import InvalidJobError
from runners.job import Job
from runners.launchers.openmpi import OpenMpi
from runners.registry import local_runner
from runners.status import JobState

JOB = Job(program=("/opt/xhpl",), ranks=4, directory=Path("/run"), threads_per_rank=2)


def tokens(job: Job, *, major: int = 4, as_root: bool = False) -> list[str]:
    return OpenMpi(Path("/usr/bin/mpirun"), major, as_root=as_root).command(job)


def test_ranks_are_bound_to_as_many_cores_as_they_have_threads() -> None:
    expected = ["-np", "4", "--map-by", "slot:PE=2", "--bind-to", "core", "-wdir", "/run", "/opt/xhpl"]
    assert tokens(JOB) == ["/usr/bin/mpirun", *expected]


def test_only_root_says_that_root_is_meant() -> None:
    assert tokens(JOB, as_root=True)[1] == "--allow-run-as-root"
    assert "--allow-run-as-root" not in tokens(JOB)


def test_variables_and_parameters_are_tokens_never_a_shell_string() -> None:
    job = replace(JOB, environment={"B": "x y; rm -rf /", "A": "1"}, mpi_parameters={"btl": "tcp,self"})
    found = tokens(job)
    assert found[found.index("--mca") :] == [
        "--mca", "btl", "tcp,self", "-x", "A=1", "-x", "B=x y; rm -rf /", "/opt/xhpl",
    ]  # fmt: skip


@pytest.mark.parametrize(("major", "name"), [(4, "socket"), (5, "package")])
def test_open_mpi_5_has_another_word_for_a_socket(major: int, name: str) -> None:
    found = tokens(replace(JOB, binding="socket"), major=major)
    assert found[found.index("--bind-to") + 1] == name


def test_oversubscribed_ranks_are_not_bound() -> None:
    found = tokens(replace(JOB, oversubscribe=True))
    assert found[found.index("--map-by") + 1] == "slot:OVERSUBSCRIBE"
    assert found[found.index("--bind-to") + 1] == "none"


@pytest.mark.parametrize(
    ("code", "stderr", "words"),
    [
        (1, "There are not enough slots available in the system to satisfy the 4 slots", "fewer cores than ranks"),
        (127, "xhpl: error while loading shared libraries: libx.so: cannot open", "libx.so: cannot open"),
        (137, "mpirun noticed that process rank 1 exited on signal 9 (Killed).", "want of memory"),
        (132, "", "an instruction this CPU lacks"),
        (139, "", "signal 11"),
        (1, "MPI_ABORT was invoked on rank 3 in communicator", "rank 3 aborted"),
        (1, ">>> Need at least 4 processes for these tests <<<", "HPL.dat needs 4 ranks"),
        (1, "something nobody has seen\n", "mpirun ended with code 1: something nobody has seen"),
        (-15, "", "mpirun ended by signal 15"),
    ],
)
def test_what_open_mpi_says_is_explained(code: int, stderr: str, words: str) -> None:
    assert words in OpenMpi(Path("/m"), 4, as_root=False).explain(code, stderr)


@pytest.mark.parametrize(
    "changed",
    [
        {"program": ()},
        {"program": ("xhpl",)},
        {"ranks": 0},
        {"threads_per_rank": 0},
        {"walltime_s": 0},
        {"binding": "shoe"},
        {"environment": {"A B": "1"}},
        {"environment": {"A": "1\n2"}},
        {"mpi_parameters": {"a;b": "1"}},
        {"mpi_parameters": {"a": ""}},
    ],
)
def test_a_job_no_launcher_could_take_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(InvalidJobError, match=next(iter(changed)).split("_")[0].replace("mpi", "MPI")):
        replace(JOB, **changed)  # type: ignore[arg-type]


def test_an_mpi_without_a_launcher_is_said() -> None:
    with pytest.raises(InvalidJobError, match="cannot be started yet"):
        local_runner("mpich", Path("/usr/bin/mpirun"), "4.0")


def test_only_ends_are_final() -> None:
    assert [state.final for state in JobState] == [False, False, True, True, True, True]


CAPTURED = {
    "abort": "aborted the run",
    "badelf": "not one this machine can execute",
    "exit": "ended with",
    "ill": "an instruction this CPU lacks",
    "kill": "a rank was killed",
    "lost": "mpirun lost node n1",
    "mca": "no component",
    "missing": "cannot find the program",
    "over": "cannot give each rank cores",
    "root": "refuses to run as root",
    "segv": "signal 11",
    "slots": "fewer cores than ranks",
}


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parent / "data").glob("openmpi*.txt")), ids=lambda file: file.stem
)
def test_what_open_mpi_4_and_5_really_printed_is_explained(file: Path) -> None:
    version, case, code = file.stem.split("-")
    launcher = OpenMpi(Path("/m"), int(version[-1]), as_root=False)
    assert CAPTURED[case] in launcher.explain(int(code), file.read_text(errors="replace"))
