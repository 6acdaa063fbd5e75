"""What every runner promises; a runner's tests inherit the class and give their own `runner`."""

import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from waiting import PATIENCE_S, until

from runners.base import JobId, JobState, JobStatus, Runner
from runners.errors import RunnerError
from runners.job import Job
from runners.paths import RunPaths


def executable(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def running(program: Path) -> Collection[int]:
    """Processes that execute a test's program, zombies not counted."""
    alive = (process for process in psutil.process_iter(["cmdline", "status"]) if process.info["status"] != "zombie")
    return [process.pid for process in alive if str(program) in (process.info["cmdline"] or [])]


def wait(runner: Runner, job: JobId, timeout_s: float = PATIENCE_S) -> JobStatus:
    deadline = time.monotonic() + timeout_s
    seen = JobState.QUEUED
    while time.monotonic() < deadline:
        status = runner.poll([job])[job]
        assert status.state >= seen, "a job never goes back"
        seen = status.state
        if seen.final:
            return status
        time.sleep(0.02)
    raise AssertionError(f"the job is still {seen.name}")


def slurm_allocation(nodes: str) -> dict[str, str]:
    """What Slurm sets inside an allocation of two nodes for one task on each."""
    return {
        "SLURM_JOB_ID": "7",
        "SLURM_JOBID": "7",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_TASKS_PER_NODE": "1(x2)",
        "SLURM_JOB_NODELIST": nodes,
        "SLURM_NODELIST": nodes,
    }


class RunnerContract:
    @pytest.fixture
    def runner(self) -> Runner:
        raise NotImplementedError

    def job(self, folder: Path, text: str, **changed: object) -> Job:
        program = executable(folder / "program", text)
        return Job(**{"program": (str(program),), "ranks": 1, "directory": folder, **changed})  # type: ignore[arg-type]

    def test_a_job_runs_to_its_end_and_leaves_its_files(self, runner: Runner, tmp_path: Path) -> None:
        job = runner.submit(self.job(tmp_path, "echo out; echo err >&2; pwd"))
        status = wait(runner, job)
        assert (status.state, status.exit_code, status.message) == (JobState.COMPLETED, 0, "")
        paths = RunPaths(tmp_path)
        assert "out" in paths.read_stdout()
        assert str(tmp_path.resolve()) in paths.read_stdout()
        assert "err" in paths.read_stderr()
        assert str(tmp_path / "program") in paths.read_command()
        assert status.started_at is not None
        assert status.ended_at is not None

    def test_ranks_get_the_environment_of_the_job(self, runner: Runner, tmp_path: Path) -> None:
        wait(runner, runner.submit(self.job(tmp_path, "echo $COLOUR", environment={"COLOUR": "dark blue"})))
        assert RunPaths(tmp_path).read_stdout().strip() == "dark blue"

    def test_a_job_outlives_the_thread_that_submitted_it(self, runner: Runner, tmp_path: Path) -> None:
        job = self.job(tmp_path, "sleep 1; echo out")
        with ThreadPoolExecutor(1) as executor:
            submitted = executor.submit(runner.submit, job).result()
        status = wait(runner, submitted)
        assert (status.state, status.message) == (JobState.COMPLETED, "")
        assert RunPaths(tmp_path).read_stdout().strip() == "out"

    def test_a_failing_program_is_a_failed_job_with_a_message(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "exit 3")))
        assert status.state is JobState.FAILED
        assert status.exit_code == 3
        assert status.message

    def test_a_lost_node_is_a_failed_job_whatever_the_launcher_ends_with(self, runner: Runner, tmp_path: Path) -> None:
        said = "PRTE has lost communication with a remote daemon."
        status = wait(runner, runner.submit(self.job(tmp_path, f"echo '{said}' >&2; exit 0")))
        assert status.state is JobState.FAILED

    def test_a_job_past_its_walltime_is_ended_with_all_its_processes(self, runner: Runner, tmp_path: Path) -> None:
        job = self.job(tmp_path, "trap '' TERM; while :; do sleep 1; done", walltime_s=0.5)
        status = wait(runner, runner.submit(job))
        assert status.state is JobState.TIMEOUT
        assert "time limit" in status.message
        assert not running(tmp_path / "program")

    def test_a_cancelled_job_is_gone_when_cancel_returns(self, runner: Runner, tmp_path: Path) -> None:
        job = runner.submit(self.job(tmp_path, "sleep 600; exit 0"))
        until(lambda: running(tmp_path / "program"))
        runner.cancel([job])
        assert not running(tmp_path / "program")
        assert runner.poll([job])[job].state is JobState.CANCELLED

    def test_a_job_that_has_ended_stays_as_it_ended(self, runner: Runner, tmp_path: Path) -> None:
        job = runner.submit(self.job(tmp_path, "exit 0"))
        ended = wait(runner, job)
        runner.cancel([job])
        assert runner.poll([job])[job] == ended

    def test_several_jobs_may_run_at_once(self, runner: Runner, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / name).mkdir()
        jobs = [runner.submit(self.job(tmp_path / name, f"sleep 0.3; echo {name}")) for name in "ab"]
        assert set(runner.poll(jobs)) == set(jobs)
        assert {wait(runner, job).state for job in jobs} == {JobState.COMPLETED}
        assert [RunPaths(tmp_path / name).read_stdout().strip() for name in "ab"] == ["a", "b"]

    def test_closing_ends_what_still_runs(self, runner: Runner, tmp_path: Path) -> None:
        with runner:
            runner.submit(self.job(tmp_path, "sleep 600; exit 0"))
            until(lambda: running(tmp_path / "program"))
        assert not running(tmp_path / "program")

    def test_a_program_that_is_not_there_is_refused(self, runner: Runner, tmp_path: Path) -> None:
        with pytest.raises(RunnerError, match="/there/is/none"):
            runner.submit(Job(program=("/there/is/none",), ranks=1, directory=tmp_path))

    def test_an_unknown_job_is_a_key_error(self, runner: Runner) -> None:
        with pytest.raises(KeyError):
            runner.poll([JobId("unknown")])
