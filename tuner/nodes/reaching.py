"""Reaches the nodes that a cluster file names: by ssh, or through a batch system that holds them meanwhile."""

import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from runners.batch.base import BatchFacts, BatchNode, BatchSystem
from runners.forwarded import load_modules
from runners.hosts.cluster import Cluster, load_real_cluster
from runners.hosts.transport import Local

from ..errors import TunerError, UsageError
from ..events import Listener, Notice, WorkEnded, WorkStarted
from ..machine.batch_nodes import allocation_faults
from ..stopping import Interrupted, StopRequest
from ..units import duration
from ..words import counted
from .steps.step import NodesTarget

LONGEST_S = 2 * 3600.0
"""Time limit of the job that holds the nodes, where neither the file nor the partition gives less."""


@contextmanager
def reached(file: Path | None, listener: Listener, stop: StopRequest) -> Iterator[NodesTarget]:
    """Reach the nodes of a cluster file while the block runs, or this machine.

    Raises:
        runners.toml_file.ClusterFileError: the file cannot be used.
        TunerError, RunnerError: the batch system does not give the nodes.
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
    load_modules(cluster.modules)
    if cluster.batch is None:
        yield NodesTarget(cluster.name, cluster.hosts, cluster.reach, cluster.switch_of, cluster.interfaces)
        return
    with _of_batch(cluster, cluster.batch, listener, stop) as target:
        yield target


@contextmanager
def _of_batch(cluster: Cluster, batch: BatchSystem, listener: Listener, stop: StopRequest) -> Iterator[NodesTarget]:
    """Hold all nodes that can run jobs; the others are told with the batch system's reason."""
    facts = batch.facts()
    usable = facts.usable(cluster.node.cores)
    limit_s = batch.time_limit_s or min(LONGEST_S, facts.max_time_s)
    wanted = _wanted(batch.model_copy(update={"nodes": len(usable), "time_limit_s": limit_s}), cluster, facts, usable)
    places = cluster.switch_of or batch.switches()
    silent = {node.name: _why_not(batch.words.title, node) for node in facts.nodes if node not in usable}
    cores = cluster.node.cores or min(node.cores for node in usable)

    with _job(wanted, cores, limit_s, listener, stop) as job:
        names = tuple(node.name for node in facts.nodes)
        yield NodesTarget(cluster.name, names, batch.steps(job), places, cluster.interfaces, silent)


@contextmanager
def as_hosts(
    cluster: Cluster, folder: Path, least_s: float, listener: Listener, stop: StopRequest
) -> Iterator[Cluster]:
    """Hold nodes of a batch system while the block runs, and yield them as hosts of ssh; other clusters as they are.

    Args:
        folder: for a program that takes the place of ssh while the nodes are held.
        least_s: how long they are needed.

    Raises:
        UsageError: the batch system gives nodes for a shorter time.
        TunerError, RunnerError: the batch system does not give the nodes.
        Interrupted: somebody stopped the wait for them.
    """
    batch = cluster.batch
    if batch is None:
        yield cluster
        return
    facts, title = batch.facts(), batch.words.title
    for sentence in allocation_faults(batch, facts, cluster.node.cores):
        raise TunerError(f"{title}: {sentence}")
    limit_s = facts.time_limit_s(batch)
    if least_s > limit_s:
        raise UsageError(
            f"{title} gives the nodes for {duration(limit_s)}: lower it, or raise time_limit_s under [{batch.name}]",
            field="time",
            given=duration(least_s),
        )
    cores = cluster.node.cores or min(node.cores for node in facts.usable())
    with _job(batch, cores, limit_s, listener, stop) as job, TemporaryDirectory(dir=folder) as own:
        hosts = batch.hosts(job)
        listener(Notice(f"{title} job {job} holds {counted(len(hosts), 'node')}: {batch.shortened(hosts)}."))
        ssh = batch.as_ssh(job, Path(own) / "as-ssh")
        held_hosts: dict[str, object] = {"backend": "ssh", "batch": None, "hosts": hosts, "ssh": ssh, "switches": {}}
        yield cluster.model_copy(update=held_hosts)


@contextmanager
def _job(batch: BatchSystem, cores: int, limit_s: float, listener: Listener, stop: StopRequest) -> Iterator[str]:
    """Hold nodes while the block runs, and tell why they are waited for."""

    def wait(text: str) -> None:
        listener(WorkEnded())
        listener(WorkStarted(text))

    with ExitStack() as stack:
        listener(WorkStarted(f"Waiting for {counted(batch.nodes, 'node')} of {batch.words.title}"))
        try:
            with stop.preparing():
                job = stack.enter_context(batch.hold(cores, limit_s, wait, lambda: stop.requested))
        finally:
            listener(WorkEnded())
        if job is None:
            raise Interrupted
        yield job


def _wanted(batch: BatchSystem, cluster: Cluster, facts: BatchFacts, usable: list[BatchNode]) -> BatchSystem:
    """Return what asks a batch system for exactly these nodes.

    Raises:
        TunerError: it would not give them.
    """
    words = batch.words
    if facts.asked and not usable:
        none = f"none of {counted(len(facts.nodes), 'node')} can run jobs"
        raise TunerError(f"{words.title}: {none}: `{words.why_down}` says why")
    for sentence in allocation_faults(batch, facts, cluster.node.cores):
        raise TunerError(f"{words.title}: {sentence}")
    return batch.on([node.name for node in usable])


def _why_not(title: str, node: BatchNode) -> str:
    if node.usable:
        return f"{title} knows {counted(node.cores, 'core')} of it, and the cluster file wants more"
    state = node.state if node.responds else f"{node.state}, and does not respond"
    return f"{title} says that it is {state}{f' ({node.reason})' if node.reason else ''}"
