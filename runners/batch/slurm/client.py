"""Starts Slurm's own programs and reads their answers."""

import re
from collections.abc import Sequence

from ...errors import ProcessError, SubmitError
from ...hosts.hearing import CommandResult
from ..base import BatchNode, BatchQueue
from ..base import ask as ask_program
from ..registry import outside
from .nodes import NODE_FORM, PARTITION_FORM, parse_nodes, parse_partitions

KEPT = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT"})
"""Variables that choose a Slurm, not a job."""
_FEATURE = re.compile(r"[\w.-]+")
_MPI_TYPE = re.compile(r"\b(?:none|pmi2|pmix(?:_v\d+)?|openmpi|cray_shasta)\b")
_SILENT = re.compile(
    r"[Uu]nable to contact slurm controller|Unable to establish controller|onnection refused|Socket timed out"
    r"|connect failure|Zero Bytes were transmitted|communication connection failure|standby mode|Transport endpoint"
    r"|Unable to establish communication"
)


def silent(words: str) -> SubmitError:
    """Return the error that slurmctld does not answer now, so that the state of jobs is unknown."""
    return SubmitError(f"Slurm's controller does not answer: {words}", transient=True)


def nodes_of(partition: str | None = None, nodes: str | None = None) -> tuple[BatchNode, ...]:
    """Ask Slurm for the nodes of a partition, or for all nodes.

    Args:
        nodes: only these nodes, as Slurm writes them.

    Raises:
        ProcessError: sinfo failed.
        SubmitError: Slurm's programs are missing or slurmctld does not answer.
    """
    chosen = [f"--partition={partition}"] if partition else []
    chosen += [f"--nodes={nodes}"] if nodes else []
    return parse_nodes(_sinfo("--Node", *chosen, f"--format={NODE_FORM}"))


def partitions() -> tuple[BatchQueue, ...]:
    """Ask Slurm for all partitions, in its order.

    Raises:
        ProcessError, SubmitError: as `nodes_of`.
    """
    return parse_partitions(_sinfo(f"--format={PARTITION_FORM}"))


def _sinfo(*options: str) -> str:
    said = ask(["sinfo", "--noheader", *options])
    if said.exit_code != 0:
        raise ProcessError(f"sinfo failed: {said.words()}")
    return said.stdout


def mpi_types() -> tuple[str, ...]:
    """Ask srun for the values of its option --mpi; empty if it does not tell.

    Raises:
        SubmitError: srun is missing or slurmctld does not answer.
    """
    said = ask(["srun", "--mpi=list"])
    # older versions print to standard error
    lines = (said.stdout + said.stderr).splitlines() if said.exit_code == 0 else []
    listed = (line.partition(":")[2] or line for line in lines if "are..." not in line)
    return tuple(dict.fromkeys(kind for line in listed for kind in _MPI_TYPE.findall(line)))


def candidates(
    partition: str | None, nodelist: str | None = None, exclude: str | None = None, constraint: str | None = None
) -> tuple[BatchNode, ...]:
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


def ask(argv: Sequence[str]) -> CommandResult:
    """Run one of Slurm's programs and read its answer.

    Raises:
        SubmitError: it is missing, or slurmctld does not answer.
    """
    answer = ask_program(argv, "Slurm", outside(KEPT))
    if answer.exit_code != 0 and _SILENT.search(answer.stderr):
        raise silent(answer.words())
    return answer
