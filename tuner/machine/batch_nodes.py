"""The nodes of a cluster behind a batch system: why a study cannot begin on them, their inventory, and their runner."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hpl.build.toolchain import Mpi
from results.metrics import four_digits
from runners.batch.allocation import AllocationTerms
from runners.batch.base import BatchFacts, BatchSystem, in_words
from runners.batch.runner import SPARE_S, BatchRunner
from runners.hosts.cluster import Cluster
from runners.launchers.base import ByMpi
from runners.settings.registry import HostsOffer

from ..errors import TunerError
from ..events import Notice
from ..units import gibibytes
from ..words import counted
from .cluster_nodes import on_nodes
from .interfaces import through_batch_system
from .inventory import Inventory, Nodes

LEAST_RUN_S = 10.0
"""That even the first runs of a study may take, with MPI's start."""


def survey_batch(cluster: Cluster, batch: BatchSystem, inventory: Inventory) -> tuple[Inventory, list[Notice]]:
    """Make the inventory of an allocation: libraries of this machine, cores and memory as the batch system knows them.

    Returns:
        The inventory, and notices of what the user should know.

    Raises:
        TunerError: the system does not give what is asked; the sentence says what.
        runners.errors.RunnerError: the system is not there.
    """
    facts = batch.facts()
    for sentence in batch_faults(batch, facts, cluster.node.cores, inventory.mpi):
        raise TunerError(f"{batch.words.title}: {sentence}")
    usable = facts.usable(cluster.node.cores)
    cores = cluster.node.cores or min(node.cores for node in usable)
    memory_bytes = cluster.node.memory_bytes(node.memory_bytes for node in usable)
    time_limit_s = facts.time_limit_s(batch)
    cluster = cluster.model_copy(update={"batch": batch.model_copy(update={"time_limit_s": time_limit_s})})
    nodes = Nodes((), batch.nodes, cores, memory_bytes, cluster, max(1.0, time_limit_s - SPARE_S))
    gflops = cluster.node.rpeak_gflops or inventory.rpeak.gflops / inventory.rpeak.cores * cores
    origin = "from the cluster file" if cluster.node.rpeak_gflops else "taken to be like this host's: see [node]"
    sentence = (
        f"Rpeak = {counted(batch.nodes, 'node')} x {four_digits(gflops)} = {four_digits(batch.nodes * gflops)} GFLOPS, "
        f"{origin}."
    )
    rpeak = replace(inventory.rpeak, gflops=batch.nodes * gflops, cores=batch.nodes * cores, reasoning=(sentence,))
    each = f"{counted(cores, 'core')} and {gibibytes(memory_bytes)} each"
    notice = Notice(f"Nodes from {_asked_of(batch)}: {batch.nodes} with {each}.")
    limited = through_batch_system(cluster, inventory.mpi.name)
    inventory = replace(inventory, offer=HostsOffer())
    return on_nodes(inventory, nodes, rpeak), [notice, *([Notice(f"{limited}.")] if limited else [])]


def batch_runner(nodes: Nodes, mpiruns: ByMpi, folder: Path) -> BatchRunner:
    """Make the runner that asks a batch system for nodes.

    Args:
        mpiruns: the launchers of the MPI libraries themselves.
        folder: on the file system that all nodes share.

    Raises:
        TunerError: no batch system gives these nodes.
    """
    batch = nodes.cluster.batch
    if batch is None:
        raise TunerError(f"{nodes.cluster.name} is no cluster behind a batch system")
    starters = ByMpi({mpi: batch.launcher_of(mpi, own) for mpi, own in mpiruns.launchers.items()})
    return BatchRunner(AllocationTerms(batch, nodes.cores, batch.queue_limit_s), starters, folder / batch.name)


def batch_faults(batch: BatchSystem, facts: BatchFacts, cores: int | None, mpi: Mpi | None) -> Iterator[str]:
    """Say why a study cannot begin, one sentence for each reason; `doctor` and `tune` say the same.

    Args:
        cores: that the cluster file says of each node.
        mpi: the library that a study uses; None where this host has none.
    """
    if mpi is None:
        yield "no MPI was found on this host: `hpltune setup` installs it"
    yield from allocation_faults(batch, facts, cores)
    limit_s, own = facts.time_limit_s(batch), facts.launcher
    if facts.asked and limit_s < SPARE_S + LEAST_RUN_S:
        yield (
            f"an allocation lasts {in_words(limit_s)}, of which {in_words(SPARE_S)} are kept to end a run in order, "
            f"and the first runs need {in_words(LEAST_RUN_S)}: leave {batch.words.queue} "
            f"{','.join(asked.name for asked in facts.asked)} for another, or raise its limit or time_limit_s under "
            f"[{batch.name}]"
        )
    if mpi is not None and facts.asked and own and batch.launcher == own.name and not own.starts(mpi.name):
        yield (
            f'launcher = "{own.name}" needs {own.needed[mpi.name]} for {mpi.name}, which this {batch.words.title} does '
            f'not have (`{own.lists_with}`: {", ".join(own.ways)}): set launcher = "mpirun"'
        )


def allocation_faults(batch: BatchSystem, facts: BatchFacts, cores: int | None) -> Iterator[str]:
    """Say why the batch system never gives the nodes that are asked of it, one sentence for each reason."""
    wrong = _no_such_queue(batch, facts)
    if wrong:
        yield wrong
        return
    yield from _closed(batch, facts)
    yield from _too_few(batch, facts, cores)


def _no_such_queue(batch: BatchSystem, facts: BatchFacts) -> str | None:
    there, queue = ", ".join(known.name for known in facts.known) or "none", batch.words.queue
    if batch.asked_queue is None:
        if facts.asked:
            return None
        return f"there is no default {queue}: set {queue} under [{batch.name}] (there: {there})"
    missing = [name for name in batch.asked_queue.split(",") if name not in {asked.name for asked in facts.asked}]
    if not missing:
        return None
    return f"there is no {queue} {missing[0]}: correct {queue} under [{batch.name}] (there: {there})"


def _closed(batch: BatchSystem, facts: BatchFacts) -> Iterator[str]:
    where = f"{batch.words.queue} {','.join(asked.name for asked in facts.asked)}"
    if not any(asked.up for asked in facts.asked):
        others = ", ".join(known.name for known in facts.known if known.up) or "none"
        yield f"{where} is down and starts no jobs: wait until it is up, or choose another (up: {others})"
    if batch.time_limit_s and 60 * math.ceil(batch.time_limit_s / 60) > facts.max_time_s:  # systems count minutes
        yield (
            f"time_limit_s = {batch.time_limit_s:g} is more than {batch.words.max_time} of {where}, "
            f"{in_words(facts.max_time_s)}: lower time_limit_s under [{batch.name}], or leave it out"
        )


def _too_few(batch: BatchSystem, facts: BatchFacts, cores: int | None) -> Iterator[str]:
    where = _asked_of(batch)
    most = max((asked.nodes_per_job or asked.nodes for asked in facts.asked), default=0)
    usable = facts.usable()
    known = sorted({node.cores for node in usable})
    asked = f"{counted(batch.nodes, 'node')} {'is' if batch.nodes == 1 else 'are'} asked"
    if len(usable) < batch.nodes:
        yield f"{asked}, but {where} has {len(usable)} that can run jobs"
    elif batch.nodes > most:
        yield f"{asked}, but {where} gives a job at most {most}: lower nodes under [{batch.name}]"
    elif not cores and len(known) > 1 and all(queue.limit_s is None for queue in facts.asked):
        yield (
            f"nodes of {batch.words.title} have {known[0]} to {known[-1]} cores, and {batch.words.title} does not tell "
            "which of them a job gets: write how many those have as cores under [node] of the cluster file"
        )
    elif cores and len(facts.usable(cores)) < batch.nodes:
        yield (
            f"cores = {cores} under [node] of the cluster file, but {len(facts.usable(cores))} nodes of {where} have "
            f"so many (the largest has {known[-1]}): lower cores"
        )


def _asked_of(batch: BatchSystem) -> str:
    return f"{batch.words.queue} {batch.asked_queue}" if batch.asked_queue else batch.words.title
