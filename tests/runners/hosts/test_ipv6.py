"""Ranks on nodes that are named by IPv6 addresses: MPI's launchers split `--host` at colons."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from found_here import open_mpi
from needs import skip_without
from net_lab import HostsLab
from runner_contract import executable, wait

from runners.base import JobState
from runners.hosts.ssh import SshRunner
from runners.hosts.transport import Ssh, ask
from runners.job import Job
from runners.launchers.base import Launcher
from runners.launchers.mpich import Mpich
from runners.paths import RunPaths

pytestmark = pytest.mark.real
ADDRESSES = {"h1": "fd77::1", "h2": "fd77::2"}


@pytest.fixture
def lab(hosts: HostsLab) -> Iterator[HostsLab]:
    lab = hosts.wired(2)
    known = lab.folder / "known_hosts"
    without = known.read_text()
    key = without.splitlines()[0].partition(" ")[2]
    for host, address in ADDRESSES.items():
        given = ("addr", "add", f"{address}/64", "dev", "eth0", "nodad")
        if subprocess.run(["ip", "-n", lab.namespace(host), *given], capture_output=True, check=False).returncode:
            skip_without("IPv6")
        known.write_text(f"{known.read_text()}{address} {key}\n")
    yield lab
    known.write_text(without)
    for host, address in ADDRESSES.items():
        lab.run(host, "ip", "addr", "del", f"{address}/64", "dev", "eth0")


def launcher(lab: HostsLab, mpi: str) -> Launcher:
    program = shutil.which(f"mpirun.{mpi}")
    if program is None:
        skip_without({"openmpi": "Open MPI", "mpich": "MPICH"}[mpi])
    path = executable(lab.folder / mpi, f'exec {" ".join(lab.enter("h1"))} {program} "$@"')
    return open_mpi(program, path) if mpi == "openmpi" else Mpich(path)


def test_ssh_takes_an_address_without_brackets(lab: HostsLab) -> None:
    reach = Ssh((*lab.enter("h1"), *lab.ssh))
    assert ask(reach, "fd77::2", ("hostname",)) == ask(reach, "[fd77::2]", ("hostname",)) == "h2\n"


@contextmanager
def without_ipv4(lab: HostsLab) -> Iterator[None]:
    """Take the hosts' IPv4 addresses from them for a while."""
    for host in lab.names:
        lab.run(host, "ip", "-4", "addr", "flush", "dev", "eth0")
    try:
        yield
    finally:
        for host in lab.names:
            lab.run(host, "ip", "addr", "add", f"10.77.0.{host[1:]}/24", "brd", "+", "dev", "eth0")


def test_mpich_says_that_it_needs_ipv4_and_open_mpi_does_not(lab: HostsLab, tmp_path: Path) -> None:
    said = {}
    for mpi in ("openmpi", "mpich"):
        (folder := tmp_path / mpi).mkdir()
        runner = SshRunner(launcher(lab, mpi), Ssh((*lab.enter("h1"), *lab.ssh)), 60.0)
        program = executable(folder / "program", "uname -n")
        job = Job((str(program),), 2, folder, binding="none", nodes=tuple(ADDRESSES.values()), interfaces=("eth0",))
        with without_ipv4(lab):
            said[mpi] = wait(runner, runner.submit(job)).message
    if open_mpi("mpirun.openmpi").major < 5:  # 5.0.7 of Debian 13 is ended by a signal
        assert said["openmpi"] == ""
    assert said["mpich"].startswith("mpiexec finds no IPv4 address on its interface")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_ranks_run_on_nodes_named_by_ipv6_addresses(lab: HostsLab, tmp_path: Path, mpi: str) -> None:
    runner = SshRunner(launcher(lab, mpi), Ssh((*lab.enter("h1"), *lab.ssh)), 60.0)
    program = executable(tmp_path / "program", "uname -n")
    job = Job((str(program),), 2, tmp_path, binding="none", nodes=tuple(ADDRESSES.values()), interfaces=("eth0",))
    status = wait(runner, runner.submit(job))
    assert status.state is JobState.COMPLETED, status.message + RunPaths(tmp_path).read_stderr()
    assert sorted(RunPaths(tmp_path).read_stdout().split()) == ["h1", "h2"]
