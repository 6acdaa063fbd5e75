"""Ranks on other hosts through real ssh and real MPI; hosts are network namespaces."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from found_here import open_mpi
from intel_mpi import installed_intel_mpi
from needs import needs
from net_lab import HostsLab
from runner_contract import RunnerContract, executable, running, slurm_allocation, wait
from waiting import until

from hpl.build.toolchain import Mpi
from runners.base import JobState, Runner
from runners.errors import Mishap, UnreachableError
from runners.hosts.node_facts import SCRIPT, NodeSays, ask_nodes, parse_says
from runners.hosts.ssh import SshRunner, agent_text
from runners.hosts.system_facts import cpu_list
from runners.hosts.transport import Local, Ssh
from runners.job import Job
from runners.launchers.base import Launcher
from runners.launchers.mpich import IntelMpi, Mpich
from runners.paths import RunPaths

pytestmark = pytest.mark.real
OPEN_MPI = shutil.which("mpirun.openmpi") or shutil.which("mpirun") or ""
HYDRA = shutil.which("mpiexec.hydra")


def on_h1(lab: HostsLab, folder: Path, program: str) -> Path:
    """A program of this machine that runs on the first host, as if the coordinator were there."""
    return executable(folder / "on-h1", f'exec {" ".join(lab.enter("h1"))} {program} "$@"')


class OnTheLab(RunnerContract):
    launcher: Launcher

    def make(self, lab: HostsLab, launcher: Launcher, check_s: float = 60.0) -> SshRunner:
        reach = Ssh((*lab.enter("h1"), *lab.ssh, "-o", "ConnectTimeout=5"))
        return SshRunner(launcher, reach, check_s, met=lab.names)  # this machine is none of the lab

    def job(self, folder: Path, text: str, **changed: object) -> Job:
        return super().job(folder, text, **{"nodes": ("h2",), "binding": "none", "interfaces": ("eth0",), **changed})

    def test_ranks_run_on_the_nodes_of_the_job(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "hostname", ranks=2, nodes=("h1", "h2"))))
        assert status.state is JobState.COMPLETED, status.message
        assert sorted(RunPaths(tmp_path).read_stdout().split()) == ["h1", "h2"]

    def test_ranks_on_nodes_have_the_variables_of_modules(
        self, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        changed = {"EBROOTFOSS": "it's $HOME", "HOSTTYPE": None}
        monkeypatch.setattr("runners.forwarded._changed", changed)
        monkeypatch.setenv("EBROOTFOSS", "it's $HOME")
        status = wait(runner, runner.submit(self.job(tmp_path, 'echo "$EBROOTFOSS"', ranks=2, nodes=("h1", "h2"))))
        assert status.state is JobState.COMPLETED, status.message
        assert RunPaths(tmp_path).read_stdout() == "it's $HOME\n" * 2

    def test_an_allocation_around_us_does_not_say_how_many_ranks_a_node_gets(
        self, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in slurm_allocation("h[1-2]").items():
            monkeypatch.setenv(name, value)
        status = wait(runner, runner.submit(self.job(tmp_path, "hostname", ranks=4, nodes=("h1", "h2"))))
        assert status.state is JobState.COMPLETED, status.message
        assert sorted(RunPaths(tmp_path).read_stdout().split()) == ["h1", "h1", "h2", "h2"]

    def test_a_killed_rank_ends_the_ranks_on_all_nodes(self, runner: Runner, tmp_path: Path) -> None:
        text = '[ "$(hostname)" = h2 ] && kill -9 $$; sleep 600; exit 0'
        status = wait(runner, runner.submit(self.job(tmp_path, text, ranks=2, nodes=("h1", "h2"))))
        assert status.state is JobState.FAILED
        assert status.lost_nodes == ()
        assert not running(tmp_path / "program")

    def test_a_node_that_is_cut_off_is_named_and_the_job_ends(
        self, runner: Runner, lab: HostsLab, tmp_path: Path
    ) -> None:
        job = runner.submit(self.job(tmp_path, "sleep 600; exit 0", ranks=2, nodes=("h1", "h2")))
        until(lambda: len(ranks(tmp_path / "program")) == 2)
        lab.link("h2", "down")
        try:
            status = wait(runner, job)
        finally:
            lab.link("h2", "up")
        assert status.state is JobState.FAILED
        assert (status.event, status.lost_nodes) == (Mishap.NODE_LOST, ("h2",))
        assert status.message.startswith("node h2: it does not answer"), "nobody else is named first"

    def test_a_node_that_was_started_anew_is_to_blame_and_not_the_program(
        self, runner: Runner, lab: HostsLab, tmp_path: Path
    ) -> None:
        anew = tmp_path / "anew"
        tells = f'case "$*" in */boot_id) [ -e {anew} ] && [ "$(uname -n)" = h2 ] && echo 0 && exit ;; esac\n'
        with lab.planted("cat", f'#!/bin/sh\n{tells}exec /bin/cat "$@"\n'):
            (tmp_path / "first").mkdir()
            first = self.job(tmp_path / "first", "echo began; exit 3", ranks=2, nodes=("h1", "h2"))
            assert wait(runner, runner.submit(first)).event is None, "the program failed by itself"
            job = runner.submit(self.job(tmp_path, "sleep 600; exit 0", ranks=2, nodes=("h1", "h2")))
            until(lambda: len(ranks(tmp_path / "program")) == 2)
            anew.touch()
            status = wait(runner, job)
        assert (status.event, status.lost_nodes) == (Mishap.NODE_BACK, ("h2",))
        assert status.message.startswith("node h2 was started anew")
        assert not running(tmp_path / "program")

    def test_a_full_folder_for_temporary_files_names_its_node(
        self, runner: Runner, lab: HostsLab, tmp_path: Path
    ) -> None:
        full = 'echo head; [ "$(uname -n)" = h2 ] && echo "tmpfs 9 9 0 100% /tmp" || echo "tmpfs 9 9 9999 0% /tmp"'
        with lab.planted("df", f"#!/bin/sh\n{full}\n"):
            job = self.job(tmp_path, "echo No space left on device >&2; exit 1", ranks=2, nodes=("h1", "h2"))
            status = wait(runner, runner.submit(job))
        assert status.event is Mishap.DISK_FULL
        assert "the folder for temporary files is full on node h2" in status.message


@pytest.mark.skipif(not OPEN_MPI, reason=needs("Open MPI"))
class TestWithOpenMpi(OnTheLab):
    @pytest.fixture
    def runner(self, lab: HostsLab, tmp_path: Path) -> Runner:
        return self.make(lab, open_mpi(OPEN_MPI, on_h1(lab, tmp_path, OPEN_MPI)), check_s=1.0)

    def test_a_killed_coordinator_leaves_nothing_on_any_node(self, lab: HostsLab, tmp_path: Path) -> None:
        program = executable(tmp_path / "program", "while :; do sleep 0.2; done")
        text = (
            "import time; from pathlib import Path\n"
            "from runners.hosts.ssh import SshRunner; from runners.hosts.transport import Ssh\n"
            "from runners.job import Job\n"
            "from runners.launchers.openmpi import OpenMpi\n"
            f"launcher = OpenMpi(Path({OPEN_MPI!r}), {open_mpi(OPEN_MPI).major}, as_root=True)\n"
            f"runner = SshRunner(launcher, Ssh({lab.ssh!r}), 60.0)\n"
            f"runner.submit(Job(program=({str(program)!r},), ranks=2, directory=Path({str(tmp_path)!r}),\n"
            "  nodes=('h1', 'h2'), binding='none', interfaces=('eth0',)))\n"
            "time.sleep(600)\n"
        )
        coordinator = subprocess.Popen([*lab.enter("h1"), sys.executable, "-c", text], cwd=Path(__file__).parents[3])
        until(lambda: len(ranks(program)) == 2)
        coordinator.kill()
        coordinator.wait()
        until(lambda: not running(program))


@pytest.mark.skipif(HYDRA is None, reason=needs("MPICH"))
class TestWithMpich(OnTheLab):
    @pytest.fixture
    def runner(self, lab: HostsLab, tmp_path: Path) -> Runner:
        return self.make(lab, Mpich(on_h1(lab, tmp_path, str(HYDRA))), check_s=1.0)


class TestWithIntelMpi(OnTheLab):
    @pytest.fixture
    def runner(self, lab: HostsLab, intel_mpi: Mpi, tmp_path: Path) -> Runner:
        return self.make(lab, IntelMpi(on_h1(lab, tmp_path, str(intel_mpi.mpirun))), check_s=1.0)

    def job(self, folder: Path, text: str, **changed: object) -> Job:
        needed = dict(installed_intel_mpi().environment)
        return super().job(folder, text, **{"launcher_environment": needed, **changed})


def test_a_node_that_was_away_and_is_back_is_to_blame_and_not_the_program(tmp_path: Path) -> None:
    count = tmp_path / "count"
    misses = f'n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) >{count}; [ "$n" -ge 2 ]'
    refuses = "{ echo Connection timed out >&2; exit 255; }"
    text = f'for line; do :; done; case "$*" in *" n2 "*) {misses} || {refuses} ;; esac; exec sh -c "$line"'
    reach = Ssh((str(executable(tmp_path / "ssh", text)),))
    job = Job(
        program=(str(executable(tmp_path / "program", "exit 0")),), ranks=2, directory=tmp_path, nodes=("n1", "n2")
    )
    with SshRunner(Mpich(executable(tmp_path / "mpiexec", "exec sleep 600")), reach, 0.1) as runner:
        status = wait(runner, runner.submit(job))
    assert (status.state, status.event, status.lost_nodes) == (JobState.FAILED, Mishap.NODE_BACK, ("n2",))
    assert status.message.startswith("node n2 stopped answering in the middle of the run, and answers again")


def ranks(program: Path) -> list[int]:
    """Shells that execute the program, without the launcher that names it."""
    alive = [process.info for process in psutil.process_iter(["pid", "name", "cmdline"])]
    return [one["pid"] for one in alive if one["name"] == "program" and str(program) in (one["cmdline"] or [])]


def test_a_lease_ends_what_a_dead_coordinator_left_on_a_node(tmp_path: Path) -> None:
    """The node cannot know that nobody waits any more; it ends the job when its time is over."""
    ssh = executable(tmp_path / "ssh", 'for last; do :; done\nexec sh -c "$last"')
    program = executable(tmp_path / "program", "while :; do sleep 0.2; done")
    agent = executable(tmp_path / "agent", "")
    agent.write_text(agent_text(Ssh((str(ssh),)), "0123abcd", walltime_s=-25))
    subprocess.Popen([agent, "-x", "n1", str(program)], start_new_session=True)
    until(lambda: running(program))
    until(lambda: not running(program))


def test_what_an_mpi_daemon_is_told_arrives_as_it_was_written(tmp_path: Path) -> None:
    ssh = executable(tmp_path / "ssh", 'for last; do :; done\nexec sh -c "$last"')
    agent = executable(tmp_path / "agent", "")
    agent.write_text(agent_text(Ssh((str(ssh),)), "0123abcd", 60))
    said = 'A=\'x y\' ; export A; echo "$A" "it\'s" $HPLTUNE_JOB'
    done = subprocess.run([agent, "-x", "n1", said], capture_output=True, text=True, check=True)
    assert done.stdout == "x y it's 0123abcd\n"


def test_an_mpi_daemon_is_not_told_of_an_agent_that_its_node_lacks(tmp_path: Path) -> None:
    ssh = executable(tmp_path / "ssh", 'for last; do :; done\nexec sh -c "$last"')
    agent = executable(tmp_path / "agent", "")
    agent.write_text(agent_text(Ssh((str(ssh),)), "0123abcd", 60, absent=agent))
    done = subprocess.run(
        [agent, "n1", f"echo {agent} 'a  b' $HPLTUNE_JOB"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "/bin/sh a  b 0123abcd\n"


def test_nodes_say_what_they_are(lab: HostsLab, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("seen")
    said = ask_nodes(Ssh((*lab.enter("h1"), *lab.ssh)), ("h1", "h2", "h9"), [token, tmp_path / "none"], Path(OPEN_MPI))
    h2 = said["h2"]
    assert isinstance(h2, NodeSays)
    assert (h2.hostname, h2.cores, h2.interfaces, list(h2.files)) == ("h2", 1, ("eth0",), [str(token)])
    assert h2.memory_bytes > 2**28
    assert "Open" in h2.mpi
    assert isinstance(said["h9"], UnreachableError)


def test_this_machine_says_as_many_cores_as_it_has_and_nothing_of_files_that_are_not_there(tmp_path: Path) -> None:
    said = ask_nodes(Local(), ("here",), [tmp_path / "none"])["here"]
    assert isinstance(said, NodeSays)
    assert said.cores >= 1
    assert (said.files, said.mpi) == ({}, "")


def test_files_of_another_content_are_told_apart(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one file", "its copy", "another")]
    for file, text in zip(files, ("same", "same", "else"), strict=True):
        file.write_text(text)
    said = ask_nodes(Local(), ("here",), files)["here"]
    assert isinstance(said, NodeSays)
    one, copy, another = (said.files[str(file)] for file in files)
    assert one == copy != another


@pytest.mark.parametrize(
    ("listed", "cpus"), [("0-2,8", [0, 1, 2, 8]), ("3", [3]), ("", []), ("nonsense", []), ("1-x", [])]
)
def test_lists_of_cpus_are_read_as_the_kernel_writes_them(listed: str, cpus: list[int]) -> None:
    assert cpu_list(listed) == cpus


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 9654\nmodel\t\t: 17\n", "AMD EPYC 9654"),
        (
            "processor\t: 0\nCPU part\t: 0xd0b\n\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n",
            "Raspberry Pi 5 Model B Rev 1.0",
        ),
        ("processor\t: 0\n", platform.machine()),
    ],
)
def test_a_node_says_what_its_cpu_is_as_this_machine_does(tmp_path: Path, cpuinfo: str, model: str) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    script = SCRIPT.replace("/proc/cpuinfo", str(tmp_path / "cpuinfo"))
    said = subprocess.run(["sh", "-c", script, "sh", "", ""], capture_output=True, text=True, check=True).stdout
    assert parse_says("n1", said).model == model


def test_a_node_that_says_little_is_one_core_without_memory() -> None:
    said = parse_says("n1", "hostname\tn1\nnonsense\nmemory_kib\t\n")
    assert (said.cores, said.memory_bytes, said.architecture) == (1, 0, "")
