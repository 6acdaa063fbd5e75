"""The runner that starts jobs through a batch system, and tells its workers regularly that hpltune is alive."""

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from ..base import JobId, JobState, JobStatus, Runner
from ..errors import InvalidJobError, Mishap, RunnerError, SubmitError
from ..job import Job
from ..launchers.base import Launcher
from ..paths import RunPaths
from ..process_tree import MARK
from .allocation import Allocation, AllocationTerms, Trial
from .base import LONGEST_S, BatchSystem, in_words
from .spool import Spool

SPARE_S = 60.0
"""Time that an allocation keeps beyond a trial's walltime, so that the worker ends the trial and not the system."""
END_S = 60.0
"""How long the end of a job may take; a hanging node takes longer than Slurm's KillWait."""
_LOOK_S = 0.05

_BEATS_PER_LEASE = 5


class BatchRunner(Runner):
    """Runs jobs on nodes that a batch system gives.

    With `BatchSystem.reuse` one allocation serves many jobs, one at a time; it is replaced when it has ended or when
    too little of its time is left. Otherwise each is a job of the system. In both cases the worker on the first node
    ends a job at its walltime, or when this process is silent for the lease: no job outlives a killed hpltune.
    """

    def __init__(self, terms: AllocationTerms, launcher: Launcher, folder: Path) -> None:
        """Prepare the runner, without asking the batch system yet.

        Args:
            folder: the folder for files between the nodes and this process. It must be on a file system that all of
                them share, like the folders and programs of jobs.
        """
        self._terms = terms
        self._batch = terms.batch
        self._time_limit_s = self._batch.time_limit_s or LONGEST_S
        self._launcher = launcher
        self._folder = folder.absolute()
        self._keeper = Keeper(terms.lease_s)
        self._jobs: dict[JobId, tuple[Allocation, Trial]] = {}
        self._allocations: list[Allocation] = []
        self._closed = False
        self._lost: set[str] = set()

    def submit(self, job: Job) -> JobId:
        """Queue a job, in an existing allocation or in a new one."""
        self._check(job)
        job_id = JobId(uuid.uuid4().hex)
        argv = self._batch.command(self._launcher, job, self._folder)
        paths = RunPaths(job.directory)
        paths.write_command(argv, job.order)
        paths.stdout.write_bytes(b"")
        paths.stderr.write_bytes(b"")
        variables = {**job.launcher_environment, MARK: job_id}
        trial = Trial(job, job_id, ["env", *(f"{name}={value}" for name, value in variables.items()), *argv])
        allocation = self._allocation(job)
        allocation.trials.add(trial)
        self._jobs[job_id] = (allocation, trial)
        return job_id

    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        """Return the status of jobs; the worker's files are read each time, and the system is asked only sometimes."""
        asked = {job_id: self._jobs[job_id] for job_id in ids}
        self._update([allocation for allocation, _ in asked.values()])
        return {job_id: trial.status for job_id, (_, trial) in asked.items()}

    def cancel(self, ids: Collection[JobId]) -> None:
        """End jobs.

        Raises:
            RunnerError: the system could not end a job.
        """
        asked = [self._jobs[job_id] for job_id in ids]
        self._update([allocation for allocation, _ in asked])
        stopped = [(allocation, trial) for allocation, trial in asked if not trial.status.state.final]
        for allocation, trial in stopped:
            allocation.stop(trial)

        def gone() -> bool:
            return all([trial.status.state.final or a.withdraw(trial) for a, trial in stopped])  # noqa: C419 - all are asked

        if not self._until(gone, [a for a, _ in stopped]):
            for allocation, trial in stopped:
                if not trial.status.state.final:
                    allocation.give_up(JobState.CANCELLED, "the run was cancelled")
            if not self._until(gone, [a for a, _ in stopped]):
                raise RunnerError(self._left([a for a, trial in stopped if not trial.status.state.final]))
        if not self._batch.reuse:
            self._release([allocation for allocation, _ in stopped])

    def close(self) -> None:
        """End all jobs and give the nodes back.

        Raises:
            RunnerError: the system could not end a job.
        """
        self._closed = True
        try:
            live = list(self._allocations)
            self._release(live)
            self._update(live)
            self._until(lambda: all(a.over or (a.trials.idle and a.polling.silent) for a in live), live)
            if left := [allocation for allocation in live if not (allocation.over or allocation.ends)]:
                raise RunnerError(self._left(left))
        finally:
            self._keeper.close()

    def _check(self, job: Job) -> None:
        """Refuse a job that can never run here, before anything is written."""
        if self._closed:
            raise SubmitError("this runner was closed: it takes no further job", transient=False)
        if job.container is None and not (Path(job.program[0]).is_file() and os.access(job.program[0], os.X_OK)):
            raise InvalidJobError(f"{job.program[0]} is not an executable file")
        if not job.directory.is_dir():
            raise InvalidJobError(f"{job.directory} is not a folder a job can run in")
        nodes, cores = self._batch.nodes, self._terms.cores_per_node
        if job.nodes:
            raise InvalidJobError(
                f"{self._batch.words.title} chooses the nodes: name them in its options, not in the job"
            )
        if job.ranks % nodes:
            raise InvalidJobError(f"{job.ranks} ranks cannot be spread evenly over {nodes} nodes")
        busy = job.ranks // nodes * job.threads_per_rank
        if busy > cores and not job.oversubscribe:
            raise InvalidJobError(f"{busy} ranks and threads on each node are more than its {cores} cores")
        if self._batch.reuse and job.walltime_s + SPARE_S > self._time_limit_s:
            raise InvalidJobError(
                f"a walltime of {in_words(job.walltime_s)} does not fit into an allocation of "
                f"{in_words(self._time_limit_s)}: raise time_limit_s",
                Mishap.TIME_LIMIT,
            )

    def _allocation(self, job: Job) -> Allocation:
        """Choose or make the allocation of a job."""
        needed_s = job.walltime_s + SPARE_S
        for allocation in self._allocations:
            allocation.polling.soon()
        self._update(list(self._allocations))
        if self._batch.reuse:
            for allocation in self._allocations:
                if allocation.left_s() >= needed_s and allocation.verdict is None:
                    return allocation
                if allocation.trials.idle:
                    self._release([allocation])
            needed_s = self._time_limit_s
        folder = self._folder / f"{self._batch.name}-{uuid.uuid4().hex[:12]}"
        terms = replace(self._terms, batch=self._without_lost())
        allocation = Allocation(terms, self._launcher, folder, needed_s)
        self._allocations.append(allocation)
        self._keeper.keep(allocation.spool)
        return allocation

    def _without_lost(self) -> BatchSystem:
        """Return the batch system without nodes that did not answer, if it has enough others to choose from."""
        if not self._lost or self._batch.nodes_named_by:
            return self._batch
        try:
            others = self._batch.without(sorted(self._lost))
            left = others.facts().nodes
        except RunnerError:
            return self._batch
        return others if len(left) >= others.nodes else self._batch

    def _update(self, allocations: Collection[Allocation]) -> None:
        unique = list(dict.fromkeys(allocations))
        for allocation in unique:
            allocation.read()
            self._lost |= set(allocation.lost)
        due = [allocation for allocation in unique if not allocation.over and allocation.polling.due]
        if not due:
            return
        try:
            seen = self._batch.status([allocation.number for allocation in due])
        except SubmitError as error:
            for allocation in due:
                allocation.unheard(error)
        else:
            for allocation in due:
                allocation.note(seen.get(allocation.number))
        for allocation in due:
            allocation.read()
            self._lost |= set(allocation.lost)
            if allocation.over:
                if allocation in self._allocations:
                    self._allocations.remove(allocation)
                self._keeper.drop(allocation.spool)
                allocation.spool.remove()

    def _release(self, allocations: Collection[Allocation]) -> None:
        for allocation in allocations:
            if not allocation.over:
                allocation.give_up(JobState.CANCELLED, "the run was cancelled")

    def _until(self, condition: Callable[[], bool], allocations: Collection[Allocation]) -> bool:
        """Poll allocations until a condition holds; return False if it takes too long."""
        deadline = time.monotonic() + END_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._update(allocations)
            time.sleep(_LOOK_S)
        return True

    def _left(self, allocations: Collection[Allocation]) -> str:
        numbers = ", ".join(sorted({allocation.number for allocation in allocations}))
        title, lease = self._batch.words.title, in_words(self._terms.lease_s)
        look = self._batch.words.look
        return f"{title} did not say that job {numbers} has ended: look with {look}; it ends by itself within {lease}"


class Keeper:
    """A thread that writes beats into spools until they are dropped; it dies with this process, and the leases end."""

    def __init__(self, lease_s: float) -> None:
        self._pause_s = lease_s / _BEATS_PER_LEASE
        self._spools: set[Spool] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, spool: Spool) -> None:
        """Start to write beats into a spool."""
        with self._lock:
            self._spools.add(spool)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hpltune-lease", daemon=True)
            self._thread.start()

    def drop(self, spool: Spool) -> None:
        """Stop to write beats into a spool."""
        with self._lock:
            self._spools.discard(spool)

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=self._pause_s)

    def _run(self) -> None:
        while not self._stop.wait(self._pause_s):
            with self._lock:
                spools = tuple(self._spools)
            for spool in spools:
                with contextlib.suppress(OSError):  # the next beat may succeed; if none does, the lease ends
                    spool.beat()
