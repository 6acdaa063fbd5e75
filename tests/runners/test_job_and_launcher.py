import re
from dataclasses import replace
from pathlib import Path

import pytest

from runners.base import JobState
from runners.errors import InvalidJobError, Mishap
from runners.job import Job
from runners.launchers.base import Launcher, befell, ended_on
from runners.launchers.mpich import IntelMpi, Mpich
from runners.launchers.openmpi import OpenMpi
from runners.paths import RunPaths
from runners.registry import InstalledMpi, launchers

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


NO_WAY = """A process or daemon was unable to complete a TCP connection
to another process:
  Local host:    h3
  Remote host:   desk
This is usually caused by a firewall on the remote host. Please
ORTE was unable to reliably start one or more daemons.
"""


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
        (1, NO_WAY, "Open MPI on a node cannot connect to desk: there is no way between them, or a firewall"),
        (
            4,
            "Primary job  terminated normally, but 1 process returned\na non-zero exit code.",
            "a rank ended with code 4",
        ),
        (1, "something nobody has seen\n", "mpirun ended with code 1: something nobody has seen"),
        (-15, "", "mpirun was ended by signal 15 (Terminated)"),
        (-9, "hpltune-rank {}\n", "mpirun was ended by signal 9 (Killed): often by the kernel for want of memory"),
        (-9, "a rank said this\n", "for want of memory; its last words: a rank said this"),
    ],
)
def test_what_open_mpi_says_is_explained(code: int, stderr: str, words: str) -> None:
    assert words in OpenMpi(Path("/m"), 4, as_root=False).explain(JOB, code, stderr)


NO_LOOPBACK = """[vm:1] opal_ifinit: unable to find network interfaces.
[vm:1] ptl_tool: problems getting address for index 0 (kernel index -1)
--------------------------------------------------------------------------
The PMIx server's listener thread failed to start. We cannot
continue.
--------------------------------------------------------------------------
"""
STRANGE_BOX = """a line of a rank
[vm:1] [[7849,0],0] ORTE_ERROR_LOG: Not found in file a.c at line 1
--------------------------------------------------------------------------
The frobnicator of node vm did not answer, so that no rank can be
started there.

  Local host:   vm
--------------------------------------------------------------------------
[vm:1] *** Process received signal ***
[vm:1] Signal: Segmentation fault (11)
[vm:1] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7ff3ec416050]
[vm:1] *** End of error message ***
"""


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        (1, NO_LOOPBACK, "no network interface that is up, not even the loopback"),
        (124, "[vm:1] [[7,0],0] ORTE_ERROR_LOG: The system limit on number of pipes a process can open", "ulimit -n"),
        (1, "[vm:1] [[7,0],0] ORTE_ERROR_LOG: Out of resource in file orte/oob_tcp_listener.c at line 1", "ulimit -n"),
        (1, "None of the TCP networks specified to be included\n  Value given: docker9\n", "told to use (docker9)"),
        (
            1,
            STRANGE_BOX,
            (
                "mpirun ended with code 1: ORTE_ERROR_LOG: Not found in file a.c at line 1 The frobnicator of node vm "
                "did not answer, so that no rank can be started there. Local host: vm Signal: Segmentation fault (11)"
            ),
        ),
    ],
)
def test_a_message_of_open_mpi_is_told_whole_and_its_first_line_first(code: int, said: str, words: str) -> None:
    assert words in OpenMpi(Path("/m"), 4, as_root=False).explain(JOB, code, said)


@pytest.mark.parametrize("launcher", [OpenMpi(Path("/m"), 5, as_root=False), Mpich(Path("/m"))])
def test_a_launcher_that_lost_its_message_passed_on_the_code_of_a_rank(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_pmix", "^ext3x")
    said = 'hpltune-rank {"rank": 0}\nno\tlicence\x1b[1m\n'
    assert launcher.explain(JOB, 4, said) == "a rank ended with code 4; its last words: no licence"
    for own in ("mpirun: something odd", "[node:12] something odd", "-" * 74 + "\nsomething odd\n" + "-" * 74):
        told = launcher.explain(JOB, 4, f"{own}\n{said}")
        assert "ended with code 4: " in told
        assert "\x1b" not in told


def test_a_message_of_a_launcher_is_bounded_and_ends_between_words() -> None:
    box = "-" * 74 + "\n" + "words without end\n" + "".join(f"line number {at}\n" for at in range(500)) + "-" * 74
    told = OpenMpi(Path("/m"), 4, as_root=False).explain(replace(JOB, environment={}), 1, box)
    assert told.startswith("mpirun ended with code 1: words without end line number 0")
    assert len(told.partition("; set in")[0]) < 600
    assert re.search(r" number \d* ?\.\.\.", told)


def test_a_launcher_that_ends_for_no_known_reason_names_the_variables_of_mpi_it_inherited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMPI_MCA_pmix", "^ext3x")
    monkeypatch.setenv("OPAL_PREFIX", "/ours")
    job = replace(JOB, launcher_environment={"OPAL_PREFIX": "/ours"})
    for launcher in (OpenMpi(Path("/m"), 4, as_root=False), Mpich(Path("/m"))):
        told = launcher.explain(job, -11, "")
        assert "set in this environment, and perhaps why: " in told
        assert "OMPI_MCA_pmix=^ext3x" in told
        assert "OPAL_PREFIX" not in told
        assert "environment" not in launcher.explain(job, 1, "Need at least 4 processes")


@pytest.mark.parametrize(
    "changed",
    [
        {"program": ()}, {"program": ("xhpl",)}, {"ranks": 0}, {"threads_per_rank": 0}, {"walltime_s": 0},
        {"binding": "shoe"}, {"environment": {"A B": "1"}}, {"environment": {"A": "1\n2"}},
        {"mpi_parameters": {"a;b": "1"}}, {"mpi_parameters": {"a": ""}},
    ],
)  # fmt: skip
def test_a_job_no_launcher_could_take_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(InvalidJobError, match=next(iter(changed)).split("_")[0].replace("mpi", "MPI")):
        replace(JOB, **changed)  # type: ignore[arg-type]


def test_an_mpi_without_a_launcher_is_said() -> None:
    with pytest.raises(InvalidJobError, match="cannot be started yet"):
        InstalledMpi("lam", Path("/usr/bin/mpirun"), "4.0").launcher()


ON_NODES = replace(JOB, nodes=("n1", "n2"), agent=Path("/run/agent"))


def test_open_mpi_reaches_nodes_through_the_agent() -> None:
    ours = ["--mca", "ras", "^slurm,tm,pbs,lsf,gridengine,flux,loadleveler,alps"]
    agent = ["--mca", "plm", "rsh", "--mca", "plm_rsh_agent", "/run/agent"]
    assert tokens(ON_NODES)[1:14] == ["--host", "n1:2,n2:2", *ours, *agent, "-np", "4"]
    assert tokens(ON_NODES, major=5)[7:11] == ["plm", "ssh", "--mca", "plm_ssh_agent"]


def test_open_mpi_fills_nodes_in_a_strict_order_if_each_has_a_program_of_its_own() -> None:
    strict = replace(ON_NODES, strict_order=True, nodes=("n2", "n1"), mpi_parameters={"btl_tcp_links": "2"})
    found = " ".join(tokens(strict))
    assert " : " in found
    first, second = found.split(" : ")
    assert "--host n2:2 -np 2 -wdir" in first
    assert second.startswith("--host n1:2 -np 2 -wdir")
    for part in (first, second):
        assert "--mca btl_tcp_links 2" in part
        assert part.endswith(" ".join(strict.program))
    assert ":" not in tokens(replace(strict, nodes=("n2",)))


def test_open_mpi_5_reads_the_node_of_each_rank_from_a_file_that_lies_beside_the_command(tmp_path: Path) -> None:
    strict = replace(ON_NODES, strict_order=True, nodes=("n2", "n1"), directory=tmp_path, binding="core")
    found = tokens(strict, major=5)
    assert found[found.index("--map-by") :][:4] == ["--map-by", "seq:PE=2:file=order", "--bind-to", "core"]
    assert ":" not in found
    RunPaths(tmp_path).write_command(found, strict.order)
    assert (tmp_path / "order").read_text() == "n2\nn2\nn1\nn1\n"
    assert replace(strict, nodes=("n2",)).order == replace(strict, strict_order=False).order == ()


@pytest.mark.parametrize("folder", ["/run my HPL", "/run/a:b", "/run/$(a)"])
def test_an_agent_lies_where_no_shell_and_no_option_would_split_its_path(folder: str) -> None:
    with pytest.raises(InvalidJobError, match="a path that every shell reads as it is"):
        replace(ON_NODES, agent=Path(folder) / "agent")


def test_nodes_start_no_daemons_of_other_nodes_with_an_agent_that_they_lack() -> None:
    elsewhere = replace(ON_NODES, agent=Path("/var/hpltune-1/agent"))
    assert tokens(elsewhere)[12:15] == ["--mca", "plm_rsh_no_tree_spawn", "1"]
    assert tokens(elsewhere, major=5)[12:15] == ["--mca", "plm_ssh_no_tree_spawn", "1"]


def test_parameters_of_the_transport_below_open_mpi_are_variables() -> None:
    found = tokens(replace(JOB, mpi_parameters={"UCX_TLS": "rc,self", "pml": "ucx"}))
    assert "-x UCX_TLS=rc,self --mca pml ucx" in " ".join(found)


def test_open_mpi_limits_tcp_to_interfaces_and_ucx_to_their_devices() -> None:
    found = tokens(replace(JOB, interfaces=("ib0",), ucx_devices=("mlx5_0:1", "ib0")))
    assert "-x UCX_NET_DEVICES=mlx5_0:1,ib0 --mca btl_tcp_if_include ib0" in " ".join(found)
    assert "UCX" not in " ".join(tokens(replace(JOB, interfaces=("ib0",)))), "nobody told of ports"
    with pytest.raises(InvalidJobError, match="is not the name of a network device"):
        replace(JOB, ucx_devices=("mlx5_0:1 --mca x",))


def test_mpich_gets_variables_and_control_variables_alike() -> None:
    job = replace(ON_NODES, environment={"A": "1"}, mpi_parameters={"UCX_TLS": "tcp"})
    where = ["-launcher", "ssh", "-launcher-exec", "/run/agent", "-hosts", "n1:2,n2:2", "-n", "4"]
    how = ["-bind-to", "core:2", "-wdir", "/run", "-genv", "A", "1", "-genv", "UCX_TLS", "tcp", "/opt/xhpl"]
    assert Mpich(Path("/m")).command(job) == ["/m", *where, *how]
    assert "-bind-to none" in " ".join(Mpich(Path("/m")).command(replace(JOB, binding="none")))


def test_intel_mpi_binds_by_variables() -> None:
    tokens = " ".join(IntelMpi(Path("/m")).command(ON_NODES))
    assert tokens.startswith("/m -bootstrap ssh -bootstrap-exec /run/agent -hosts n1,n2 -ppn 2 -n 4 -wdir /run")
    assert "-genv I_MPI_PIN 1 -genv I_MPI_PIN_CELL core -genv I_MPI_PIN_DOMAIN 2" in tokens


@pytest.mark.parametrize("changed", [{"nodes": ("n1; rm",)}, {"nodes": ("n1", "n2", "n3")}])
def test_nodes_are_host_names_that_share_the_ranks_evenly(changed: dict[str, object]) -> None:
    with pytest.raises(InvalidJobError, match=r"host|evenly"):
        replace(JOB, **changed)  # type: ignore[arg-type]


def test_a_job_of_an_unknown_mpi_library_is_refused() -> None:
    with pytest.raises(InvalidJobError, match="known: openmpi"):
        launchers([InstalledMpi("openmpi", Path("/m"), "4.1")]).command(replace(JOB, mpi="lam"))


def test_only_ends_are_final() -> None:
    assert [state.final for state in JobState] == [False, False, True, True, True, True]


CAPTURED = {
    "abort": "aborted the run",
    "badelf": "not one this machine can execute",
    "dstore": "session folder is full",
    "exit": "ended with",
    "ill": "an instruction this CPU lacks",
    "kill": "a rank was killed",
    "lost": "mpirun lost node n1",
    "mca": "no component",
    "missing": "cannot find the program",
    "over": "cannot give each rank cores",
    "root": "refuses to run as root",
    "segv": "signal 11",
    "session": "session folder /proc/ompi.node.0 (No such file or directory): set TMPDIR",
    "slots": "fewer cores than ranks",
}


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parent / "data").glob("openmpi*.txt")), ids=lambda file: file.stem
)
def test_what_open_mpi_4_and_5_really_printed_is_explained(file: Path) -> None:
    version, case, code = file.stem.split("-")
    launcher = OpenMpi(Path("/m"), int(version[-1]), as_root=False)
    assert CAPTURED[case] in launcher.explain(JOB, int(code), file.read_text(errors="replace"))


@pytest.mark.parametrize(
    ("file", "event"),
    [
        ("openmpi4-lost-205", Mishap.DAEMON_LOST), ("srun22-node-143", Mishap.DAEMON_LOST),
        ("openmpi4-kill-137", Mishap.KILLED), ("openmpi5-kill-137", Mishap.KILLED), ("srun22-kill-137", Mishap.KILLED),
        ("openmpi4-dstore-1", Mishap.DISK_FULL), ("openmpi4-segv-139", None), ("openmpi4-exit-3", None),
        ("openmpi5-abort-5", None),
    ],
)  # fmt: skip
def test_what_a_launcher_printed_tells_what_befell_the_run(file: str, event: Mishap | None) -> None:
    said = (Path(__file__).parent / f"data/{file}.txt").read_text()
    assert befell(int(file.rpartition("-")[2]), said) is event


@pytest.mark.parametrize(
    ("said", "event"),
    [
        ("=   EXIT CODE: 9\nprocess manager error waiting for completion", Mishap.KILLED),
        ("=   EXIT CODE: 11\nprocess manager error waiting for completion", None),
        ("process manager error waiting for completion", Mishap.KILLED),
        ("shmem: mmap: No space left on device", None),
        ("xhpl: Node failure on purpose", None),
    ],
)
def test_a_program_that_ended_by_itself_is_no_lost_daemon(said: str, event: Mishap | None) -> None:
    assert befell(1, said) is event


def test_a_launcher_names_the_host_on_which_a_rank_ended() -> None:
    folder = Path(__file__).parent / "data"
    assert ended_on((folder / "openmpi5-kill-137.txt").read_text()) == "node"
    assert ended_on((folder / "srun22-kill-137.txt").read_text()) == "n1"
    assert not ended_on((folder / "openmpi4-slots-1.txt").read_text())
