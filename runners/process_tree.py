"""Ends everything a job has started, wherever its processes have moved to.

Open MPI gives each rank a process group of its own, and a rank whose launcher died is adopted by another process:
neither groups nor parents find them all. A variable in the environment of every descendant does.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "HPLTUNE_JOB"
GRACE_S = 3.0
"""What mpirun gets to end its ranks in order after TERM, and what the kernel gets to end a process after KILL."""
_LOOK_S = 0.05


def marked(job_id: str) -> list[int]:
    """Processes that carry the job's mark and still run; zombies are not counted."""
    needle = f"{MARK}={job_id}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0") and not _zombie(entry):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def end(job_id: str, leader: int) -> None:
    """End a job: TERM to its launcher, KILL to whatever is left after the grace."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGTERM)
        os.kill(leader, signal.SIGCONT)
    if not _gone_within(job_id, GRACE_S):
        sweep(job_id)


def sweep(job_id: str) -> None:
    """KILL whatever carries the job's mark until nothing does.

    A process that waits for a device or a file server ends only after that: nobody waits for it beyond the grace.
    """
    deadline = time.monotonic() + GRACE_S
    while (left := marked(job_id)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _gone_within(job_id: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not marked(job_id):
            return True
        time.sleep(_LOOK_S)
    return not marked(job_id)


def _zombie(entry: Path) -> bool:
    return (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] == "Z"
