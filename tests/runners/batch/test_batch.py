"""The contract of batch systems with a small one, and what all of them share: a runner, and a worker with its spool."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from batch_contract import HoldingContract
from hypothesis import given
from hypothesis import strategies as st
from runner_contract import RunnerContract
from stand_in_batch import StandIn, install, under_way
from waiting import PATIENCE_S

from runners.base import Runner
from runners.batch.allocation import AllocationTerms
from runners.batch.base import BatchSystem, in_words
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
