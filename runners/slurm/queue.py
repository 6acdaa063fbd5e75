"""squeue and scancel: commands and parsers for jobs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .duration import parse_span_s

_FIELDS = ("%i", "%T", "%r", "%N", "%L")


@dataclass(frozen=True)
class Queued:
    """A job, as squeue prints it.

    Attributes:
        state: Slurm's word, such as "PENDING".
        reason: why it waits or has ended; "None" if Slurm gives no reason.
        nodes: its nodes as Slurm writes them; "" before it has any.
        left_s: seconds until its time limit; None if Slurm does not tell.
    """

    job: str
    state: str
    reason: str
    nodes: str
    left_s: float | None


def squeue_command(jobs: Collection[str]) -> list[str]:
    """Return the command that lists several jobs, also ended ones."""
    return ["squeue", "--noheader", "--states=all", f"--jobs={','.join(jobs)}", f"--format={'|'.join(_FIELDS)}"]


def parse_squeue(text: str) -> Mapping[str, Queued]:
    """Parse jobs by their numbers; lines of another form are skipped."""
    found = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) >= len(_FIELDS) and parts[0].isdecimal():
            job, state, nodes, left = parts[0], parts[1], parts[-2], parts[-1]
            found[job] = Queued(job, state, "|".join(parts[2:-2]), nodes, parse_span_s(left))
    return found


def scancel_command(jobs: Collection[str]) -> list[str]:
    """Return the command that ends jobs, pending or running."""
    return ["scancel", *jobs]


def forgotten(stderr: str) -> bool:
    """Return whether squeue says that Slurm no longer knows a job."""
    return "Invalid job id specified" in stderr
