"""The contract of batch systems with a small one, and what all of them share: a runner, and a worker with its spool."""

import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from batch_contract import HoldingContract
from hypothesis import given
from hypothesis import strategies as st
from runner_contract import RunnerContract, wait
from stand_in_batch import StandIn, install, under_way
from waiting import PATIENCE_S

from runners.base import JobState, Runner
from runners.batch.allocation import Allocation, AllocationTerms
from runners.batch.base import BatchJob, BatchSystem, JobPhase, in_words
from runners.batch.registry import outside
from runners.batch.runner import BatchRunner
from runners.batch.spool import Spool
from runners.job import Job


def test_what_a_library_of_this_process_set_does_not_reach_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KMP_DUPLICATE_LIB_OK", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SLURM_JOB_ID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OPENBLAS_HOME", "/opt/openblas")
    assert {"KMP_DUPLICATE_LIB_OK", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SLURM_JOB_ID"}.isdisjoint(outside())
    assert outside()["OPENBLAS_HOME"] == "/opt/openblas"


TOKENS = st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), min_size=1)


class Once:
    """A launcher that starts the program itself."""

    def command(self, job: Job) -> list[str]:
        return ["env", *(f"{name}={value}" for name, value in job.environment.items()), *job.program]

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        del job, said
        return f"it ended with code {exit_code}"


@pytest.fixture
def queue(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("stand-in")
    install(folder, monkeypatch)
    return folder


class TestStandIn(HoldingContract):
    @pytest.fixture
    def batch(self, queue: Path) -> BatchSystem:
        del queue
        return StandIn(nodes=1)


class TestRunnerOfStandIn(RunnerContract):
    @pytest.fixture(params=[True, False], ids=["one allocation", "a job for each trial"])
    def runner(self, queue: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Runner]:
        batch = StandIn(nodes=1, reuse=request.param, time_limit_s=2 * 86400.0)
        with BatchRunner(AllocationTerms(batch, 2, 600.0), Once(), tmp_path / "spool") as runner:
            yield runner
        assert under_way(queue) == []


class Leaving(StandIn):
    """One that ends a job if a launcher may have left something on its other nodes."""

    end_steps: ClassVar[str] = "end_steps() { false; }"


class TestRunnerThatEndsJobs(RunnerContract):
    """A run that fails, is cancelled or takes too long is told as it was, though the job ends with it."""

    @pytest.fixture
    def runner(self, queue: Path, tmp_path: Path) -> Iterator[Runner]:
        batch = Leaving(nodes=1, time_limit_s=2 * 86400.0)
        with BatchRunner(AllocationTerms(batch, 2, 600.0), Once(), tmp_path / "spool") as runner:
            yield runner
        assert under_way(queue) == []

    def test_a_failed_run_has_no_event_and_the_next_one_a_job_of_its_own(self, runner: Runner, tmp_path: Path) -> None:
        first = wait(runner, runner.submit(self.job(tmp_path, "exit 3")))
        second = wait(runner, runner.submit(self.job(tmp_path, "exit 0")))
        assert (first.state, first.exit_code, first.event) == (JobState.FAILED, 3, None)
        assert second.state is JobState.COMPLETED


class TestAllocation:
    @pytest.fixture
    def allocation(self, queue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Allocation:
        del queue
        self.now_s = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)
        return Allocation(AllocationTerms(StandIn(nodes=1), 2, 600.0), Once(), tmp_path / "spool", 3600.0)

    def test_its_time_is_counted_from_when_it_was_first_seen_with_nodes(self, allocation: Allocation) -> None:
        for phase, left_s in ((JobPhase.WAITING, 3600.0), (JobPhase.RUNNING, 3600.0), (JobPhase.RUNNING, 3500.0)):
            self.now_s += 100.0
            allocation.note(BatchJob(allocation.number, phase))
            assert allocation.left_s() == left_s

    def test_a_job_that_is_not_known_for_a_moment_is_not_lost(self, allocation: Allocation) -> None:
        allocation.note(BatchJob(allocation.number, JobPhase.RUNNING))
        for later_s, over in ((20.0, False), (11.0, True)):
            self.now_s += later_s
            allocation.note(None)
            assert allocation.over is over

    def test_a_job_that_was_ended_here_is_gone_when_it_is_not_known(self, allocation: Allocation) -> None:
        allocation.give_up(JobState.CANCELLED, "the run was cancelled")
        allocation.note(None)
        assert allocation.over


class TestSpool:
    @given(tokens=TOKENS)
    def test_a_shell_reads_the_tokens_of_a_trial_as_they_were(
        self, tmp_path_factory: pytest.TempPathFactory, tokens: list[str]
    ) -> None:
        spool = Spool(tmp_path_factory.mktemp("spool") / "s", "", 5.0, once=True)
        spool.hand_over(1, "mark", 60.0, Path("/a b"), tokens)
        script = f'. {shlex.quote(str(spool.folder / "1.trial"))}; printf "%s\\0" "$@"'
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
        assert done.stdout.decode().split("\0")[:-1] == ["/a b", *tokens]

    def test_what_the_worker_is_still_writing_is_not_read_yet(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path / "s", "", 5.0, once=False)
        assert not spool.report(1).started
        (spool.folder / "1.status").write_text("started\nended exi")
        assert spool.report(1).why is None
        assert spool.report(1).started
        (spool.folder / "1.status").write_text("started\nended exited 3\n")
        assert spool.report(1).failed

    def test_a_run_that_has_ended_is_reported_although_nobody_hears_the_signal_that_says_so(
        self, tmp_path: Path
    ) -> None:
        spool = Spool(tmp_path / "s", StandIn.end_steps, 600.0, once=True)
        (tmp_path / "run").mkdir()
        spool.hand_over(1, "mark", 600.0, tmp_path / "run", ("true",))
        with subprocess.Popen(("sh", "-c", 'trap "" TERM; exec sh "$@"', "sh", *spool.script)) as worker:
            assert worker.wait(PATIENCE_S) == 0
        assert (spool.report(1).why, spool.report(1).exit_code) == ("exited", 0)


def test_spans_are_said_in_a_unit_that_fits() -> None:
    assert [in_words(seconds) for seconds in (45.0, 600.0, 14400.0)] == ["45 s", "10 min", "4.0 h"]
