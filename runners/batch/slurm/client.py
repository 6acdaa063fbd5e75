"""Starts Slurm's own programs and reads their answers."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import ProcessError, SubmitError
from ..base import BatchQueue
from ..registry import outside
from .nodes import (
    MPI_TYPES,
    SlurmNode,
    nodes_command,
    parse_mpi_types,
    parse_nodes,
    parse_partitions,
    partitions_command,
)

ANSWER_S = 60.0
"""Seconds that slurmctld has to answer; a busy one takes many."""
KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT"})
"""Variables that choose a Slurm, not a job."""
_FEATURE = re.compile(r"[\w.-]+")
_SILENT = re.compile(
    r"[Uu]nable to contact slurm controller|Unable to establish controller|onnection refused|Socket timed out"
    r"|connect failure|Zero Bytes were transmitted|communication connection failure|standby mode|Transport endpoint"
    r"|Unable to establish communication"
)


class SlurmSilentError(SubmitError):
    """slurmctld does not answer now, so the state of jobs is unknown."""

    def __init__(self, words: str) -> None:
        super().__init__(f"Slurm's controller does not answer: {words}", transient=True)


@dataclass(frozen=True)
class Answer:
    """What one of Slurm's programs printed, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str


def nodes_of(partition: str | None = None, nodes: str | None = None) -> tuple[SlurmNode, ...]:
    """Ask Slurm for the nodes of a partition, or for all nodes.

    Args:
        nodes: only these nodes, as Slurm writes them.

    Raises:
        ProcessError: sinfo failed.
        SubmitError: Slurm's programs are missing or slurmctld does not answer.
    """
    argv = nodes_command(partition, nodes)
    said = ask(argv)
    if said.exit_code != 0:
        raise ProcessError(f"sinfo failed: {last_words(said)}", argv, said.exit_code, said.stdout, said.stderr)
    return parse_nodes(said.stdout)


def partitions() -> tuple[BatchQueue, ...]:
    """Ask Slurm for all partitions, in its order.

    Raises:
        ProcessError, SubmitError: as `nodes_of`.
    """
    argv = partitions_command()
    said = ask(argv)
    if said.exit_code != 0:
        raise ProcessError(f"sinfo failed: {last_words(said)}", argv, said.exit_code, said.stdout, said.stderr)
    return parse_partitions(said.stdout)


def mpi_types() -> tuple[str, ...]:
    """Ask srun for the values of its option --mpi; empty if it does not tell.

    Raises:
        SubmitError: srun is missing or slurmctld does not answer.
    """
    said = ask(MPI_TYPES)
    return parse_mpi_types(said.stdout + said.stderr) if said.exit_code == 0 else ()


def candidates(
    partition: str | None, nodelist: str | None = None, exclude: str | None = None, constraint: str | None = None
) -> tuple[SlurmNode, ...]:
    """Return the nodes among which Slurm can choose for a job; without a partition those of the default one.

    A constraint is judged only if all its features are required ("ib", "ib&fast"); others only Slurm understands.

    Raises:
        ProcessError, SubmitError: as `nodes_of`.
    """
    if partition is None:
        partition = next((one.name for one in partitions() if one.default), None)
    left_out = {node.name for node in nodes_of(nodes=exclude)} if exclude else set()
    features = set((constraint or "").split("&"))
    wanted = features if all(_FEATURE.fullmatch(feature) for feature in features) else set()
    return tuple(
        node for node in nodes_of(partition, nodelist) if node.name not in left_out and wanted.issubset(node.features)
    )


def hostnames(listed: str) -> list[str]:
    """Return the names in one of Slurm's lists, as n[1-3]; none where Slurm cannot read it."""
    said = ask(["scontrol", "show", "hostnames", listed])
    return said.stdout.split() if said.exit_code == 0 else []


def ask(argv: Sequence[str]) -> Answer:
    """Run one of Slurm's programs and read its answer.

    Raises:
        SubmitError: it is missing, or slurmctld does not answer.
    """
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_S,
            env=outside(KEPT),
            check=False,
        )
    except FileNotFoundError as error:
        sentence = f"{argv[0]} is not on PATH: Slurm's programs are needed (on many clusters `module load slurm`)"
        raise SubmitError(sentence, transient=False) from error
    except OSError as error:
        raise SubmitError(f"cannot start {argv[0]}: {error.strerror}", transient=True) from error
    except subprocess.TimeoutExpired as error:
        raise SlurmSilentError(f"{argv[0]} took longer than {ANSWER_S:.0f} s") from error
    answer = Answer(done.returncode, done.stdout, done.stderr)
    if done.returncode != 0 and _SILENT.search(done.stderr):
        raise SlurmSilentError(last_words(answer))
    return answer


def last_words(answer: Answer) -> str:
    """Return the last line that a program printed, or its exit code."""
    lines = [line for line in (answer.stderr or answer.stdout).splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"code {answer.exit_code}"
