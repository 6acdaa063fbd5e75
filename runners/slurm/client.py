"""Starts Slurm's own programs and reads their answers."""

import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..batch_job import outside
from ..errors import InvalidJobError, ProcessError, SubmitError
from .nodes import (
    MPI_TYPES,
    Partition,
    SlurmNode,
    nodes_command,
    parse_mpi_types,
    parse_nodes,
    parse_partitions,
    parse_switches,
    partitions_command,
)
from .options import SlurmOptions
from .queue import Queued, forgotten, parse_squeue, scancel_command, squeue_command
from .submit import parse_sbatch, refusal, sbatch_command, too_much

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
class _Answer:
    exit_code: int
    stdout: str
    stderr: str


def submit(options: SlurmOptions, time_s: float, log: Path, script: Sequence[str]) -> str:
    """Submit a script and return the number of the job.

    Raises:
        InvalidJobError: Slurm will never take such a job.
        SubmitError: Slurm does not take it now.
    """
    partitions = _ask(partitions_command())
    wrong = too_much(options, time_s, parse_partitions(partitions.stdout)) if partitions.exit_code == 0 else None
    if wrong:
        raise InvalidJobError(f"Slurm: {wrong}")
    said = _ask(sbatch_command(options, time_s, log, script))
    job = parse_sbatch(said.stdout)
    if said.exit_code != 0 or job is None:
        raise refusal(options, time_s, said.stderr)
    return job


def look(jobs: Collection[str]) -> Mapping[str, Queued]:
    """Ask Slurm for the state of jobs; those that it has forgotten are missing.

    Raises:
        SlurmSilentError: slurmctld does not answer.
        SubmitError: squeue is missing or cannot be used.
    """
    if not jobs:
        return {}
    argv = squeue_command(jobs)
    said = _ask(argv)
    if said.exit_code != 0 and not forgotten(said.stderr):
        raise SlurmSilentError(_last_words(said))
    return parse_squeue(said.stdout)


def cancel(jobs: Collection[str]) -> None:
    """Order Slurm to end jobs; jobs that have already ended are no error.

    Raises:
        SlurmSilentError: slurmctld does not answer.
    """
    if jobs:
        _ask(scancel_command(jobs))


def nodes_of(partition: str | None = None, nodes: str | None = None) -> tuple[SlurmNode, ...]:
    """Ask Slurm for the nodes of a partition, or for all nodes.

    Args:
        nodes: only these nodes, as Slurm writes them.

    Raises:
        ProcessError: sinfo failed.
        SubmitError: Slurm's programs are missing or slurmctld does not answer.
    """
    argv = nodes_command(partition, nodes)
    said = _ask(argv)
    if said.exit_code != 0:
        raise ProcessError(f"sinfo failed: {_last_words(said)}", argv, said.exit_code, said.stdout, said.stderr)
    return parse_nodes(said.stdout)


def partitions() -> tuple[Partition, ...]:
    """Ask Slurm for all partitions, in its order.

    Raises:
        ProcessError, SubmitError: as `nodes_of`.
    """
    argv = partitions_command()
    said = _ask(argv)
    if said.exit_code != 0:
        raise ProcessError(f"sinfo failed: {_last_words(said)}", argv, said.exit_code, said.stdout, said.stderr)
    return parse_partitions(said.stdout)


def mpi_types() -> tuple[str, ...]:
    """Ask srun for the values of its option --mpi; empty if it does not tell.

    Raises:
        SubmitError: srun is missing or slurmctld does not answer.
    """
    said = _ask(MPI_TYPES)
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


def shortened(nodes: Sequence[str]) -> str:
    """Return names of nodes as Slurm writes them, "n[1-4],n7".

    Raises:
        SubmitError: scontrol is missing or cannot be used.
    """
    said = _ask(["scontrol", "show", "hostlist", ",".join(nodes)])
    return said.stdout.strip() if said.exit_code == 0 else ",".join(nodes)


def hosts_of_job(job: str) -> tuple[str, ...]:
    """Return the names of the nodes that a running job has, in Slurm's order.

    Raises:
        SubmitError: Slurm does not tell.
    """
    listed = _ask(["squeue", "--noheader", f"--jobs={job}", "--format=%N"]).stdout.strip()
    names = hostnames(listed) if listed else []
    if not names:
        raise SubmitError(f"Slurm does not tell the nodes of job {job}", transient=True)
    return tuple(names)


def switches() -> Mapping[str, str]:
    """Ask Slurm for the switch of each node; empty if it knows no topology.

    Raises:
        SubmitError: scontrol is missing or slurmctld does not answer.
    """
    said = _ask(["scontrol", "--oneliner", "show", "topology"])
    found = parse_switches(said.stdout) if said.exit_code == 0 else {}
    return {node: switch for switch, nodes in found.items() for node in hostnames(nodes)}


def hostnames(listed: str) -> list[str]:
    """Return the names in one of Slurm's lists, as n[1-3]; none where Slurm cannot read it."""
    said = _ask(["scontrol", "show", "hostnames", listed])
    return said.stdout.split() if said.exit_code == 0 else []


def _ask(argv: Sequence[str]) -> _Answer:
    """Run one of Slurm's programs and read its answer."""
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
    answer = _Answer(done.returncode, done.stdout, done.stderr)
    if done.returncode != 0 and _SILENT.search(done.stderr):
        raise SlurmSilentError(_last_words(answer))
    return answer


def _last_words(answer: _Answer) -> str:
    lines = [line for line in (answer.stderr or answer.stdout).splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"code {answer.exit_code}"
