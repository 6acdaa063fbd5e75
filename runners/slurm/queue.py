"""squeue: where jobs are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .duration import parse_span_s

_FIELDS = ("%i", "%T", "%r", "%N", "%L")


@dataclass(frozen=True)
class Queued:
    """One job as squeue sees it.

    Attributes:
        state: in Slurm's words, as "PENDING".
        reason: why it waits or has ended; "None" where Slurm has none.
        nodes: as Slurm writes them; "" before it has any.
        left_s: until its time limit; None where Slurm does not say.
    """

    job: str
    state: str
    reason: str
    nodes: str
    left_s: float | None


def squeue_command(jobs: Collection[str]) -> list[str]:
    """Asks for jobs, also for those that have ended; one command serves many."""
    return ["squeue", "--noheader", "--states=all", f"--jobs={','.join(jobs)}", f"--format={'|'.join(_FIELDS)}"]


def parse_squeue(text: str) -> Mapping[str, Queued]:
    """Jobs by their numbers; lines of another form are passed over."""
    found = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) >= len(_FIELDS) and parts[0].isdecimal():
            job, state, nodes, left = parts[0], parts[1], parts[-2], parts[-1]
            found[job] = Queued(job, state, "|".join(parts[2:-2]), nodes, parse_span_s(left))
    return found


def scancel_command(jobs: Collection[str]) -> list[str]:
    """Ends jobs, pending or running."""
    return ["scancel", *jobs]


def forgotten(stderr: str) -> bool:
    """Whether squeue says that Slurm knows no such job any more."""
    return "Invalid job id specified" in stderr
