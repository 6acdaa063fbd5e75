"""The contract of a batch system: what is asked of it, how its jobs stand, and what it knows of its nodes.

A system has to submit, tell of, and end jobs, and to name its nodes. What else Slurm can do has a default here, which
says that the system does not do it. `tests/contracts/batch_contract.py` checks a system.
"""

import math
import subprocess
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar, Self

from ..base import JobState
from ..errors import InvalidJobError, Mishap, SubmitError
from ..hosts.hearing import CommandResult
from ..hosts.transport import Ssh, Transport
from ..job import Job
from ..launchers.base import Launcher
from ..toml_file import Count, Part, Positive

LONGEST_S = 4 * 3600.0
"""Time limit of an allocation where the cluster file gives none, and the batch system gives no less."""
ANSWER_S = 60.0
"""Seconds that a batch system has to answer; a busy one takes many."""
AS_SSH = """#!/bin/sh
# Called as ssh: runs a line on a node of a job.
while [ "${1#-}" != "$1" ]; do
    [ "$1" != -o ] || shift
    shift
done
node=$1
shift
[ "$1" != -- ] || shift
"""
"""Reads ssh's arguments: then `$node` is the node, and "$*" the line."""


class JobPhase(Enum):
    """How far a job of a batch system is."""

    WAITING = "it has no nodes yet"
    RUNNING = "it has nodes, and its script runs"
    PAUSED = "it has nodes, but the batch system stopped it, or works on it"
    ENDING = "its script has ended, and the batch system cleans up"
    ENDED = "nothing of it is left"


@dataclass(frozen=True)
class BatchJob:
    """A job as its batch system tells of it.

    Attributes:
        nodes: its nodes as the system writes them; "" before it has any.
        left_s: seconds until its time limit; None if the system does not tell.
        sentence: why it waits or how it ended; "{node}" in it stands for the node that failed.
        never: why it will never start, as the end of a sentence; None if it may start.
        state: how a run that it took along has ended.
        by_its_script: it ended because its script did, so the script's last report counts.
        event: what befell it; None where it ended for its own reasons.
    """

    number: str
    phase: JobPhase
    nodes: str = ""
    left_s: float | None = None
    sentence: str = ""
    never: str | None = None
    state: JobState = JobState.FAILED
    by_its_script: bool = False
    event: Mishap | None = None

    def told(self, failed: Sequence[str] = ()) -> str:
        """Return the sentence, with the nodes that failed if they are known."""
        named = f"node {', '.join(failed)}" if failed else f"a node of {self.nodes}" if self.nodes else "a node"
        return self.sentence.replace("{node}", named)


@dataclass(frozen=True)
class BatchNode:
    """A node as a batch system knows it.

    Attributes:
        cores: physical cores.
        state: the system's word for its state, such as "idle".
        responds: whether it answers the system.
        reason: why it was taken out of service; "" if it is in service.
    """

    name: str
    cores: int
    memory_mib: int
    state: str
    features: tuple[str, ...] = ()
    responds: bool = True
    reason: str = ""
    at_work: ClassVar[frozenset[str]] = frozenset(
        {"up", "idle", "mixed", "allocated", "completing", "reserved", "planned"}
    )
    """The states in which it runs jobs, now or after the current ones: up, or in the words of Slurm."""

    @property
    def memory_bytes(self) -> int:
        """The memory that jobs may take."""
        return self.memory_mib * 2**20

    @property
    def usable(self) -> bool:
        """Whether jobs can run on it, now or after the current ones."""
        return self.responds and self.state in self.at_work


@dataclass(frozen=True)
class BatchQueue:
    """A queue of a batch system, which Slurm calls a partition.

    Attributes:
        up: whether it starts jobs.
        limit_s: the longest time limit; `math.inf` for no limit, None if the system does not tell.
        nodes: how many nodes it has.
        nodes_per_job: the most nodes of a job; None for no limit.
    """

    name: str
    default: bool
    up: bool
    limit_s: float | None
    nodes: int
    nodes_per_job: int | None


@dataclass(frozen=True)
class OwnLauncher:
    """The program with which a batch system itself starts ranks.

    Attributes:
        name: of the program, and in the cluster file.
        option: its option that chooses how ranks find each other.
        lists_with: the command that lists the values of that option.
        ways: these values; empty if the program does not say.
        needed: by MPI library the value that it needs.
    """

    name: str
    option: str
    lists_with: str
    ways: tuple[str, ...]
    needed: Mapping[str, str]

    def starts(self, mpi: str) -> bool:
        """Whether it can start the ranks of an MPI library, as far as it says."""
        return not self.ways or any(self.needed[mpi] in {way, way.partition("_v")[0]} for way in self.ways)


@dataclass(frozen=True)
class BatchFacts:
    """What a batch system knows of what a cluster file asks for.

    Attributes:
        known: all queues.
        asked: queues that the file names, else the default one; empty if there is none of that name.
        nodes: those among which the system chooses.
        launcher: its own; None if it has none.
    """

    known: tuple[BatchQueue, ...]
    asked: tuple[BatchQueue, ...]
    nodes: tuple[BatchNode, ...]
    launcher: OwnLauncher | None = None

    @property
    def max_time_s(self) -> float:
        """The longest time limit of a queue that is asked; infinite if there is none."""
        return max([math.inf if queue.limit_s is None else queue.limit_s for queue in self.asked], default=math.inf)

    def time_limit_s(self, batch: "BatchSystem") -> float:
        """Return the time limit of an allocation: that of the file, else 4 hours, or the queue's if that is shorter."""
        return batch.time_limit_s or min(LONGEST_S, self.max_time_s)

    def usable(self, cores: int | None = None) -> list[BatchNode]:
        """Return the nodes that can run jobs and have at least that many cores."""
        return [node for node in self.nodes if node.usable and node.cores >= (cores or 0)]

    def by_state(self) -> Mapping[str, int]:
        """Return how many nodes are in each state, in the system's words."""
        return Counter(node.state if node.responds else f"{node.state}, not responding" for node in self.nodes)


@dataclass(frozen=True)
class BatchWords:
    """The words for a batch system in sentences for people.

    Attributes:
        title: its name, as "Slurm".
        queue: its word for a queue, and the key of the table that names one.
        max_time: its word for the longest time limit of a queue.
        submit: the program that takes jobs.
        look: the program that lists jobs.
        why_down: the command that says why nodes run no jobs.
        hosts: what to do about hosts in a cluster file, which the system chooses.
    """

    title: str
    queue: str
    max_time: str
    submit: str
    look: str
    why_down: str
    hosts: str


class BatchSystem(Part, ABC):
    """A batch system, with all that the table of its name in a cluster file asks of it.

    Attributes:
        nodes: how many nodes each trial runs on.
        launcher: "mpirun" of the MPI library inside the allocation, or the system's own.
        reuse: whether an allocation takes one trial after another; otherwise each trial is a job of its own.
        time_limit_s: of an allocation that several trials share; None means 4 hours, or the queue's if that is less.
        queue_limit_s: how long a job may wait for its nodes.
        further: more options for the program that takes jobs.
    """

    name: ClassVar[str]
    """Of the table in a cluster file, and what `backend` is there."""
    words: ClassVar[BatchWords]
    sayings: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Messages of its own launcher and their meaning; the first that matches counts."""
    starters: ClassVar[tuple[str, ...]] = ()
    """Its programs that start ranks, as they name themselves in outputs."""
    end_steps: ClassVar[str]
    """A function of this name for the shell of a worker: it ends what a launcher started on other nodes of the job.

    It fails if something may be left: then the system must end the whole job.
    """

    nodes: Count
    launcher: str = "mpirun"
    reuse: bool = True
    time_limit_s: Positive | None = None
    queue_limit_s: Positive = 24 * 3600.0
    further: tuple[str, ...] = ()

    @property
    def asked_queue(self) -> str | None:
        """The queue that the table names, or several with commas between them; None for the default one."""
        named: str | None = getattr(self, self.words.queue)
        return named

    @property
    def excluded(self) -> tuple[str, ...]:
        """Nodes that the system is asked not to give."""
        return ()

    @property
    def nodes_named_by(self) -> str:
        """The key of the table that says on which nodes jobs run; "" if the system chooses among all."""
        return ""

    def without(self, nodes: Sequence[str]) -> Self:  # noqa: ARG002 - the contract's
        """Return the same with further nodes that the system is asked not to give, where it can be asked so."""
        return self

    def on(self, nodes: Sequence[str]) -> Self:
        """Return the same for jobs on exactly these nodes, where they can be named."""
        return self.model_copy(update={"nodes": len(nodes)})

    @abstractmethod
    def submit(self, cores_per_node: int, time_s: float, log: Path, script: Sequence[str]) -> str:
        """Submit a script and its arguments, which the first node runs, and return the number of the job.

        Args:
            cores_per_node: physical cores of a node that ranks and their threads may use.
            time_s: time limit of the job.
            log: the file for the script's own output.

        Raises:
            InvalidJobError: the system will never take such a job.
            SubmitError: it does not take the job now.
        """

    @abstractmethod
    def status(self, jobs: Collection[str]) -> Mapping[str, BatchJob]:
        """Ask how jobs stand; those that the system has forgotten are missing.

        Raises:
            SubmitError: the system does not answer.
        """

    @abstractmethod
    def cancel(self, jobs: Collection[str]) -> None:
        """Order the system to end jobs; jobs that have already ended are no error.

        Raises:
            SubmitError: the system does not answer.
        """

    def hold(  # the contract's arguments
        self,
        cores_per_node: int,  # noqa: ARG002
        time_s: float,  # noqa: ARG002
        waiting: Callable[[str], None],  # noqa: ARG002
        stopped: Callable[[], bool],  # noqa: ARG002
    ) -> AbstractContextManager[str | None]:
        """Hold nodes while the block runs, and give the number of the job; None if somebody stopped the wait for it.

        Nothing stays allocated when this process dies, however it dies.

        Args:
            waiting: is told why the nodes are not there yet, each reason once.
            stopped: whether nobody wants them any more.

        Raises:
            InvalidJobError, SubmitError: the system does not give them.
        """
        raise InvalidJobError(
            f"hpltune cannot hold nodes of {self.words.title} for this: start it inside a job of yours, as "
            "docs/clusters.md shows"
        )

    @abstractmethod
    def facts(self) -> BatchFacts:
        """Ask about what the table asks for.

        Raises:
            runners.errors.RunnerError: the system is not there or does not answer.
        """

    def hosts(self, job: str) -> tuple[str, ...]:  # noqa: ARG002 - the contract's
        """Return the names of the nodes that a running job has, in the order in which ranks fill them; none: unknown.

        Raises:
            SubmitError: the system does not tell.
        """
        return ()

    def failed_nodes(self, nodes: str, said: str) -> tuple[str, ...]:  # noqa: ARG002 - the contract's
        """Return the nodes that failed of a job that ended for this, if the system knows them.

        Args:
            nodes: `BatchJob.nodes`.
            said: what its script and launchers printed.

        Raises:
            runners.errors.RunnerError: the system does not tell.
        """
        return ()

    def switches(self) -> Mapping[str, str]:
        """Ask for the switch of each node; empty if the system knows no topology.

        Raises:
            SubmitError: the system does not answer.
        """
        return {}

    def shortened(self, nodes: Sequence[str]) -> str:
        """Return names of nodes as the system writes them.

        Raises:
            SubmitError: the system does not answer.
        """
        return ",".join(nodes)

    def steps(self, job: str) -> Transport:  # noqa: ARG002 - the contract's
        """Return what runs commands on the nodes of a job."""
        return Ssh()

    def as_ssh(self, job: str, file: Path) -> tuple[str, ...]:  # noqa: ARG002 - the contract's
        """Write a program that is called as `ssh [options] node -- line`, and return the tokens that start it.

        Args:
            job: the number of the job that holds the nodes.
        """
        return ("ssh",)

    def launcher_of(self, mpi: str, its_own: Launcher) -> Launcher:  # noqa: ARG002 - the contract's
        """Return what starts the ranks of an MPI library in an allocation.

        Args:
            its_own: the launcher of that library.
        """
        return its_own

    def command(self, launcher: Launcher, job: Job, folder: Path) -> list[str]:  # noqa: ARG002 - the contract's
        """Return the tokens that start the ranks of a job inside an allocation.

        Args:
            folder: that all nodes see, for programs that the launcher needs.

        Raises:
            InvalidJobError: the launcher cannot start such a job.
        """
        return launcher.command(job)


def ask(argv: Sequence[str], title: str, environment: Mapping[str, str]) -> CommandResult:
    """Run a program of a batch system and read its answer.

    Args:
        title: the name of the system.

    Raises:
        SubmitError: it is missing, or does not answer.
    """
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_S,
            env=environment,
            check=False,
        )
    except FileNotFoundError as error:
        module = title.replace(" ", "").lower()
        raise SubmitError(
            f"{argv[0]} is not on PATH: {title}'s programs are needed (on many clusters `module load {module}`)",
            transient=False,
        ) from error
    except OSError as error:
        raise SubmitError(f"cannot start {argv[0]}: {error.strerror}", transient=True) from error
    except subprocess.TimeoutExpired as error:
        raise SubmitError(
            f"{title} does not answer: {argv[0]} took longer than {ANSWER_S:.0f} s", transient=True
        ) from error
    return CommandResult(done.returncode, done.stdout, done.stderr)


def in_words(seconds: float) -> str:
    """Write a duration for a sentence."""
    return (
        f"{seconds:.0f} s"
        if seconds < 300
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
