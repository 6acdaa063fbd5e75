"""Nothing that a job says reaches a shell of a node: every field with every sign that a shell takes for more."""

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from found_here import open_mpi
from hypothesis import given as for_all
from hypothesis import strategies as st
from needs import skip_without
from net_lab import HostsLab
from runner_contract import executable, wait

from runners.base import JobState
from runners.errors import InvalidJobError, RunnerError
from runners.forwarded import RESERVED, VALUE, plain
from runners.hosts.ssh import SshRunner
from runners.hosts.transport import Ssh
from runners.job import Job
from runners.launchers.base import Launcher
from runners.launchers.mpich import Mpich
from runners.launchers.openmpi import OpenMpi
from runners.paths import RunPaths
from search_spaces.parameters.dimension import MPI_RESERVED, MPI_VALUE

CANARY = "a$(canary)`canary`';canary;'\";canary;\" b:c;canary&canary|canary $HOME ${HOME} \\$(canary)"
SIGNS = (
    "$(a)", "`a`", "'a'", '"a"', ";a", "&a", "|a", "\\a", "\na", "-a", "a b", "a:b", "$HOME", "~", "*", "{a,b}", "#a",
)  # fmt: skip
OPEN_MPI = shutil.which("mpirun.openmpi")
HYDRA = shutil.which("mpiexec.hydra")


def with_open_mpi(nodes: Path) -> Launcher:
    if OPEN_MPI is None:
        skip_without("Open MPI")
    return open_mpi(OPEN_MPI, nodes / "open-mpi")


def with_mpich(nodes: Path) -> Launcher:
    if HYDRA is None:
        skip_without("MPICH")
    return Mpich(nodes / "mpich")


MPIS: tuple[Callable[[Path], Launcher], ...] = (with_open_mpi, with_mpich)


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    lab = hosts.wired(2)
    enter = " ".join(lab.enter("h1"))
    executable(lab.folder / "open-mpi", f'export PATH="{lab.programs}:$PATH"; exec {enter} {OPEN_MPI} "$@"')
    executable(lab.folder / "mpich", f'export PATH="{lab.programs}:$PATH"; exec {enter} {HYDRA} "$@"')
    return lab


@pytest.fixture
def silent(lab: HostsLab) -> Iterator[Callable[[], bool]]:
    """Whether no shell has run the canary."""
    sung = lab.folder / "sung"
    sung.unlink(missing_ok=True)
    with lab.planted("canary", f"#!/bin/sh\ntouch {sung}\n"):
        yield lambda: not sung.exists()


@pytest.fixture(params=MPIS, ids=["Open MPI", "MPICH"])
def runner(lab: HostsLab, request: pytest.FixtureRequest) -> SshRunner:
    return SshRunner(request.param(lab.folder), Ssh((*lab.enter("h1"), *lab.ssh, "-o", "ConnectTimeout=2")), 60.0)


def job(folder: Path) -> Job:
    """Ranks on both nodes that say where they run, and what they were told."""
    text = 'printf "%s\\n" "$(uname -n)|$(cat HPL.dat)|$A|$1"'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "HPL.dat").write_text("input")
    program = executable(folder / "program", text)
    return Job(
        program=(str(program), "x"),
        ranks=2,
        directory=folder,
        binding="none",
        nodes=("h1", "h2"),
        interfaces=("eth0",),
        environment={"A": "y"},
        walltime_s=600.0,
    )


def outcome(runner: SshRunner, given: Job) -> list[str]:
    status = wait(runner, runner.submit(given))
    assert status.state is JobState.COMPLETED, status.message + RunPaths(given.directory).read_stderr()
    return sorted(RunPaths(given.directory).read_stdout().splitlines())


def test_the_canary_sings_where_a_shell_reads_it(lab: HostsLab, silent: Callable[[], bool]) -> None:
    lab.run("h1", *lab.ssh, "h2", "echo $(canary)")
    assert not silent()


@pytest.mark.real
def test_what_runners_send_to_nodes_in_messages_may_be_anything(
    runner: SshRunner, tmp_path: Path, silent: Callable[[], bool]
) -> None:
    given = job(tmp_path / "runs" / CANARY)
    given = replace(given, environment={"A": CANARY}, program=(given.program[0], CANARY))
    assert outcome(runner, given) == [f"{host}|input|{CANARY}|{CANARY}" for host in ("h1", "h2")]
    assert silent()
    agent = next(Path(token) for token in shlex.split(RunPaths(given.directory).read_command()) if "/agent" in token)
    assert plain(agent)
    assert not agent.parent.exists()


FIELDS: dict[str, Callable[[str], dict[str, object]]] = {
    "value": lambda text: {"mpi_parameters": {"UCX_LOG_LEVEL": text}},
    "name": lambda text: {"mpi_parameters": {text: "1"}},
    "node": lambda text: {"nodes": ("h1", text)},
    "interface": lambda text: {"interfaces": (text,)},
    "device": lambda text: {"ucx_devices": (text,)},
    "agent": lambda text: {"agent": Path("/run") / text},
}
"""What launchers repeat in the command line of their daemons, which a shell of the node reads."""
WORDS = (
    st.sampled_from(SIGNS)
    | st.text(st.sampled_from("aZ0_./^+,:=@%-"), min_size=1)
    | st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1)
)


@pytest.mark.parametrize("field", FIELDS)
@for_all(text=WORDS)
def test_what_a_launcher_repeats_on_a_node_is_refused_or_read_by_a_shell_as_it_is(field: str, text: str) -> None:
    try:
        replace(Job(program=("/xhpl",), ranks=2, directory=Path("/run")), **FIELDS[field](text))  # type: ignore[arg-type]
    except InvalidJobError as refused:
        assert str(refused).isprintable()  # noqa: PT017 - some are taken
    else:
        said = subprocess.run(("sh", "-c", f"printf %s {text}"), capture_output=True, text=True, check=True).stdout
        assert said == text


@pytest.mark.parametrize("sign", SIGNS)
def test_an_agent_lies_where_every_shell_reads_its_path_as_it_is(tmp_path: Path, sign: str) -> None:
    given = job(tmp_path / "runs" / sign)
    agents: list[Path] = []

    class Noting(Mpich):
        def command(self, job: Job) -> list[str]:
            agents.extend([job.agent] if job.agent else [])
            return ["true"]

    away = Ssh((str(executable(tmp_path / "ssh", "exit 255")),))
    with SshRunner(Noting(Path("/mpiexec")), away, 60.0) as runner, suppress(RunnerError):
        wait(runner, runner.submit(given))
    assert agents
    assert all(map(plain, agents))


@pytest.mark.real
def test_the_users_own_parameters_in_the_environment_start_nothing_on_a_node(
    lab: HostsLab, tmp_path: Path, silent: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_btl_tcp_if_exclude", "lo$(canary)")
    runner = SshRunner(with_open_mpi(lab.folder), Ssh((*lab.enter("h1"), *lab.ssh)), 60.0)
    given = replace(job(tmp_path), walltime_s=600.0)
    status = wait(runner, runner.submit(given))
    if open_mpi(str(OPEN_MPI)).major < 5:  # which sends them to the nodes, where a shell would read them
        assert status.state is not JobState.COMPLETED
        assert "is not sent to h" in RunPaths(given.directory).read_stderr()
    assert silent()


@pytest.mark.parametrize(
    "name",
    [
        "plm_rsh_agent", "orte_launch_agent", "prte_launch_agent", "orte_fork_agent", "mca_base_param_files",
        "plm_ssh_args",
    ],
)  # fmt: skip
def test_a_parameter_that_names_what_mpi_starts_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidJobError, match="it names what MPI starts or loads"):
        replace(job(tmp_path), mpi_parameters={name: "/home/evil"})


@pytest.mark.parametrize(
    "mpi", [OpenMpi(Path("/opt/my MPI/mpirun"), 5, as_root=False), Mpich(Path("/opt/a;b/mpiexec"))]
)
def test_a_launcher_whose_own_path_a_shell_would_misread_is_refused(tmp_path: Path, mpi: Launcher) -> None:
    mpi.command(replace(job(tmp_path), nodes=()))
    with pytest.raises(InvalidJobError, match="starts no ranks on other nodes: shells of the nodes read its path"):
        mpi.command(job(tmp_path))


@pytest.mark.parametrize("value", ["^tcp,self", "10.77.0.0/24,10.77.1.0/24", "-1", "1e-05", "mlx5_0:1", "a=b", "self"])
def test_what_parameters_usually_are_is_taken(tmp_path: Path, value: str) -> None:
    replace(job(tmp_path), mpi_parameters={"btl": value})


def test_spaces_and_launchers_agree_about_what_may_be_told() -> None:
    assert (VALUE.pattern, RESERVED.pattern) == (MPI_VALUE, MPI_RESERVED)


@pytest.mark.parametrize("path", ["/a b", "/a:b", "/a\nb", "/$(a)", "a", "/a'b", "/~/a", "/a*"])
def test_a_path_that_a_shell_would_misread_is_not_plain(path: str) -> None:
    assert not plain(Path(path))
