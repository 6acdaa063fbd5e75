"""Four hosts on one machine: network namespaces with host names of their own, a bridge as the switch, shaped links.

Open MPI starts the ranks through an agent that enters a host's namespaces. Where hosts share a core, a rank that waits
yields, and one that computes must not keep a rank with a message waiting for the scheduler's usual 3 ms: a preloaded
library asks for slices of 0.1 ms (Linux 6.12 and newer). Sleeping instead of yielding made runs 15 times slower.
Offloads are off, so that frames are as large as on a wire.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from runners.job import Job
from runners.local import LocalRunner
from runners.virtual.cluster import SharedMemory, VirtualCluster
from tuner.machine.calibrator import between_nodes
from tuner.trial.workbench import Workbench

HOSTS = 4
PREFIX = "hpltune-lab"
SLICES = """
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void __attribute__((constructor)) short_slices(void)
{
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t slice_ns, rest[2]; } wish;
    memset(&wish, 0, sizeof wish);
    wish.size = sizeof wish;
    wish.slice_ns = 100000;
    syscall(SYS_sched_setattr, 0, &wish, 0);
}
"""


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


class Lab:
    """The hosts, up while the block runs. Needs root."""

    def __init__(self, rate: str) -> None:
        if os.geteuid() != 0:
            sys.exit("hosts in network namespaces need root")
        self.rate = rate
        self.folder = Path(tempfile.mkdtemp(prefix="hpltune-lab-"))

    def __enter__(self) -> Self:
        try:
            self._up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._down()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _up(self) -> None:
        self._down()
        switch = f"{PREFIX}-switch"
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "bridge0", "type", "bridge", "stp_state", "0", "forward_delay", "0")
        _run("ip", "-n", switch, "link", "set", "bridge0", "up")
        for number in range(1, HOSTS + 1):
            self._host(number, switch)
        source = self.folder / "slices.c"
        source.write_text(SLICES, encoding="utf-8")
        _run("cc", "-O2", "-shared", "-fPIC", "-o", str(self.folder / "slices.so"), str(source))
        agent = self.folder / "agent"
        agent.write_text(
            f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\nhost=$1; shift\n'
            f'exec {self.folder}/enter "$host" /bin/sh -c "$*" </dev/null\n',
            encoding="utf-8",
        )
        enter = self.folder / "enter"
        enter.write_text(
            f"#!/bin/sh\nhost=$1; shift\nnumber=${{host#h}}\ncore=$(((number - 1) % $(nproc --all)))\n"
            f'exec ip netns exec {PREFIX}-$host nsenter --uts={self.folder}/uts-$host -- taskset -c $core "$@"\n',
            encoding="utf-8",
        )
        for script in (agent, enter):
            script.chmod(0o755)

    def _host(self, number: int, switch: str) -> None:
        host, uts = f"{PREFIX}-h{number}", self.folder / f"uts-h{number}"
        _run("ip", "netns", "add", host)
        uts.touch()
        _run("unshare", f"--uts={uts}", "hostname", f"h{number}")
        _run("ip", "-n", host, "link", "set", "lo", "up")
        _run("ip", "link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", f"p{number}", "netns", switch)
        _run("ip", "-n", switch, "link", "set", f"p{number}", "master", "bridge0", "up")
        _run("ip", "-n", host, "addr", "add", f"10.77.0.{number}/24", "brd", "+", "dev", "eth0")
        _run("ip", "-n", host, "link", "set", "eth0", "up")
        shape = ("root", "tbf", "rate", self.rate, "burst", "3k", "limit", "512k")
        offloads = ("tso", "off", "gso", "off", "gro", "off")
        _run("ip", "netns", "exec", host, "ethtool", "-K", "eth0", *offloads)
        _run("tc", "-n", host, "qdisc", "add", "dev", "eth0", *shape)
        _run("tc", "-n", switch, "qdisc", "add", "dev", f"p{number}", *shape)
        subprocess.run(
            ("ip", "netns", "exec", host, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"), check=True
        )
        names = Path(f"/etc/netns/{host}")
        names.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost", *(f"10.77.0.{other} h{other}" for other in range(1, HOSTS + 1))]
        (names / "hosts").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _down(self) -> None:
        listed = subprocess.run(("ip", "netns", "list"), capture_output=True, text=True, check=True).stdout
        for name in [line.split()[0] for line in listed.splitlines() if line.startswith(PREFIX)]:
            _run("ip", "netns", "del", name)
            subprocess.run(("rm", "-rf", f"/etc/netns/{name}"), check=False)
        for uts in self.folder.glob("uts-*"):
            subprocess.run(("umount", str(uts)), check=False, capture_output=True)


@dataclass(frozen=True)
class LabLauncher:
    """Open MPI over TCP between the lab's hosts, one rank on each."""

    lab: Lab
    mpirun: Path

    def command(self, job: Job) -> list[str]:
        settings = {
            "plm": "rsh",
            "plm_rsh_agent": str(self.lab.folder / "agent"),
            "btl": "tcp,self",
            "btl_tcp_if_include": "eth0",
            "mpi_yield_when_idle": "1",
            "orte_keep_fqdn_hostnames": "0",
        }
        hosts = ",".join(f"h{number}" for number in range(1, HOSTS + 1))
        argv = [str(self.lab.folder / "enter"), "h1", str(self.mpirun), "--allow-run-as-root", "--bind-to", "none"]
        for name, value in settings.items():
            argv += ["--mca", name, value]
        for name, value in {**job.environment, "LD_PRELOAD": str(self.lab.folder / "slices.so")}.items():
            argv += ["-x", f"{name}={value}"]
        return [*argv, "-H", hosts, "-np", str(job.ranks), *job.program]

    def explain(self, job: Job, exit_code: int, stderr: str) -> str:
        del job
        last = [line for line in stderr.splitlines() if line.strip(" -") and not line.startswith("hpltune-")]
        return f"mpirun ended with code {exit_code}: {shlex.quote(last[-1]) if last else 'it said nothing'}"


def lab_workshop(workshop: Workbench, lab: Lab) -> Workbench:
    """The same machine, seen as HOSTS cores that are reached through the lab."""
    host = replace(workshop.site.host, physical_cores=HOSTS)
    site = replace(workshop.site, host=host)
    runner = LocalRunner(LabLauncher(lab, workshop.site.mpi.mpirun))
    return replace(workshop, site=site, evaluator=replace(workshop.evaluator, machine=site, runner=runner))


def lab_cluster(cluster: VirtualCluster) -> VirtualCluster:
    """One node of HOSTS cores, as calibrated, taken apart into HOSTS nodes with a network between them."""
    node = cluster.nodes[0].model_copy(update={"count": HOSTS, "cores": 1})
    return between_nodes(cluster.model_copy(update={"nodes": (node,)}), SharedMemory())
