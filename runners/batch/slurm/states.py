"""squeue and scancel: their command lines, and what Slurm's states and reasons mean for our jobs."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...base import JobState
from ...errors import Mishap
from ...launchers.base import explained
from ..base import BatchJob, JobPhase
from .nodes import parse_span_s

_FIELDS = ("%i", "%T", "%r", "%N", "%L")
WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
"""States of a job that has no nodes yet."""
_ENDS: dict[str, tuple[JobState, str]] = {
    "COMPLETED": (JobState.FAILED, "Slurm job {job} ended before the run did"),
    "FAILED": (JobState.FAILED, "Slurm job {job} failed: {reason}"),
    "TIMEOUT": (JobState.TIMEOUT, "Slurm ended job {job} at its time limit"),
    "DEADLINE": (JobState.TIMEOUT, "Slurm ended job {job} at its deadline"),
    "CANCELLED": (JobState.CANCELLED, "Slurm job {job} was cancelled, and not by hpltune"),
    "REVOKED": (JobState.CANCELLED, "Slurm job {job} was taken away by another cluster"),
    "NODE_FAIL": (JobState.FAILED, "{node} failed and took Slurm job {job} with it"),
    "PREEMPTED": (JobState.FAILED, "Slurm job {job} was preempted: one of higher priority took its nodes"),
    "OUT_OF_MEMORY": (JobState.FAILED, "Slurm ended job {job} for using more memory than it may: choose a smaller N"),
    "BOOT_FAIL": (JobState.FAILED, "{node} did not boot for Slurm job {job}"),
    "LAUNCH_FAILED": (JobState.FAILED, "Slurm could not launch job {job} on its nodes"),
    "RECONFIG_FAIL": (JobState.FAILED, "{node} could not be reconfigured for Slurm job {job}"),
}  # fmt: skip
"""States after which nothing of a job is left (squeue(1), JOB STATE CODES); COMPLETING is not among them."""
_EVENTS = {
    **dict.fromkeys(("NODE_FAIL", "BOOT_FAIL", "RECONFIG_FAIL"), Mishap.NODE_LOST),
    **dict.fromkeys(("TIMEOUT", "DEADLINE"), Mishap.TIME_LIMIT),
    "PREEMPTED": Mishap.PREEMPTED,
    "LAUNCH_FAILED": Mishap.DAEMON_LOST,
    "OUT_OF_MEMORY": Mishap.KILLED,
}
"""What befell a job that ended so."""
_PHASES = {"RUNNING": JobPhase.RUNNING, "COMPLETING": JobPhase.ENDING}

_NEVER: tuple[tuple[str, str], ...] = (
    (r"PartitionNodeLimit|PartitionMaxNodes|PartitionMinNodes|MaxNodeCount",
     "the partition does not give that many nodes: change nodes"),
    (r"PartitionTimeLimit", "the partition does not give that much time: lower time_limit_s"),
    (r"PartitionConfig|BadConstraints",
     "no nodes of the partition are what was asked for: `sinfo -N -l` lists them"),
    (r"Assoc(?:Grp|Max)\w*Minutes", "the account has used up its time"),
    (r"QOS(?:Grp|Max)\w*Minutes", "the quality of service has used up its time"),
    (r"AssocMax\w*PerJob\w*|AssocMax\w*PerNode|AssociationTimeLimit",
     "it is more than the account may ask for in one job"),
    (r"QOSMax\w*PerJob\w*|QOSMax\w*PerNode|QOSMin\w+|QOSTimeLimit|QOSUsageThreshold",
     "it is not what the quality of service allows for one job"),
    (r"InvalidAccount", "the account is not valid"),
    (r"InvalidQOS|QOSNotAllowed", "the quality of service is not valid here"),
    (r"AccountNotAllowed", "the account may not use the partition"),
    (r"DependencyNeverSatisfied", "what it depends on has failed"),
    (r"ReservationDeleted|RequiresReservation", "its reservation is missing"),
)  # fmt: skip
"""Reasons that waiting does not remove. Limits of a whole group (AssocGrpNodeLimit) can end, so they are not here."""

_WAITS: tuple[tuple[str, str], ...] = (
    (r"None|", "Slurm has not looked at it yet"),
    (r"Priority", "others come first"),
    (r"Resources|Nodes required for job are DOWN.*", "its nodes are busy or down"),
    (r"BeginTime", "its begin is later"),
    (r"JobHeldUser|JobHeldAdmin|JobHoldMaxRequeue", "it is held: `scontrol release` lets it go"),
    (r"PartitionDown|PartitionInactive", "the partition is down"),
    (r"ReqNodeNotAvail.*", "nodes it needs are reserved or not available"),
    (r"(?:Assoc|QOS)Grp\w*|\w*(?:JobsLimit|JobLimit|PerUser\w*|ResourceLimit|PerAccount)",
     "a limit on all jobs of this user, account or quality of service is reached"),
)  # fmt: skip


@dataclass(frozen=True)
class SqueueLine:
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


def parse_squeue(text: str) -> Mapping[str, SqueueLine]:
    """Parse jobs by their numbers; lines of another form are skipped."""
    found = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) >= len(_FIELDS) and parts[0].isdecimal():
            job, state, nodes, left = parts[0], parts[1], parts[-2], parts[-1]
            found[job] = SqueueLine(job, state, "|".join(parts[2:-2]), nodes, parse_span_s(left))
    return found


def scancel_command(jobs: Collection[str]) -> list[str]:
    """Return the command that ends jobs, pending or running."""
    return ["scancel", *jobs]


def forgotten(stderr: str) -> bool:
    """Return whether squeue says that Slurm no longer knows a job."""
    return "Invalid job id specified" in stderr


def told(job: SqueueLine) -> BatchJob:
    """Translate what squeue says of a job."""
    if job.state in _ENDS:
        state, form = _ENDS[job.state]
        sentence = form.replace("{job}", job.job).replace("{reason}", job.reason)
        by_script, event = job.state in {"COMPLETED", "FAILED"}, _EVENTS.get(job.state)
        return BatchJob(job.job, JobPhase.ENDED, job.nodes, job.left_s, sentence, None, state, by_script, event)
    if job.state in WAITING:
        why = explained(_NEVER, (job.reason,))
        never = f"{why} ({job.reason})" if why else None
        return BatchJob(job.job, JobPhase.WAITING, job.nodes, job.left_s, _why_it_waits(job), never)
    return BatchJob(job.job, _PHASES.get(job.state, JobPhase.PAUSED), job.nodes, job.left_s)


def _why_it_waits(job: SqueueLine) -> str:
    """Write the sentence for a pending job."""
    meaning = next((one for pattern, one in _WAITS if re.fullmatch(pattern, job.reason)), "")
    return f"Slurm job {job.job} waits: {f'{meaning} ({job.reason or None})' if meaning else job.reason}"
