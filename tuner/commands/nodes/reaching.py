"""Reaches the nodes that a cluster file names: by ssh, or as steps of a Slurm job that is held meanwhile."""

import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from runners.hosts.cluster import Cluster, SlurmTable, load_real_cluster
from runners.hosts.transport import Local
from runners.slurm.client import hosts_of_job, shortened, switches
from runners.slurm.hold import held
from runners.slurm.nodes import SlurmNode
from runners.slurm.options import SlurmOptions
from runners.slurm.steps import SlurmSteps, as_ssh

from ...errors import TunerError, UsageError
from ...events import Listener, Notice, WorkEnded, WorkStarted
from ...machine.slurm_facts import SlurmFacts, allocation_faults, ask_slurm
from ...nodes.step import NodesTarget
from ...stopping import Interrupted, StopRequest
from ...units import duration
from ...words import counted

LONGEST_S = 2 * 3600.0
"""Time limit of the job that holds the nodes, where neither the file nor the partition gives less."""


@contextmanager
def reached(file: Path | None, listener: Listener, stop: StopRequest) -> Iterator[NodesTarget]:
    """Reach the nodes of a cluster file while the block runs, or this machine.

    Raises:
        runners.toml_file.ClusterFileError: the file cannot be used.
        TunerError, RunnerError: Slurm does not give the nodes.
        Interrupted: somebody stopped the wait for them.
    """
    if file is None:
        yield NodesTarget(platform.node(), (platform.node(),), Local())
        return
    with reached_cluster(load_real_cluster(file), listener, stop) as target:
        yield target


@contextmanager
def reached_cluster(cluster: Cluster, listener: Listener, stop: StopRequest) -> Iterator[NodesTarget]:
    """Reach the nodes of a cluster while the block runs.

    Raises:
        TunerError, RunnerError, Interrupted: as of `reached`.
    """
    if cluster.slurm is None:
        yield NodesTarget(cluster.name, cluster.hosts, cluster.reach, cluster.switch_of, cluster.interfaces)
        return
    with _of_slurm(cluster, cluster.slurm, listener, stop) as target:
        yield target


@contextmanager
def _of_slurm(cluster: Cluster, table: SlurmTable, listener: Listener, stop: StopRequest) -> Iterator[NodesTarget]:
    """Hold all nodes that can run jobs; the others are told with Slurm's reason."""
    facts = ask_slurm(table)
    usable = facts.usable(cluster.node.cores)
    wanted = _wanted(cluster, table, facts, usable)
    places = cluster.switch_of or switches()
    silent = {node.name: _why_not(node) for node in facts.nodes if node not in usable}
    options = wanted.options(cluster.node.cores or min(node.cores for node in usable))

    with _job(options, wanted.time_limit_s or LONGEST_S, listener, stop) as job:
        names = tuple(node.name for node in facts.nodes)
        yield NodesTarget(cluster.name, names, SlurmSteps(job), places, cluster.interfaces, silent)


@contextmanager
def as_hosts(
    cluster: Cluster, folder: Path, least_s: float, listener: Listener, stop: StopRequest
) -> Iterator[Cluster]:
    """Hold nodes of Slurm while the block runs, and yield them as hosts that ssh reaches; other clusters as they are.

    Args:
        folder: for a program that takes the place of ssh while the nodes are held.
        least_s: how long they are needed.

    Raises:
        UsageError: Slurm gives nodes for a shorter time.
        TunerError, RunnerError: Slurm does not give the nodes.
        Interrupted: somebody stopped the wait for them.
    """
    table = cluster.slurm
    if table is None:
        yield cluster
        return
    facts = ask_slurm(table)
    for sentence in allocation_faults(cluster, table, facts):
        raise TunerError(f"Slurm: {sentence}")
    limit_s = facts.time_limit_s(table)
    if least_s > limit_s:
        raise UsageError(
            f"--time {duration(least_s)}: Slurm gives the nodes for {duration(limit_s)}: lower it, or raise "
            "time_limit_s under [slurm]"
        )
    options = table.options(cluster.node.cores or min(node.cores for node in facts.usable()))
    with _job(options, limit_s, listener, stop) as job, TemporaryDirectory(dir=folder) as own:
        hosts = hosts_of_job(job)
        listener(Notice(f"Slurm job {job} holds {counted(len(hosts), 'node')}: {shortened(hosts)}."))
        ssh = as_ssh(job, Path(own) / "as-ssh")
        held_hosts: dict[str, object] = {"backend": "ssh", "slurm": None, "hosts": hosts, "ssh": ssh, "switches": {}}
        yield cluster.model_copy(update=held_hosts)


@contextmanager
def _job(options: SlurmOptions, limit_s: float, listener: Listener, stop: StopRequest) -> Iterator[str]:
    """Hold nodes while the block runs, and tell why they are waited for."""

    def wait(text: str) -> None:
        listener(WorkEnded())
        listener(WorkStarted(text))

    with ExitStack() as stack:
        listener(WorkStarted(f"Waiting for {counted(options.nodes, 'node')} of Slurm"))
        try:
            with stop.preparing():
                job = stack.enter_context(held(options, limit_s, wait, lambda: stop.requested))
        finally:
            listener(WorkEnded())
        if job is None:
            raise Interrupted
        yield job


def _wanted(cluster: Cluster, table: SlurmTable, facts: SlurmFacts, usable: list[SlurmNode]) -> SlurmTable:
    """Return the table that asks for exactly these nodes.

    Raises:
        TunerError: Slurm would not give them.
    """
    if facts.asked and not usable:
        raise TunerError(f"Slurm: none of {counted(len(facts.nodes), 'node')} can run jobs: `sinfo -R` says why")
    whole = table.model_copy(
        update={
            "nodes": len(usable),
            "time_limit_s": table.time_limit_s or min(LONGEST_S, facts.max_time_s),
        }
    )
    for sentence in allocation_faults(cluster, whole, facts):
        raise TunerError(f"Slurm: {sentence}")
    names = shortened([node.name for node in usable])
    return whole.model_copy(update={"nodelist": names, "exclude": None, "constraint": None})


def _why_not(node: SlurmNode) -> str:
    if node.usable:
        return f"Slurm knows {counted(node.cores, 'core')} of it, and the cluster file wants more"
    state = node.state if node.responds else f"{node.state}, and does not respond"
    return f"Slurm says that it is {state}{f' ({node.reason})' if node.reason else ''}"
