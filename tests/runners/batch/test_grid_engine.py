"""A real Grid Engine behind the contract of a batch system."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from batch_contract import BatchContract, ended, submitted
from grid_engine_lab import GridEngineLab, grid_engine_lab
from needs import require
from runner_contract import RunnerContract, executable, wait
from waiting import until

from runners.base import JobState, Runner
from runners.batch.allocation import AllocationTerms
from runners.batch.base import BatchSystem, JobPhase
from runners.batch.dialect import GridEngine
from runners.batch.runner import BatchRunner
from runners.errors import InvalidJobError, Mishap, SubmitError
from runners.job import Job
from runners.launchers.base import Launcher
from runners.launchers.mpich import Mpich
from runners.launchers.openmpi import OpenMpi
from runners.paths import RunPaths

ONE = GridEngine(nodes=1, parallel_environment="mpi", time_limit_s=2 * 86400.0)


class Plain:
    """A launcher that starts the program once, wherever the job says."""

    def command(self, job: Job) -> list[str]:
        return ["env", *(f"{name}={value}" for name, value in job.environment.items()), *job.program]

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        del job, said
        return f"it ended with code {exit_code}"


@pytest.fixture(scope="module")
def grid_engine_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GridEngineLab]:
    with grid_engine_lab(tmp_path_factory.mktemp("grid-engine")) as lab:
        yield lab


@pytest.fixture
def grid_engine(grid_engine_of_module: GridEngineLab, monkeypatch: pytest.MonkeyPatch) -> Iterator[GridEngineLab]:
    for name, value in grid_engine_of_module.variables.items():
        monkeypatch.setenv(name, value)
    yield grid_engine_of_module
    grid_engine_of_module.mend()


class TestGridEngine(BatchContract):
    @pytest.fixture
    def batch(self, grid_engine: GridEngineLab) -> BatchSystem:
        del grid_engine
        return ONE


class TestRunnerOfGridEngine(RunnerContract):
    @pytest.fixture
    def runner(self, grid_engine: GridEngineLab, tmp_path: Path) -> Iterator[Runner]:
        del grid_engine
        with BatchRunner(AllocationTerms(ONE, 2, 600.0), Plain(), tmp_path / "spool") as runner:
            yield runner


@pytest.mark.parametrize(
    "launcher", [OpenMpi(Path("/usr/bin/mpirun.openmpi"), 4, as_root=True), Mpich(Path("/usr/bin/mpiexec.hydra"))]
)
def test_an_mpi_library_starts_ranks_on_the_nodes_of_the_job(
    grid_engine: GridEngineLab, tmp_path: Path, launcher: Launcher
) -> None:
    require("mpirun.openmpi" if isinstance(launcher, OpenMpi) else "mpiexec.hydra")
    with BatchRunner(AllocationTerms(ONE, 2, 600.0), launcher, tmp_path / "spool") as runner:
        (tmp_path / "run").mkdir()
        program = executable(tmp_path / "program", "echo $(hostname) $JOB_ID")
        job = runner.submit(Job(program=(str(program),), ranks=2, directory=tmp_path / "run"))
        assert (wait(runner, job).state, grid_engine.node) == (JobState.COMPLETED, grid_engine.node)
    lines = RunPaths(tmp_path / "run").read_stdout().splitlines()
    assert len(lines) == 2
    assert {line.split()[0] for line in lines} == {grid_engine.node}


def test_a_job_that_gets_fewer_nodes_than_were_asked_for_is_no_fault_of_its_configuration(
    grid_engine: GridEngineLab, tmp_path: Path
) -> None:
    two = ONE.model_copy(update={"nodes": 2})
    launcher = OpenMpi(Path("/usr/bin/mpirun.openmpi"), 4, as_root=True)
    (tmp_path / "run").mkdir()
    with BatchRunner(AllocationTerms(two, 1, 600.0), launcher, tmp_path / "spool") as runner:
        job = runner.submit(Job(program=("/bin/true",), ranks=2, directory=tmp_path / "run"))
        status = wait(runner, job)
    assert (status.state, status.event) == (JobState.FAILED, Mishap.NO_NODES)
    assert f"Grid Engine gave the job {grid_engine.node}, and nodes = 2 was asked for" in status.message


def test_a_job_that_comes_to_its_limit_is_told_so(grid_engine: GridEngineLab, tmp_path: Path) -> None:
    del grid_engine
    script = executable(tmp_path / "script", "exec sleep 600")
    job = ended(ONE, ONE.submit(1, 1.0, tmp_path / "log", (str(script),)))
    assert (job.state, job.event) == (JobState.TIMEOUT, Mishap.TIME_LIMIT)
    assert job.told() == f"Grid Engine ended job {job.number} at its time limit"


def test_a_job_waits_while_another_has_its_node(grid_engine: GridEngineLab, tmp_path: Path) -> None:
    del grid_engine
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = ONE.submit(2, 600.0, tmp_path / "log", (str(executable(tmp_path / "a/script", "sleep 600")),))
    until(lambda: ONE.status([first])[first].phase is JobPhase.RUNNING)
    second = ONE.submit(2, 600.0, tmp_path / "log", (str(executable(tmp_path / "b/script", "true")),))
    told = ONE.status([first, second])
    assert (told[second].phase, told[second].told()) == (
        JobPhase.WAITING,
        f"Grid Engine job {second} waits: `qstat -j NUMBER` tells more",
    )
    ONE.cancel([first])
    assert ended(ONE, second).by_its_script


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"parallel_environment": "nix"}, 'requested parallel environment "nix" does not exist'),
        ({"queue": "nix.q"}, 'job requests unknown queue "nix.q"'),
        ({"nodes": 900}, "no suitable queues"),
        ({"account": "nobody"}, 'project "nobody" does not exist'),
    ],
)
def test_a_refused_job_is_one_sentence_and_no_fault_of_its_configuration(
    grid_engine: GridEngineLab, tmp_path: Path, wrong: dict[str, object], words: str
) -> None:
    del grid_engine
    with pytest.raises(InvalidJobError, match="Grid Engine refuses the job: ") as refused:
        submitted(ONE.model_copy(update=wrong), tmp_path, "true")
    assert words in str(refused.value)
    assert refused.value.event is Mishap.NO_NODES


def test_a_queue_that_is_not_there_is_told_before_a_study(grid_engine: GridEngineLab) -> None:
    del grid_engine
    with pytest.raises(
        InvalidJobError, match=r"Grid Engine has no queue nix.q: No cluster queue or queue instance matches"
    ):
        ONE.model_copy(update={"queue": "nix.q"}).facts()


def test_a_system_whose_daemon_is_gone_does_not_answer(
    grid_engine: GridEngineLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    del grid_engine
    monkeypatch.setenv("SGE_QMASTER_PORT", "1")
    with pytest.raises(SubmitError, match="Grid Engine does not answer: ") as silent:
        ONE.status(["1"])
    assert silent.value.transient


def test_a_line_reaches_a_node_of_a_job_as_it_was_written(grid_engine: GridEngineLab, tmp_path: Path) -> None:
    class Reaching(Plain):
        def command(self, job: Job) -> list[str]:
            return [str(job.agent), "-x", *job.nodes, "--", 'for word in "a  b" c; do echo "$word"; done; exit 3']

    (tmp_path / "run").mkdir()
    with BatchRunner(AllocationTerms(ONE, 2, 600.0), Reaching(), tmp_path / "spool") as runner:
        job = runner.submit(Job(program=("/bin/true",), ranks=1, directory=tmp_path / "run"))
        status = wait(runner, job)
    assert (status.state, status.exit_code) == (JobState.FAILED, 3)
    assert RunPaths(tmp_path / "run").read_stdout() == "a  b\nc\n"
    del grid_engine
