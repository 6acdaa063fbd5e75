"""Runs jobs on this machine."""

import contextlib
import os
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from .base import JobId, JobState, JobStatus, ProcessUse, Runner
from .batch.registry import outside
from .errors import InvalidJobError, Mishap, SubmitError
from .hosts.host_facts import confined
from .job import Job
from .launchers.base import Launcher, befell
from .paths import RunPaths
from .process_tree import MARK, end, raise_open_files, sweep, use_of_ranks

_STARTER = ThreadPoolExecutor(1, thread_name_prefix="hpltune-starter")
"""The thread that starts launchers for all threads but the main one."""


FILES = 1024
FILES_PER_RANK = 16
"""Files that a launcher may have open: what Linux usually allows, and several pipes and sockets for each rank."""
LOOK_S, LATER = 0.25, 1.1
"""Seconds until ranks are looked at again, and by how much later that is the longer a job runs."""


@dataclass
class Running:
    """A job that has been started."""

    job: Job
    process: subprocess.Popen[bytes]
    deadline_s: float
    status: JobStatus
    began_s: float = field(default_factory=time.monotonic)
    looks_s: float = 0.0
    rank_cpu_s: dict[int, float] = field(default_factory=dict)
    largest_bytes: int = 0
    used: ProcessUse | None = None

    def look_at_ranks(self, job_id: JobId) -> None:
        """Look what its ranks do, the less often the longer it runs: that takes time from them."""
        age_s = time.monotonic() - self.began_s
        if not self.job.watched or age_s < self.looks_s or self.job.nodes or self.job.container is not None:
            return
        cpu_s, largest_bytes = use_of_ranks(job_id)
        self.rank_cpu_s |= cpu_s
        self.largest_bytes = max(self.largest_bytes, largest_bytes)
        self.looks_s = LATER * age_s + LOOK_S * bool(self.rank_cpu_s)

    def exit_code(self) -> int | None:
        """Return the exit code of its launcher, and note what that waited for; None while it runs.

        What it started on other hosts, and what a service started in its place, is not below it: then no rank was seen.
        """
        if self.process.returncode is None:
            pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if pid == 0:
                return None
            self.process.returncode = os.waitstatus_to_exitcode(status)
            if self.rank_cpu_s:
                self.used = ProcessUse(used.ru_utime + used.ru_stime, self.largest_bytes, self.rank_cpu_s)
        return self.process.returncode


class LocalRunner(Runner):
    """Starts each job at once, in its own session, with its output written to files.

    When this process dies, even by SIGKILL, the kernel ends the launcher (PR_SET_PDEATHSIG through setpriv, where
    util-linux is there), and the launcher ends its ranks. The kernel sends the signal when the thread that started the
    launcher ends. So only threads that live as long as this process start launchers.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._jobs: dict[JobId, Running] = {}
        self._closed = False

    def submit(self, job: Job) -> JobId:
        """Start a job; without binding if MPI would bind its ranks to cores that this process may not use."""
        if confined() and not job.nodes:
            job = replace(job, binding="none")
        self._check(job, self._launcher.command(job))
        job_id = JobId(uuid.uuid4().hex)
        job = self._prepare(job, job_id)
        argv = self._launcher.command(job)
        paths = RunPaths(job.directory)
        paths.write_command(argv, job.order)
        raise_open_files(FILES + FILES_PER_RANK * job.ranks)
        setpriv = shutil.which("setpriv")
        with paths.stdout.open("wb") as stdout, paths.stderr.open("wb") as stderr:
            process = _start(
                lambda: subprocess.Popen(
                    [*([setpriv, "--pdeathsig", "TERM", "--"] if setpriv else ()), *argv],
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    cwd=job.directory,
                    env={**outside(), **job.launcher_environment, MARK: job_id},
                    start_new_session=True,
                )
            )
        self._jobs[job_id] = Running(
            job, process, time.monotonic() + job.walltime_s, JobStatus(JobState.RUNNING, started_at=datetime.now(UTC))
        )
        return job_id

    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        """Return the status of jobs, and end those past their walltime."""
        return {job_id: self._look(job_id) for job_id in ids}

    def cancel(self, ids: Collection[JobId]) -> None:
        """End jobs."""
        for job_id in ids:
            if not self._look(job_id).state.final:
                self._end(job_id, JobState.CANCELLED, "the run was cancelled")

    def resident_bytes(self, job_id: JobId) -> int:
        """Return the bytes of memory of the job's first process; 0 once it has ended."""
        try:
            pages = Path(f"/proc/{self._jobs[job_id].process.pid}/statm").read_text(encoding="ascii").split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """End all jobs."""
        self._closed = True
        self.cancel(list(self._jobs))

    def _check(self, job: Job, argv: Sequence[str]) -> None:
        """Refuse a job that cannot be started, before anything is written."""
        if self._closed:
            raise SubmitError("this runner was closed: it takes no further job", transient=False)
        if job.container is None and not _executable(job.program[0]):
            raise InvalidJobError(_not_executable(Path(job.program[0])))
        if not job.directory.is_dir():
            raise InvalidJobError(f"{job.directory} is not a folder a job can run in")
        if not _executable(argv[0]):
            raise SubmitError(f"{argv[0]} is missing: `hpltune setup` installs MPI", transient=False)

    def _prepare(self, job: Job, job_id: JobId) -> Job:  # noqa: ARG002 - the contract's
        """Write the files that a job needs besides its command line, and return the job that uses them."""
        return job

    def _clear(self, running: Running, job_id: JobId) -> None:  # noqa: ARG002 - the contract's
        """Clean up after a job that has ended."""
        sweep(job_id)

    def _look(self, job_id: JobId) -> JobStatus:
        running = self._jobs[job_id]
        if running.status.state.final:
            return running.status
        running.look_at_ranks(job_id)
        exit_code = running.exit_code()
        if exit_code is not None:
            running.status = self._ended(running, exit_code)
            self._clear(running, job_id)
        elif time.monotonic() > running.deadline_s:
            self._end(job_id, JobState.TIMEOUT, f"stopped at its time limit of {running.job.walltime_s:.0f} s")
        return running.status

    def _end(self, job_id: JobId, state: JobState, message: str) -> None:
        running = self._jobs[job_id]
        end(job_id, running.process.pid)
        running.status = replace(
            running.status, state=state, exit_code=running.process.wait(), message=message, ended_at=datetime.now(UTC)
        )
        self._clear(running, job_id)

    def _ended(self, running: Running, exit_code: int) -> JobStatus:
        said = RunPaths(running.job.directory).last_words()
        event = befell(exit_code, said)
        exit_code = exit_code or int(event is Mishap.DAEMON_LOST)
        state = JobState.COMPLETED if exit_code == 0 else JobState.FAILED
        message = "" if exit_code == 0 else self._launcher.explain(running.job, exit_code, said)
        return replace(
            running.status,
            state=state,
            exit_code=exit_code,
            message=message,
            event=event if exit_code else None,
            ended_at=datetime.now(UTC),
            used=running.used,
        )


def _executable(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


def _not_executable(program: Path) -> str:
    """Say why a program cannot be started."""
    with contextlib.suppress(OSError):
        if program.is_file() and program.stat().st_mode & 0o111 and os.statvfs(program).f_flag & os.ST_NOEXEC:
            return (
                f"{program} cannot be started, since its file system is mounted noexec: put the program elsewhere "
                "(HPLTUNE_CACHE says where hpltune builds)"
            )
    return f"{program} is not an executable file"


def _start(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start a program in a thread that lives as long as this process: the main one, or else the starter.

    The main thread is better: when a process with several threads is killed, each thread that ends hands its programs
    and their signal to the next one, and Open MPI's mpirun leaves ranks on other nodes when it gets TERM twice at once.
    """
    if threading.current_thread() is threading.main_thread():
        return start()
    return _STARTER.submit(start).result()
