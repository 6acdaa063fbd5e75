"""A cluster on one machine: a real slurmctld and a real slurmd for each of two nodes, without munge and accounting.

Needs root. Both nodes are this machine, so they share its file system and its processes.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psutil
from needs import require_root
from waiting import PATIENCE_S

NEEDED = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "scontrol", "srun")
CORES = 2
SETTINGS = """
ClusterName=hpltest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
TmpFS={folder}/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=1
KillWait=1
MessageTimeout=10
SlurmdTimeout=30
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cores} RealMemory=4000 Feature=ib,fast
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cores} RealMemory=4000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=UNLIMITED State=UP
PartitionName=short Nodes=n1,n2 MaxTime=1 State=UP
PartitionName=shut Nodes=n1,n2 MaxTime=UNLIMITED State=DOWN
PartitionName=urgent Nodes=n1,n2 MaxTime=UNLIMITED State=UP PriorityTier=9
"""


REAPER = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)
subprocess.Popen(sys.argv[1:])
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
"""Starts a daemon and collects its orphans (PR_SET_CHILD_SUBREAPER): Slurm waits for zombies to go, and a first process
of a container may take seconds to collect them."""


class SlurmLab:
    """Nodes n1 and n2 in the partitions main (the default), short (a minute), shut (down), and urgent (comes first)."""

    nodes = ("n1", "n2")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = folder / "slurm.conf"
        self._reapers: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "SLURM_CONF": str(self.configuration)}

    def __enter__(self) -> Self:
        for name in ("state", *(f"{kind}-{node}" for kind in ("spool", "tmp") for node in self.nodes)):
            (self.folder / name).mkdir(parents=True)
        settings = SETTINGS.format(folder=self.folder, host=socket.gethostname(), ports=_free_ports(3), cores=CORES)
        self.configuration.write_text(settings)
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._down()

    def mend(self) -> None:
        """End all jobs and let both nodes take jobs again; where Slurm does not do that, start it anew."""
        try:
            if not self.answers():
                raise subprocess.SubprocessError("the controller does not answer")
            self.ask("scancel", "--user=root")
            _until(lambda: not self.jobs(), "jobs do not end")
            if self.states() != {"idle"}:
                self.ask("scontrol", "update", f"nodename={','.join(self.nodes)}", "state=resume")
            self.wait_for_nodes()
        except (subprocess.SubprocessError, AssertionError):
            self._down()
            self._up()

    def cluster(self, node: str = "", **further: object) -> str:
        """A cluster file of the partition main.

        Args:
            node: lines of the table [node].
            further: keys that the table [slurm] has besides, or that have other values.
        """
        table = {"nodes": 1, "partition": "main", **further}
        slurm = "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
        return f'name = "lab"\nbackend = "slurm"\n[node]\n{node}[slurm]\n{slurm}'

    def ask(self, *command: str) -> str:
        """What one of Slurm's programs prints."""
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=self.environment)
        return done.stdout.strip()

    def answers(self) -> bool:
        """Whether the controller does."""
        done = subprocess.run(("scontrol", "ping"), capture_output=True, text=True, check=False, env=self.environment)
        return "UP" in done.stdout

    def start_controller(self) -> None:
        self._start("slurmctld")

    def start_node(self, node: str) -> None:
        self._start("slurmd", "-N", node)

    def lose_node(self, node: str) -> None:
        """Kill the daemon of a node, as a power failure does; Slurm notices only after SlurmdTimeout."""
        process = psutil.Process(int((self.folder / f"slurmd-{node}.pid").read_text()))
        process.kill()
        process.wait(PATIENCE_S)

    def stop_controller(self) -> None:
        """As an administrator would: it saves its state."""
        process = psutil.Process(int((self.folder / "slurmctld.pid").read_text()))
        process.terminate()
        process.wait(PATIENCE_S)

    def jobs(self) -> list[str]:
        """Jobs in the queue."""
        return self.ask("squeue", "--noheader", "--format=%i %T").splitlines()

    def states(self) -> set[str]:
        """The states of the nodes, as Slurm tells them."""
        return set(self.ask("sinfo", "--noheader", "--partition=main", "--format=%T").splitlines())

    @contextmanager
    def drained(self, node: str, reason: str) -> Iterator[None]:
        """Take a node from Slurm as an administrator does; afterwards it takes jobs again."""
        self.ask("scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")
        try:
            yield
        finally:
            self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
            self.wait_for_nodes()

    @contextmanager
    def taken(self, *options: str) -> Iterator[str]:
        """Let a job of somebody else have all nodes while the block runs; its number."""
        job = self.ask("sbatch", "--parsable", "--nodes=2", "--exclusive", "--output=/dev/null", *options,
                       "--wrap=sleep 600")  # fmt: skip
        try:
            yield job
        finally:
            self.ask("scancel", job)

    def wait_for_nodes(self) -> None:
        """Until both take jobs: "idle*" is a node that does not respond yet, as for a moment after it was resumed."""
        _until(lambda: self.answers() and self.states() == {"idle"}, "the nodes are not idle")

    def _up(self) -> None:
        self.start_controller()
        for node in self.nodes:
            self.start_node(node)
        self.wait_for_nodes()

    def _start(self, daemon: str, *options: str) -> None:
        self._reapers.append(
            subprocess.Popen(
                (sys.executable, "-c", REAPER, daemon, "-D", "-f", str(self.configuration), *options),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.environment,
            )
        )

    def _down(self) -> None:
        try:
            if self.answers():
                self.ask("scancel", "--user=root")
                _until(lambda: not self.jobs(), "jobs do not end")
        finally:
            for reaper in self._reapers:
                with contextlib.suppress(psutil.NoSuchProcess):
                    for process in psutil.Process(reaper.pid).children(recursive=True):
                        with contextlib.suppress(psutil.NoSuchProcess):
                            process.kill()
                reaper.wait(PATIENCE_S)
            self._reapers.clear()


@contextmanager
def slurm_lab(folder: Path) -> Iterator[SlurmLab]:
    """A laboratory, or a skipped test where there can be none."""
    require_root(NEEDED, "Slurm")
    with SlurmLab(folder) as lab:
        yield lab


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


def _until(condition: Callable[[], bool], otherwise: str, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)
