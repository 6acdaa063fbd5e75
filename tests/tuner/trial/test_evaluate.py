"""A run that cannot be started now: the runner refuses or queues it as a test wants, then starts a real program."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from as_user import program
from waiting import until

from hpl.build.toolchain import Mpi
from hpl.programs.registry import program_at
from hpl.rpeak import Rpeak
from hpl.search_paths import SearchPaths
from runners.base import JobId, JobState, JobStatus, Runner
from runners.errors import SubmitError
from runners.hosts.host_facts import host_facts
from runners.job import Job
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from runners.paths import RunPaths
from runners.process_tree import use_of_ranks
from tuner.events import Event, Notice
from tuner.machine.inventory import Inventory
from tuner.stopping import StopRequest
from tuner.trial.evaluate import Evaluator
from tuner.trial.launch import LaunchWatch

FAKE = Path(__file__).parents[2] / "fake_bin/mpirun"
WAITS = "Slurm job 7 waits: others come first (Priority)"
SILENT = "Slurm's controller does not answer: Socket timed out on send/recv operation"


class Busy(LocalRunner):
    """Refuses the first jobs."""

    def __init__(self, refusals: int, *, transient: bool) -> None:
        super().__init__(OpenMpi.installed(FAKE, "4.1.4"))
        self.asked = 0
        self._refusals = refusals
        self._transient = transient

    def submit(self, job: Job) -> JobId:
        self.asked += 1
        if self.asked <= self._refusals:
            raise SubmitError(SILENT, transient=self._transient)
        return super().submit(job)


class Queue(LocalRunner):
    """Lets jobs wait until their turn has come or they are cancelled, before it says that they run."""

    def __init__(self, turn: Callable[[], bool]) -> None:
        super().__init__(OpenMpi.installed(FAKE, "4.1.4"))
        self.asked = 0
        self._turn = turn
        self._cancelled = False

    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        self.asked += 1
        if not self._cancelled and not self._turn():
            return dict.fromkeys(ids, JobStatus(JobState.QUEUED, message=WAITS))
        return super().poll(ids)

    def cancel(self, ids: Collection[JobId]) -> None:
        self._cancelled = True
        super().cancel(ids)


class Begun(LocalRunner):
    """Submits a job and waits until something of it is there to be seen."""

    def __init__(self, seen: Callable[[Job, JobId], bool]) -> None:
        super().__init__(OpenMpi.installed(FAKE, "4.1.4"))
        self._seen = seen

    def submit(self, job: Job) -> JobId:
        job_id = super().submit(job)
        until(lambda: self._seen(job, job_id))
        return job_id


@dataclass
class OnceAsked:
    """A user who presses Ctrl-C once, as soon as a runner was asked."""

    runner: Busy | Queue
    at_once = False

    @property
    def requested(self) -> bool:
        return self.runner.asked > 0


@pytest.fixture
def job(tmp_path: Path) -> Job:
    own = program(tmp_path / "own", "#!/bin/sh\nexit 0\n")
    return Job(program=(str(own),), ranks=1, directory=tmp_path, walltime_s=600.0)


def evaluator(runner: Runner, events: list[Event], *, patience_s: float = 60.0, again_s: float = 0.01) -> Evaluator:
    peak = Rpeak(100.0, 2, 3.0, 16, "", ())
    mpi = Mpi("openmpi", "4.1.4", Path("/usr/bin/mpicc"), FAKE, (), "PATH")
    machine = Inventory(host_facts(peak.cores), peak, (mpi,), (), {})
    paths = SearchPaths(None, Path())
    return Evaluator(machine, paths, runner, None, events.append, patience_s=patience_s, again_s=again_s)


def test_a_run_that_cannot_be_started_now_is_submitted_again_and_this_is_said_once(job: Job) -> None:
    runner, events = Busy(3, transient=True), list[Event]()
    with runner:
        status = evaluator(runner, events).run_job(job, LaunchWatch(), StopRequest())
    assert status.state is JobState.COMPLETED
    assert runner.asked == 4
    assert events == [Notice(f"{SILENT}: trying again for at most 1 min.")]


@pytest.mark.parametrize(("transient", "patience_s"), [(True, 0.2), (False, 60.0), (True, 0.0)])
def test_what_does_not_pass_is_an_error_in_the_end(job: Job, *, transient: bool, patience_s: float) -> None:
    runner = Busy(10**6, transient=transient)
    with runner, pytest.raises(SubmitError, match="Socket timed out"):
        evaluator(runner, [], patience_s=patience_s).run_job(job, LaunchWatch(), StopRequest())
    assert runner.asked > 1 if transient and patience_s else runner.asked == 1


def test_the_user_need_not_wait_for_what_cannot_be_started(job: Job) -> None:
    runner = Busy(10**6, transient=True)
    with runner:
        status = evaluator(runner, [], again_s=30.0).run_job(job, LaunchWatch(), OnceAsked(runner))
    assert (status.state, status.message, runner.asked) == (JobState.CANCELLED, "the run was cancelled", 1)


def test_a_run_that_waits_in_a_queue_says_why_and_for_how_long_and_not_at_each_look(job: Job) -> None:
    events, looks = list[Event](), count()
    with Queue(lambda: bool(events) and next(looks) > 10) as runner:
        status = evaluator(runner, events).run_job(job, LaunchWatch(), StopRequest())
    assert status.state is JobState.COMPLETED
    (said,) = events
    assert isinstance(said, Notice)
    waited = re.fullmatch(rf"{re.escape(WAITS)}, for ([\d.]+) s so far\.", said.text)
    assert waited is not None, said.text
    assert float(waited[1]) >= 2.0


def test_one_ctrl_c_ends_a_run_that_still_waits_in_a_queue(job: Job) -> None:
    events = list[Event]()
    with Queue(lambda: False) as runner:
        long = replace(job, program=("/bin/sleep", "600"))
        status = evaluator(runner, events).run_job(long, LaunchWatch(), OnceAsked(runner))
    assert status.state is JobState.CANCELLED
    assert events == [Notice("The run was still waiting for its nodes, so it is cancelled.")]


def test_one_ctrl_c_lets_a_run_that_has_begun_end(job: Job) -> None:
    with Queue(lambda: True) as runner:
        status = evaluator(runner, []).run_job(job, LaunchWatch(), OnceAsked(runner))
    assert status.state is JobState.COMPLETED


def test_a_run_whose_ranks_never_begin_ends_by_a_deadline_of_its_own(job: Job, tmp_path: Path) -> None:
    hangs = program(tmp_path / "mpirun", "#!/bin/sh\necho '[vm:1] no answer from the moon' >&2\nsleep 600\n")
    with LocalRunner(OpenMpi.installed(hangs, "4.1.4")) as runner:
        status = evaluator(runner, []).run_job(job, LaunchWatch(), StopRequest(), begins_s=0.5)
    assert status.state is JobState.FAILED
    assert status.message == "no rank began within 0.5 s: no answer from the moon"


def test_a_program_of_the_users_that_prints_late_has_begun(tmp_path: Path) -> None:
    own = program(tmp_path / "own", "#!/bin/sh\n# HPL\nsleep 2\n")
    job = Job(program=(str(own),), ranks=2, directory=tmp_path, walltime_s=600.0)
    with Begun(lambda _, job_id: bool(use_of_ranks(job_id)[0])) as runner:
        ours = evaluator(runner, [])
        users = replace(ours, machine=replace(ours.machine, program=program_at(own)))
        assert users.run_job(job, LaunchWatch(), StopRequest(), begins_s=0.5).state is JobState.COMPLETED
        assert ours.run_job(job, LaunchWatch(), StopRequest(), begins_s=0.5).state is JobState.FAILED


def test_a_run_that_has_printed_may_be_silent_as_long_as_it_likes(tmp_path: Path) -> None:
    own = program(tmp_path / "own", "#!/bin/sh\necho HPLinpack\nsleep 2\n")
    job = Job(program=(str(own),), ranks=1, directory=tmp_path, walltime_s=600.0)
    with Begun(lambda job, _: bool(RunPaths(job.directory).read_stdout())) as runner:
        status = evaluator(runner, []).run_job(job, LaunchWatch(), StopRequest(), begins_s=0.5)
    assert status.state is JobState.COMPLETED


def test_time_in_a_queue_is_no_time_in_which_ranks_should_have_begun(tmp_path: Path) -> None:
    looks = count()
    own = program(tmp_path / "own", "#!/bin/sh\nsleep 60\n")
    job = Job(program=(str(own),), ranks=1, directory=tmp_path, walltime_s=600.0)
    with Queue(lambda: next(looks) > 20) as runner:
        status = evaluator(runner, []).run_job(job, LaunchWatch(), StopRequest(), begins_s=0.5)
    assert status.message == "no rank began within 0.5 s"
    assert runner.asked > 21
