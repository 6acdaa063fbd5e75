"""Asks Slurm about partition, time limit, nodes and MPI of a cluster file, and says why a study cannot begin."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hpl.build.toolchain import Mpi
from runners.hosts.cluster import Cluster, SlurmTable
from runners.slurm.client import candidates, mpi_types, partitions
from runners.slurm.duration import in_words, minutes
from runners.slurm.nodes import Partition, SlurmNode

from ..words import counted

LONGEST_S = 4 * 3600.0
"""Time limit of an allocation where the file gives none and the partition's MaxTime is not shorter."""
BY_SRUN = {"openmpi": ("pmix", "OMPI_MCA_"), "mpich": ("pmi2", ""), "intelmpi": ("pmi2", "")}
"""How srun starts the ranks of a library, and what makes a variable of the name of one of its parameters."""


@dataclass(frozen=True)
class SlurmFacts:
    """What Slurm knows of what a cluster file asks for.

    Attributes:
        known: all partitions.
        asked: partitions that the file names, else the default one; empty if there is none of that name.
        nodes: those among which Slurm chooses.
        mpi_types: what `srun --mpi` takes; empty if srun does not say.
    """

    known: tuple[Partition, ...]
    asked: tuple[Partition, ...]
    nodes: tuple[SlurmNode, ...]
    mpi_types: tuple[str, ...]

    @property
    def max_time_s(self) -> float:
        """The partition's MaxTime, of several partitions the longest; infinite if there is none."""
        limits = [math.inf if part.limit_s is None else part.limit_s for part in self.asked]
        return max(limits, default=math.inf)

    def time_limit_s(self, table: SlurmTable) -> float:
        """The time limit of an allocation: that of the file, else 4 hours, or MaxTime if that is shorter."""
        return table.time_limit_s or min(LONGEST_S, self.max_time_s)

    def usable(self, cores: int | None = None) -> list[SlurmNode]:
        """The nodes that can run jobs and have at least that many cores."""
        return [node for node in self.nodes if node.usable and node.cores >= (cores or 0)]

    def by_state(self) -> Mapping[str, int]:
        """How many nodes are in each state, in Slurm's words."""
        return Counter(node.state if node.responds else f"{node.state}, not responding" for node in self.nodes)

    def can_srun(self, mpi: str) -> bool:
        """Whether srun can start the ranks of an MPI library, as far as Slurm says."""
        wanted = BY_SRUN[mpi][0]
        return not self.mpi_types or any(kind.partition("_v")[0] == wanted for kind in self.mpi_types)


def ask_slurm(table: SlurmTable) -> SlurmFacts:
    """Ask Slurm about what a table asks for.

    Raises:
        runners.errors.RunnerError: Slurm is not there or does not answer.
    """
    known = partitions()
    named = table.partition.split(",") if table.partition else [part.name for part in known if part.default]
    asked = tuple(part for part in known if part.name in named)
    nodes = candidates(table.partition, table.nodelist, table.exclude, table.constraint) if asked else ()
    return SlurmFacts(known, asked, nodes, mpi_types())


def slurm_faults(cluster: Cluster, table: SlurmTable, facts: SlurmFacts, mpi: Mpi | None) -> Iterator[str]:
    """Say why a study cannot begin, one sentence for each reason; `doctor` and `tune` say the same.

    Args:
        mpi: the library that a study uses; None where this host has none.
    """
    if mpi is None:
        yield "no MPI was found on this host: `hpltune setup` installs it"
    yield from allocation_faults(cluster, table, facts)
    if mpi is not None and facts.asked and table.launcher == "srun" and not facts.can_srun(mpi.name):
        yield (
            f'launcher = "srun" needs {BY_SRUN[mpi.name][0]} for {mpi.name}, which this Slurm does not have '
            f'(`srun --mpi=list`: {", ".join(facts.mpi_types)}): set launcher = "mpirun"'
        )


def allocation_faults(cluster: Cluster, table: SlurmTable, facts: SlurmFacts) -> Iterator[str]:
    """Say why Slurm never gives the nodes that a table asks for, one sentence for each reason."""
    wrong = _no_such_partition(table, facts)
    if wrong:
        yield wrong
        return
    yield from _closed(table, facts)
    yield from _too_few(cluster, table, facts)


def _no_such_partition(table: SlurmTable, facts: SlurmFacts) -> str | None:
    there = ", ".join(part.name for part in facts.known) or "none"
    if table.partition is None:
        return None if facts.asked else f"there is no default partition: set partition under [slurm] (there: {there})"
    missing = [name for name in table.partition.split(",") if name not in {part.name for part in facts.asked}]
    if not missing:
        return None
    return f"there is no partition {missing[0]}: correct partition under [slurm] (there: {there})"


def _closed(table: SlurmTable, facts: SlurmFacts) -> Iterator[str]:
    where = ",".join(part.name for part in facts.asked)
    if not any(part.up for part in facts.asked):
        others = ", ".join(part.name for part in facts.known if part.up) or "none"
        yield f"partition {where} is down and starts no jobs: wait until it is up, or choose another (up: {others})"
    if table.time_limit_s and minutes(table.time_limit_s) * 60 > facts.max_time_s:
        yield (
            f"time_limit_s = {table.time_limit_s:g} is more than MaxTime of partition {where}, "
            f"{in_words(facts.max_time_s)}: lower time_limit_s under [slurm], or leave it out"
        )


def _too_few(cluster: Cluster, table: SlurmTable, facts: SlurmFacts) -> Iterator[str]:
    where = f"partition {table.partition}" if table.partition else "Slurm"
    most = max((part.nodes_per_job or part.nodes for part in facts.asked), default=0)
    usable, cores = facts.usable(), cluster.node.cores
    asked = f"{counted(table.nodes, 'node')} {'is' if table.nodes == 1 else 'are'} asked"
    if len(usable) < table.nodes:
        yield f"{asked}, but {where} has {len(usable)} that can run jobs"
    elif table.nodes > most:
        yield f"{asked}, but {where} gives a job at most {most}: lower nodes under [slurm]"
    elif cores and len(facts.usable(cores)) < table.nodes:
        largest = max(node.cores for node in usable)
        yield (
            f"cores = {cores} under [node] of the cluster file, but {len(facts.usable(cores))} nodes of {where} have "
            f"so many (the largest has {largest}): lower cores"
        )
