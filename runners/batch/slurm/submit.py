"""sbatch: its command line, its answer, and the reasons of a refusal."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import InvalidJobError, RunnerError, SubmitError
from ..base import BatchQueue, in_words
from .options import CHOICES, SlurmTable

_SAYINGS: tuple[tuple[str, str], ...] = (
    (r"Job violates accounting", "the limits of your account do not allow it: `sacctmgr show associations` lists them"),
    (r"[Ii]nvalid partition", "there is no partition {partition}: `sinfo -s` lists them"),
    (r"Invalid account|account/partition",
     "account {account} is not valid for partition {partition}: `sacctmgr show associations` lists yours"),
    (r"Invalid qos|QOS", "quality of service {qos} is not valid here"),
    (r"access/permission denied|not permitted to use this partition", "you may not use partition {partition}"),
    (r"[Ii]nvalid feature", "no node has the features {constraint}: `sinfo -o '%N %f'` lists them"),
    (r"[Ii]nvalid node name", "Slurm does not know the nodes {nodelist} or {exclude}: `sinfo -N` lists them"),
    (r"time limit", "a time limit of {time} min is more than partition {partition} gives: lower time_limit_s"),
    (r"Node count specification invalid|More (?:nodes|processors) requested",
     "{nodes} nodes are not to be had in partition {partition}: lower nodes"),
    (r"Requested node configuration is not available|Memory specification can not be satisfied|CPU count",
     "partition {partition} has no {nodes} nodes that are what was asked for ({cores} cores, …): see `sinfo -N -l`"),
    (r"Required partition not available|inactive or drain", "partition {partition} is down"),
    (r"unrecognized option '([^']+)'", "sbatch knows no option {0}"),
    (r"Invalid generic resource", "the generic resources (gres) do not exist here"),
    (r"reservation is invalid", "the reservation does not exist"),
)  # fmt: skip
"""Messages of sbatch that mean that it always refuses this job; the first that matches counts."""
_PASSING = re.compile("temporarily|timed out|I/O error", re.IGNORECASE)


def sbatch_command(table: SlurmTable, cores: int, time_s: float, log: Path, script: Sequence[str]) -> list[str]:
    """Return the command that submits a script and its arguments.

    Args:
        cores: of each node.
        time_s: time limit of the job.
        log: the file for the script's own output.
    """
    ours = ("sbatch", "--parsable", "--job-name=hpltune", "--no-requeue", "--export=ALL", "--input=/dev/null")
    output = str(log).replace("%", "%%")  # else sbatch reads a pattern (%j, …)
    return [*ours, f"--output={output}", f"--chdir={log.parent}", *_wanted(table, cores, time_s), *script]


def salloc_command(table: SlurmTable, cores: int, time_s: float, command: Sequence[str]) -> list[str]:
    """Return the command that holds nodes for as long as a command runs on this host; a lost node does not end it."""
    ours = ("salloc", "--job-name=hpltune", "--no-kill", "--wait-all-nodes=1")
    return [*ours, *_wanted(table, cores, time_s), *command]


def _wanted(table: SlurmTable, cores: int, time_s: float) -> list[str]:
    argv = [f"--time={minutes(time_s)}", f"--nodes={table.nodes}", f"--ntasks-per-node={cores}"]
    argv += [f"--{name}={getattr(table, name)}" for name in CHOICES if getattr(table, name) is not None]
    if table.exclusive:
        argv.append("--exclusive")
        theirs = any(token.partition("=")[0] in {"--mem", "--mem-per-cpu"} for token in table.further)
        argv += [] if theirs else ["--mem=0"]
    return [*argv, *table.further]


def refusal(table: SlurmTable, cores: int, time_s: float, stderr: str, program: str = "sbatch") -> RunnerError:
    """Explain why sbatch or salloc refused a job, in one sentence."""
    for pattern, sentence in _SAYINGS:
        if match := re.search(pattern, stderr):
            given = {name: getattr(table, name) or "(default)" for name in CHOICES}
            said = sentence.format(*match.groups(), nodes=table.nodes, cores=cores, time=minutes(time_s), **given)
            return InvalidJobError(f"Slurm refuses the job: {said}")
    last = [re.sub("^s(?:batch|alloc): error: ", "", line) for line in stderr.splitlines() if line.strip()]
    words = last[-1] if last else f"{program} does not say why"
    return SubmitError(f"Slurm refuses the job: {words}", transient=bool(_PASSING.search(stderr)))


def too_much(table: SlurmTable, time_s: float, partitions: Sequence[BatchQueue]) -> str | None:
    """Return a sentence if a job exceeds its partition: sbatch often accepts such a job, which then waits for ever."""
    if table.partition is not None and "," in table.partition:
        return None
    named = [part for part in partitions if part.name == table.partition or (part.default and not table.partition)]
    if not named:
        known = ", ".join(part.name for part in partitions) or "none"
        wanted = f"no partition {table.partition}" if table.partition else "no default partition: set partition"
        return f"there is {wanted} (known: {known})"
    part = named[0]
    most = min(part.nodes, part.nodes_per_job or part.nodes)
    if table.nodes > most:
        return f"{table.nodes} nodes are asked for, but partition {part.name} gives at most {most}: lower nodes"
    if part.limit_s is not None and minutes(time_s) * 60 > part.limit_s:
        given = in_words(part.limit_s)
        return f"{in_words(time_s)} are asked for, but partition {part.name} gives at most {given}: lower time_limit_s"
    return None


def minutes(seconds: float) -> int:
    """Round up to whole minutes, which Slurm's `--time` takes."""
    return max(1, math.ceil(seconds / 60))
