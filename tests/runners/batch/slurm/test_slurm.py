"""Slurm: a real controller and two real nodes on this machine."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import psutil
import pytest
from batch_contract import HoldingContract
from found_here import open_mpi
from needs import skip_without
from runner_contract import RunnerContract, executable, running, wait
from slurm_lab import SlurmLab
from waiting import until

from runners.base import JobId, JobState, Runner
from runners.batch.allocation import AllocationTerms
from runners.batch.base import BatchSystem
from runners.batch.runner import BatchRunner
from runners.batch.slurm.client import candidates, nodes_of
from runners.batch.slurm.srun import Srun
from runners.batch.slurm.system import Slurm
from runners.errors import InvalidJobError, Mishap, RunnerError, SubmitError
from runners.job import Job
from runners.paths import RunPaths

ONE = Slurm(nodes=1, time_limit_s=2 * 86400.0)
TWO = ONE.model_copy(update={"nodes": 2})
Start = Callable[[AllocationTerms], BatchRunner]


def terms(slurm: Slurm, cores: int = 2, **changed: Any) -> AllocationTerms:
    asked = slurm.model_copy(update=changed)
    return AllocationTerms(asked, cores, asked.queue_limit_s)


@pytest.fixture
def start(slurm: SlurmLab, tmp_path: Path) -> Iterator[Start]:
    """Makes runners that are closed after the test."""
    made = []

    def begin(terms: AllocationTerms) -> BatchRunner:
        runner = BatchRunner(terms, Srun(terms.batch.nodes, mpi="none"), tmp_path / "spool")
        made.append(runner)
        return runner

    yield begin
    for runner in made:
        runner.close()
    assert not slurm.jobs() or all("COMPLETING" in job for job in slurm.jobs())


class TestSlurm(HoldingContract):
    @pytest.fixture
    def batch(self, slurm: SlurmLab) -> BatchSystem:
        slurm.wait_for_nodes()
        return ONE


class TestOneAllocationForMany(RunnerContract):
    @pytest.fixture
    def runner(self, start: Start) -> Runner:
        return start(terms(ONE))


class TestOneSlurmJobForEach(RunnerContract):
    @pytest.fixture
    def runner(self, start: Start) -> Runner:
        return start(terms(ONE, reuse=False))


def program(folder: Path, text: str, **changed: object) -> Job:
    folder.mkdir(exist_ok=True)
    given = {"program": (str(executable(folder / "program", text)),), "ranks": 2, "directory": folder, **changed}
    return Job(**given)  # type: ignore[arg-type]


def begun(runner: Runner, job: JobId) -> bool:
    return runner.poll([job])[job].state is JobState.RUNNING


STUBBORN = "trap '' TERM; while :; do sleep 0.2; done"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_reused_allocation_is_one_slurm_job_for_all_trials(start: Start, tmp_path: Path, jobs: int) -> None:
    runner = start(terms(TWO, reuse=jobs == 1))
    for name in "ab":
        job = runner.submit(program(tmp_path / name, "echo $SLURM_JOB_ID"))
        assert wait(runner, job).state is JobState.COMPLETED
    said = [RunPaths(tmp_path / name).read_stdout().split() for name in "ab"]
    assert all(len(numbers) == 2 for numbers in said), "two ranks each"
    assert len(set(chain(*said))) == jobs


def test_ranks_are_spread_evenly_over_the_nodes(start: Start, tmp_path: Path) -> None:
    runner = start(terms(TWO))
    job = runner.submit(program(tmp_path / "a", "echo $SLURM_PROCID $SLURMD_NODENAME", ranks=4))
    assert wait(runner, job).state is JobState.COMPLETED
    assert sorted(RunPaths(tmp_path / "a").read_stdout().splitlines()) == ["0 n1", "1 n1", "2 n2", "3 n2"]


def test_ranks_on_all_nodes_that_ignore_term_are_gone_after_a_cancel_and_the_allocation_goes_on(
    start: Start, slurm: SlurmLab, tmp_path: Path
) -> None:
    runner = start(terms(TWO))
    first = runner.submit(program(tmp_path / "a", STUBBORN))
    until(lambda: begun(runner, first))
    number = slurm.jobs()
    runner.cancel([first])
    assert not running(tmp_path / "a/program")
    second = runner.submit(program(tmp_path / "b", "echo $SLURM_JOB_ID"))
    assert wait(runner, second).state is JobState.COMPLETED
    assert RunPaths(tmp_path / "b").read_stdout().split() == [number[0].split()[0]] * 2


def test_a_trial_that_waits_behind_another_can_be_cancelled(start: Start, tmp_path: Path) -> None:
    runner = start(terms(ONE))
    first = runner.submit(program(tmp_path / "a", "sleep 0.5"))
    second = runner.submit(program(tmp_path / "b", "echo never"))
    runner.cancel([second])
    assert runner.poll([second])[second].state is JobState.CANCELLED
    assert wait(runner, first).state is JobState.COMPLETED
    assert not RunPaths(tmp_path / "b").read_stdout()


def test_a_job_that_ends_without_a_report_of_its_trial_is_no_fault_of_the_trial(start: Start, tmp_path: Path) -> None:
    runner = start(terms(ONE))
    job = runner.submit(program(tmp_path / "a", "sleep 600"))
    until(lambda: begun(runner, job))
    for process in psutil.process_iter(["cmdline"]):
        if any(str(tmp_path / "spool") in word for word in process.info["cmdline"] or ()):
            process.kill()
    status = wait(runner, job)
    assert (status.state, status.event) == (JobState.FAILED, Mishap.JOB_ENDED)


def test_a_job_that_slurm_refuses_says_that_there_are_no_nodes(start: Start, tmp_path: Path) -> None:
    runner = start(terms(ONE.model_copy(update={"account": "nobody-has-this", "partition": "nowhere"})))
    with pytest.raises(RunnerError, match=r"Slurm refuses the job|there is no partition") as refused:
        runner.submit(program(tmp_path / "a", "true"))
    assert refused.value.event is Mishap.NO_NODES


def test_a_job_that_somebody_else_cancels_says_so(start: Start, slurm: SlurmLab, tmp_path: Path) -> None:
    runner = start(terms(TWO))
    job = runner.submit(program(tmp_path / "a", STUBBORN))
    until(lambda: begun(runner, job))
    slurm.ask("scancel", "--name=hpltune")
    status = wait(runner, job)
    assert (status.state, status.event) == (JobState.FAILED, Mishap.ENDED_BY_OTHERS)
    assert "not by hpltune" in status.message
    assert not running(tmp_path / "a/program")


def test_a_node_that_goes_down_in_the_middle_is_named_and_the_next_trial_gets_new_nodes(
    start: Start, slurm: SlurmLab, tmp_path: Path
) -> None:
    runner = start(terms(TWO))
    job = runner.submit(program(tmp_path / "a", STUBBORN))
    until(lambda: begun(runner, job))
    slurm.ask("scontrol", "update", "nodename=n2", "state=down", "reason=test")
    try:
        status = wait(runner, job)
    finally:
        slurm.ask("scontrol", "update", "nodename=n2", "state=idle")
    assert status.state is JobState.FAILED
    assert "node n2 failed" in status.message
    assert (status.event, status.lost_nodes) == (Mishap.NODE_LOST, ("n2",))
    assert not running(tmp_path / "a/program")
    slurm.wait_for_nodes()
    assert wait(runner, runner.submit(program(tmp_path / "b", "exit 0"))).state is JobState.COMPLETED


def test_a_job_that_is_preempted_says_so_and_the_next_waits_for_nodes(
    start: Start, slurm: SlurmLab, tmp_path: Path
) -> None:
    runner = start(terms(TWO))
    job = runner.submit(program(tmp_path / "a", STUBBORN))
    until(lambda: begun(runner, job))
    with slurm.taken("--partition=urgent"):
        status = wait(runner, job)
        assert (status.state, status.event) == (JobState.FAILED, Mishap.PREEMPTED)
        again = runner.submit(program(tmp_path / "b", "exit 0"))
        until(lambda: "waits" in runner.poll([again])[again].message)
    assert wait(runner, again).state is JobState.COMPLETED


def test_waiting_longer_than_the_queue_limit_ends_the_job(start: Start, slurm: SlurmLab, tmp_path: Path) -> None:
    with slurm.taken() as busy:
        until(lambda: f"{busy} RUNNING" in slurm.jobs())
        runner = start(terms(TWO, queue_limit_s=1.0))
        job = runner.submit(program(tmp_path / "a", "exit 0"))
        until(lambda: "its nodes are busy" in runner.poll([job])[job].message)
        status = wait(runner, job)
        assert (status.state, status.event) == (JobState.FAILED, Mishap.NO_NODES)
        assert "waits: its nodes are busy" in status.message
        assert "given up after 1 s in the queue" in status.message
        assert [line.split()[0] for line in slurm.jobs()] == [busy]


@pytest.mark.parametrize("reuse", [True, False])
def test_a_job_that_waits_in_the_queue_can_be_cancelled(
    start: Start, slurm: SlurmLab, tmp_path: Path, *, reuse: bool
) -> None:
    with slurm.taken():
        runner = start(terms(TWO, reuse=reuse))
        job = runner.submit(program(tmp_path / "a", "echo never"))
        runner.cancel([job])
        assert runner.poll([job])[job].state is JobState.CANCELLED
    after = runner.submit(program(tmp_path / "b", "exit 0"))
    assert wait(runner, after).state is JobState.COMPLETED
    assert not RunPaths(tmp_path / "a").read_stdout()


@pytest.mark.parametrize("reuse", [True, False])
def test_nothing_outlives_a_killed_hpltune(slurm: SlurmLab, tmp_path: Path, *, reuse: bool) -> None:
    job = program(tmp_path / "a", STUBBORN)
    text = (
        "import time; from pathlib import Path\n"
        "from runners.batch.allocation import AllocationTerms; from runners.batch.runner import BatchRunner\n"
        "from runners.batch.slurm.system import Slurm; from runners.batch.slurm.srun import Srun\n"
        "from runners.job import Job\n"
        f"terms = AllocationTerms(Slurm(nodes=2, reuse={reuse}), 2, 600.0, lease_s=5)\n"
        f"runner = BatchRunner(terms, Srun(2, mpi='none'), Path({str(tmp_path / 'spool')!r}))\n"
        f"folder = Path({str(job.directory)!r})\n"
        f"runner.submit(Job(program=({job.program[0]!r},), ranks=2, directory=folder, walltime_s=600))\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", text], cwd=Path(__file__).parents[4])
    until(lambda: len(running(Path(job.program[0]))) >= 3)  # srun names the program too
    if reuse:
        time.sleep(6)  # longer than the lease
        assert len(running(Path(job.program[0]))) >= 3, "the lease is renewed while hpltune lives"
    parent.kill()
    parent.wait()
    until(lambda: not running(Path(job.program[0])))
    until(lambda: not slurm.jobs())


def test_a_controller_that_is_gone_for_a_moment_is_no_failure(start: Start, slurm: SlurmLab, tmp_path: Path) -> None:
    runner = start(terms(ONE))
    assert wait(runner, runner.submit(program(tmp_path / "a", "exit 0", ranks=1))).state is JobState.COMPLETED
    job = runner.submit(program(tmp_path / "b", "touch here; until [ -e go ]; do sleep 0.1; done", ranks=1))
    until((tmp_path / "b/here").exists)
    slurm.stop_controller()
    try:
        assert begun(runner, job)
        with pytest.raises(SubmitError, match="controller does not answer") as error:
            start(terms(ONE)).submit(program(tmp_path / "c", "exit 0"))
        assert error.value.transient
    finally:
        slurm.start_controller()
        until(slurm.answers)
    assert begun(runner, job)
    (tmp_path / "b/go").touch()
    assert wait(runner, job).state is JobState.COMPLETED


def test_a_squeue_that_cannot_be_started_for_a_moment_is_no_failure(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = start(terms(ONE))
    job = runner.submit(program(tmp_path / "a", "until [ -e go ]; do sleep 0.1; done", ranks=1))
    until(lambda: begun(runner, job))
    path = os.environ["PATH"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/squeue").write_text("of another machine")
    (tmp_path / "bin/squeue").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    end_s = time.monotonic() + 1.0
    while time.monotonic() < end_s:
        assert begun(runner, job)
    monkeypatch.setenv("PATH", path)
    (tmp_path / "a/go").touch()
    assert wait(runner, job).state is JobState.COMPLETED


class TestWhatSlurmRefusesAtOnce:
    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"partition": "nope"}, r"there is no partition nope \(known: main, short, shut, urgent\)"),
            ({"nodes": 3}, "3 nodes are asked for, but partition main gives at most 2"),
            (
                {"partition": "short", "time_limit_s": 600.0},
                "10 min are asked for, but partition short gives at most 60 s",
            ),
            ({"constraint": "gpu"}, "no node has the features gpu"),
            ({"nodelist": "n9"}, "does not know the nodes n9"),
            ({"further": ("--frobnicate=1",)}, "knows no option --frobnicate"),
            ({"further": ("--mem=900G",)}, "has no 1 nodes that are what was asked for"),
        ],
    )
    def test_with_a_sentence(self, start: Start, tmp_path: Path, changed: dict[str, Any], words: str) -> None:
        runner = start(terms(ONE, **changed))
        with pytest.raises(InvalidJobError, match=words):
            runner.submit(program(tmp_path / "a", "exit 0", ranks=6, walltime_s=60.0, oversubscribe=True))

    def test_more_cores_than_nodes_have_whenever_slurm_says_it(self, start: Start, tmp_path: Path) -> None:
        runner = start(terms(ONE, 4))
        try:
            said = wait(runner, runner.submit(program(tmp_path / "a", "exit 0"))).message
        except InvalidJobError as error:
            said = str(error)
        assert re.search("will never start: no nodes of the partition|has no 1 nodes that are what was asked", said)

    def test_slurm_that_is_not_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SubmitError, match="is not on PATH"):
            BatchRunner(terms(ONE), Srun(1), tmp_path / "spool").submit(program(tmp_path / "a", "exit 0"))

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"ranks": 3}, "3 ranks cannot be spread evenly over 2 nodes"),
            ({"ranks": 8}, "4 ranks and threads on each node are more than its 2 cores"),
            ({"ranks": 2, "threads_per_rank": 3}, "more than its 2 cores"),
            ({"nodes": ("n1", "n2")}, "Slurm chooses the nodes"),
            ({"walltime_s": 1e6}, "raise time_limit_s"),
        ],
    )
    def test_jobs_that_do_not_fit_the_allocation(self, tmp_path: Path, changed: dict[str, object], words: str) -> None:
        with pytest.raises(InvalidJobError, match=words):
            BatchRunner(terms(TWO), Srun(2), tmp_path / "spool").submit(program(tmp_path / "a", "exit 0", **changed))


def test_nodes_are_told_with_what_slurm_knows_of_them(slurm: SlurmLab) -> None:
    slurm.wait_for_nodes()
    first, second = nodes_of("main")
    assert (first.name, first.cores, first.memory_mib, first.state) == ("n1", 2, 4000, "idle")
    assert first.features == ("ib", "fast")
    assert (second.name, second.features, second.usable) == ("n2", (), True)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["n1", "n2"]), ({"nodelist": "n[2]"}, ["n2"]), ({"exclude": "n2"}, ["n1"]), ({"constraint": "ib"}, ["n1"]),
        ({"constraint": "fast&ib"}, ["n1"]), ({"constraint": "ib&slow"}, []), ({"constraint": "ib|slow"}, ["n1", "n2"]),
    ],
)  # fmt: skip
def test_only_nodes_that_a_job_may_get_are_looked_at(slurm: SlurmLab, asked: dict[str, str], names: list[str]) -> None:
    slurm.wait_for_nodes()
    assert [node.name for node in candidates(None, **asked)] == names


def test_without_a_partition_the_nodes_of_the_default_one_are_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"--partition=main": "n1|2|32|256000|idle|(null)|none", "": "debug|1|4|8000|idle|(null)|none"}
    cases = "".join(f'*"{asked}"*) echo "{row}";; ' for asked, row in rows.items())
    partitions = "echo 'debug|up|1:00:00|1|1'; echo 'main*|up|infinite|1|infinite'"
    executable(tmp_path / "sinfo", f'case "$*" in *--Node*) case "$*" in {cases} esac;; *) {partitions};; esac')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (node,) = candidates(None)
    assert (node.name, node.cores) == ("n1", 64)


RING = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int rank, size, sum;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d of %d on %s, sum %d, %s\\n", rank, size, getenv("SLURMD_NODENAME"), sum, getenv("COLOURS"));
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.real
@pytest.mark.parametrize("kind", ["srun", "mpirun"])
def test_open_mpi_runs_over_two_nodes(slurm: SlurmLab, tmp_path: Path, kind: str) -> None:
    mpicc, mpirun = (shutil.which(f"{name}.openmpi") for name in ("mpicc", "mpirun"))
    if mpicc is None or mpirun is None:
        skip_without("Debian's Open MPI")
    if kind == "srun" and "pmix" not in slurm.ask("srun", "--mpi=list"):
        skip_without("PMIx in Slurm")
    (tmp_path / "ring.c").write_text(RING)
    subprocess.run((mpicc, "-o", str(tmp_path / "ring"), str(tmp_path / "ring.c")), check=True)
    launcher = Srun(2, mpi="pmix") if kind == "srun" else open_mpi(mpirun)
    job = Job(
        program=(str(tmp_path / "ring"),),
        ranks=2,
        directory=tmp_path,
        environment={"COLOURS": "dark blue,red"},
        binding="none",
        mpi_parameters={"btl": "tcp,self"},
    )
    with BatchRunner(terms(TWO), launcher, tmp_path / "spool") as runner:
        status = wait(runner, runner.submit(job))
        assert status.state is JobState.COMPLETED, status.message
    expected = [f"{rank} of 2 on n{rank + 1}, sum 1, dark blue,red" for rank in range(2)]
    assert sorted(RunPaths(tmp_path).read_stdout().splitlines()) == expected
