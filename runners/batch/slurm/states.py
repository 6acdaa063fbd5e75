"""What squeue prints of jobs, and what Slurm's states and reasons mean for ours."""

import re
from collections.abc import Mapping

from ...base import JobState
from ...errors import Mishap
from ...launchers.base import explained
from ..base import BatchJob, JobPhase
from .nodes import parse_span_s

JOB_FORM = "%i|%T|%r|%N|%L"
"""The fields of a line, as squeue is asked for them."""
WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
"""States of a job that has no nodes yet."""
_ENDS: dict[str, tuple[JobState, str, Mishap | None]] = {
    "COMPLETED": (JobState.FAILED, "Slurm job {job} ended before the run did", None),
    "FAILED": (JobState.FAILED, "Slurm job {job} failed: {reason}", None),
    "TIMEOUT": (JobState.TIMEOUT, "Slurm ended job {job} at its time limit", Mishap.TIME_LIMIT),
    "DEADLINE": (JobState.TIMEOUT, "Slurm ended job {job} at its deadline", Mishap.TIME_LIMIT),
    "CANCELLED": (JobState.CANCELLED, "Slurm job {job} was cancelled, and not by hpltune", None),
    "REVOKED": (JobState.CANCELLED, "Slurm job {job} was taken away by another cluster", None),
    "NODE_FAIL": (JobState.FAILED, "{node} failed and took Slurm job {job} with it", Mishap.NODE_LOST),
    "PREEMPTED": (JobState.FAILED, "Slurm job {job} was preempted: one of higher priority took its nodes",
        Mishap.PREEMPTED),
    "OUT_OF_MEMORY": (JobState.FAILED, "Slurm ended job {job} for using more memory than it may: choose a smaller N",
        Mishap.KILLED),
    "BOOT_FAIL": (JobState.FAILED, "{node} did not boot for Slurm job {job}", Mishap.NODE_LOST),
    "LAUNCH_FAILED": (JobState.FAILED, "Slurm could not launch job {job} on its nodes", Mishap.DAEMON_LOST),
    "RECONFIG_FAIL": (JobState.FAILED, "{node} could not be reconfigured for Slurm job {job}", Mishap.NODE_LOST),
}  # fmt: skip
"""How a job ended in each state after which nothing of it is left, and what befell it (squeue(1), JOB STATE CODES);
COMPLETING is not among them."""
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


def parse_squeue(text: str) -> Mapping[str, BatchJob]:
    """Parse jobs by their numbers, and translate what squeue says of them; lines of another form are skipped."""
    found = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) > JOB_FORM.count("|") and parts[0].isdecimal():
            job, state, *reason, nodes, left = parts
            found[job] = _told(job, state, "|".join(reason), nodes, parse_span_s(left))
    return found


def _told(job: str, word: str, reason: str, nodes: str, left_s: float | None) -> BatchJob:
    """Translate what squeue says of a job.

    Args:
        word: Slurm's for its state, such as "PENDING".
        reason: why it waits or has ended; "None" if Slurm gives no reason.
    """
    if word in _ENDS:
        state, form, event = _ENDS[word]
        sentence = form.replace("{job}", job).replace("{reason}", reason)
        return BatchJob(
            job, JobPhase.ENDED, nodes, left_s, sentence, None, state, word in {"COMPLETED", "FAILED"}, event
        )
    if word in WAITING:
        why = explained(_NEVER, (reason,))
        meaning = next((one for pattern, one in _WAITS if re.fullmatch(pattern, reason)), "")
        sentence = f"Slurm job {job} waits: {f'{meaning} ({reason or None})' if meaning else reason}"
        return BatchJob(job, JobPhase.WAITING, nodes, left_s, sentence, f"{why} ({reason})" if why else None)
    return BatchJob(job, _PHASES.get(word, JobPhase.PAUSED), nodes, left_s)
