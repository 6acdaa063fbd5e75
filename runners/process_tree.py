"""Ends all processes of a job, even those in other process groups.

Open MPI gives each rank its own process group, and a rank whose launcher died gets another parent. So neither groups
nor parents find all processes; a variable in the environment of every descendant does.
"""

import contextlib
import os
import re
import resource
import signal
import time
from pathlib import Path

from .errors import RunnerError

OWN = 256
"""Files that this process has open anyway: libraries, databases, logs; a generous count."""


def raise_open_files(wanted: int) -> None:
    """Let this process, and what it starts, open as many files, where it may.

    An unlimited number stays as it is; a huge one is not asked for, because some programs close all files that they
    could have.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def require_open_files(wanted: int, what: str) -> None:
    """Refuse work for which this process may not open enough files, even where the limit is raised.

    Args:
        wanted: how many the work itself needs.
        what: the work in words, for the sentence.

    Raises:
        RunnerError: they are too few.
    """
    raise_open_files(OWN + wanted)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < OWN + wanted:
        raise RunnerError(
            f"{what} at once need {OWN + wanted:,} open files, and this host allows {soft:,}: raise the limit "
            "(`ulimit -n`, or nofile in /etc/security/limits.conf), or name fewer nodes"
        )


MARK = "HPLTUNE_JOB"
FIND = f"""grep -lsz "^{MARK}=$1\\$" /proc/[0-9]*/environ"""
"""Tells a shell the processes of job $1 on its node."""
GRACE_S = 3.0
"""Time that mpirun has after TERM to end its ranks in order, and the kernel after KILL to end a process."""
_LOOK_S = 0.05
_RANK = (b"OMPI_COMM_WORLD_RANK=", b"PMIX_RANK=", b"PMI_RANK=")
"""Variables in which Open MPI, PMIx and Hydra tell a rank its number."""
_MEMORY = re.compile(rb"^(?:VmHWM|HugetlbPages):\s*([0-9]+)", re.MULTILINE)


def marked(job_id: str) -> list[int]:
    """Return the processes that carry the job's mark and still run; a zombie has no environment."""
    needle = f"{MARK}={job_id}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def use_of_ranks(job_id: str) -> tuple[dict[int, float], int]:
    """Return the CPU time of each rank of a job in seconds, with that of all that it started, and the largest memory.

    Memory is that which one process had at once, huge pages with it. What the kernel tells of an ended process would
    count the memory of the one that started it.
    """
    found: dict[int, float] = {}
    largest_bytes = 0
    for process in (Path(f"/proc/{pid}") for pid in marked(job_id)):
        with contextlib.suppress(OSError, ValueError):
            rank = next(
                (
                    int(one.partition(b"=")[2])
                    for one in (process / "environ").read_bytes().split(b"\0")
                    if one.startswith(_RANK)
                ),
                None,
            )
            if rank is not None:
                ticks = sum(map(int, (process / "stat").read_bytes().rpartition(b")")[2].split()[11:15]))
                found[rank] = found.get(rank, 0.0) + ticks / os.sysconf("SC_CLK_TCK")
                largest_bytes = max(
                    largest_bytes, 1024 * sum(map(int, _MEMORY.findall((process / "status").read_bytes())))
                )
    return found, largest_bytes


def end(job_id: str, leader: int) -> None:
    """End a job: send TERM to its launcher, and KILL to all processes left after the grace time."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGTERM)
        os.kill(leader, signal.SIGCONT)
    deadline = time.monotonic() + GRACE_S
    while marked(job_id) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    sweep(job_id)


def sweep(job_id: str) -> None:
    """Kill processes with the job's mark until none is left.

    A process that waits for a device or a file server ends only later; we do not wait beyond the grace time.
    """
    deadline = time.monotonic() + GRACE_S
    while (left := marked(job_id)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)
