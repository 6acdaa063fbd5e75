"""One real start of a rank on each node of a cluster, as runs start theirs, and what prevents it."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hpl.build.toolchain import Mpi
from hpl.errors import HplError
from hpl.search_paths import SearchPaths
from runners.errors import RunnerError, UnreachableError
from runners.hosts.cluster import Cluster
from runners.hosts.copies import copies_for
from runners.hosts.node_facts import NodeSays
from runners.hosts.ssh import SshRunner
from runners.hosts.transport import Transport, say_all
from runners.job import Job
from runners.paths import RunPaths
from runners.registry import InstalledMpi

from ..user_dirs import UserDirs
from ..words import counted
from .interfaces import rdma_ports, ucx_devices
from .mpi_start import LIMIT_S, Start, start_program, why_not_started

StartOnNodes = Callable[[Mpi, Cluster, Sequence[NodeSays], Sequence[str], UserDirs, str], Start]
"""Starts a rank on each of these nodes with an MPI library, which may use these interfaces; a sentence tells between
which of them nothing gets through."""
CLOSED_S, OPEN_S, NODE_S = 5.0, 20.0, 0.1
"""For a start on nodes between which connections are known not to get through, on others, and for each of these."""
_LAYER = re.compile(r"select: component (\w+) selected")
"""What Open MPI tells of its layer for messages between two points, where it is asked (pml_base_verbose)."""


def start_on_nodes(
    mpi: Mpi, cluster: Cluster, says: Sequence[NodeSays], interfaces: Sequence[str], user_dirs: UserDirs, closed: str
) -> Start:
    """Start the smallest MPI program, one rank on each node, through the agent that starts the daemons of runs.

    Args:
        interfaces: network interfaces that MPI may use; none lets it choose.
        closed: the sentence between which nodes nothing gets through, "" where none is known.
    """
    began_s, runs, layer = time.monotonic(), user_dirs.shared[0], ""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="doctor-start-", dir=runs) as folder:
            job = _job(mpi, cluster, says, interfaces, user_dirs, Path(folder))
            job = replace(job, walltime_s=CLOSED_S if closed else OPEN_S + NODE_S * len(says))
            why_not = _started(mpi, cluster, job, user_dirs)
            took_s = time.monotonic() - began_s
            if not why_not and mpi.name == "openmpi" and rdma_ports(says):
                _started(mpi, cluster, replace(job, mpi_parameters={"pml_base_verbose": "10"}), user_dirs)
                layer = ", ".join(sorted(set(_LAYER.findall(RunPaths(job.directory).read_stderr()))))
    except (HplError, RunnerError) as error:
        why_not = str(error)
    except OSError as error:
        why_not = f"{error.filename or runs} cannot be written ({error.strerror or error})"
    told = "; ".join(filter(None, (closed, why_not))) if why_not else ""
    return Start(told, time.monotonic() - began_s if why_not else took_s, layer)


def refused_on_nodes(mpi: Mpi, nodes: Sequence[str], start: Start) -> str:
    """The sentence that an MPI library starts no ranks on nodes."""
    return f"{mpi.name} {mpi.version} does not start {one_each(nodes)}: {start.why_not}"


def one_each(nodes: Sequence[str]) -> str:
    """What is started, in words."""
    return f"a rank on each of {counted(len(nodes), 'node')}" if len(nodes) > 1 else f"a rank on node {nodes[0]}"


def all_have(reach: Transport, nodes: Sequence[str], program: Path) -> bool:
    """Return whether all nodes have a program at this path."""
    said = say_all(reach, nodes, ("test", "-x", str(program)))
    return all(not isinstance(own, UnreachableError) and own.exit_code == 0 for own in said.values())


def _job(
    mpi: Mpi,
    cluster: Cluster,
    says: Sequence[NodeSays],
    interfaces: Sequence[str],
    user_dirs: UserDirs,
    folder: Path,
) -> Job:
    nodes = tuple(node.node for node in says)
    return Job(
        program=start_program(mpi, SearchPaths(user_dirs.prefix, user_dirs.cache), len(nodes)),
        ranks=len(nodes),
        directory=folder,
        walltime_s=LIMIT_S,
        binding="none",
        oversubscribe=True,
        launcher_environment=dict(mpi.environment),
        mpi=mpi.name,
        nodes=nodes,
        interfaces=tuple(interfaces),
        ucx_devices=ucx_devices(rdma_ports(says), interfaces, named=bool(cluster.interfaces)),
    )


def _started(mpi: Mpi, cluster: Cluster, job: Job, user_dirs: UserDirs) -> str:
    launcher = InstalledMpi(mpi.name, mpi.mpirun, mpi.version).launcher()
    with SshRunner(launcher, cluster.reach, LIMIT_S, copies_for(cluster, user_dirs.copies), job.nodes) as runner:
        return why_not_started(runner, launcher, job, mpi)
