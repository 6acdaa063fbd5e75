"""The meaning of Slurm's states and reasons for our jobs, as sentences."""

import re

from ..status import JobState
from .queue import Queued

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


def waits(state: str) -> bool:
    """Return whether a job has no nodes yet."""
    return state in WAITING


def ended(state: str) -> bool:
    """Return whether a job has ended completely."""
    return state in _ENDS


def never_starts(reason: str) -> str | None:
    """Return why a pending job will never start, as the end of a sentence, or None if it may start."""
    for pattern, sentence in _NEVER:
        match = re.search(pattern, reason)
        if match:
            return f"{match.expand(sentence)} ({reason})"
    return None


def why_it_waits(job: Queued) -> str:
    """Write the sentence for a pending job."""
    for pattern, meaning in _WAITS:
        if re.fullmatch(pattern, job.reason):
            return f"Slurm job {job.job} waits: {meaning} ({job.reason or 'None'})"
    return f"Slurm job {job.job} waits: {job.reason}"


def outcome(job: Queued, node: str = "") -> tuple[JobState, str]:
    """Translate Slurm's state of an ended job to our state and a sentence.

    Args:
        node: the node that failed, if it is known.
    """
    state, sentence = _ENDS[job.state]
    named = f"node {node}" if node else f"a node of {job.nodes}" if job.nodes else "a node"
    return state, sentence.format(job=job.job, reason=job.reason, node=named)
