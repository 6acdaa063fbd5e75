import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from intel_mpi import installed_intel_mpi
from needs import skip_without
from runner_contract import RunnerContract, executable, running, wait
from waiting import until

from hpl.build.toolchain import Mpi
from runners.base import JobState, Runner
from runners.errors import InvalidJobError, SubmitError
from runners.job import Job
from runners.launchers.mpich import IntelMpi, Mpich
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from runners.paths import RunPaths

FAKE = Path(__file__).parents[1] / "fake_bin/mpirun"


class TestWithAFakeLauncher(RunnerContract):
    @pytest.fixture
    def runner(self) -> Runner:
        return LocalRunner(OpenMpi(FAKE, 4, as_root=False))

    def test_ranks_that_outlive_a_launcher_that_ignores_term_are_ended(
        self, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_MPI", "hang")
        job = self.job(tmp_path, "trap '' TERM; while :; do sleep 1; done", ranks=3, walltime_s=1.0)
        assert wait(runner, runner.submit(job)).state is JobState.TIMEOUT
        assert not running(tmp_path / "program")

    def test_ranks_that_a_crashed_launcher_left_behind_are_ended(
        self, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_MPI", "crash")
        status = wait(runner, runner.submit(self.job(tmp_path, "sleep 60; exit 0", ranks=3)))
        assert status.state is JobState.FAILED
        assert "a rank was killed (signal 9)" in status.message
        assert not running(tmp_path / "program")

    def test_what_the_launcher_refuses_is_explained(
        self, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_MPI", "slots")
        status = wait(runner, runner.submit(self.job(tmp_path, "exit 0")))
        assert "fewer cores than ranks" in status.message

    def test_a_missing_launcher_is_said_with_what_to_do(self, tmp_path: Path) -> None:
        runner = LocalRunner(OpenMpi(Path("/there/is/no/mpirun"), 4, as_root=False))
        program = executable(tmp_path / "program", "exit 0")
        status_or_error = None
        try:
            job = runner.submit(Job(program=(str(program),), ranks=1, directory=tmp_path))
            status_or_error = wait(runner, job).message
        except SubmitError as error:
            status_or_error = str(error)
        assert "mpirun" in status_or_error

    def test_a_program_on_a_file_system_that_starts_none_is_refused_with_that_reason(
        self, runner: Runner, tmp_path: Path
    ) -> None:
        mount = ["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", str(tmp_path / "there")]
        (tmp_path / "there").mkdir()
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            skip_without("root")
        try:
            program = executable(tmp_path / "there/program", "exit 0")
            with pytest.raises(InvalidJobError, match=r"there/program cannot be started, .* mounted noexec"):
                runner.submit(Job(program=(str(program),), ranks=1, directory=tmp_path))
        finally:
            subprocess.run(["umount", str(tmp_path / "there")], check=True)

    def test_nothing_outlives_a_killed_hpltune(self, tmp_path: Path) -> None:
        program = executable(tmp_path / "program", "while :; do sleep 0.2; done")
        text = (
            "import time; from pathlib import Path\n"
            "from runners.local import LocalRunner; from runners.job import Job\n"
            "from runners.launchers.openmpi import OpenMpi\n"
            f"runner = LocalRunner(OpenMpi(Path({str(FAKE)!r}), 4, as_root=False))\n"
            f"runner.submit(Job(program=({str(program)!r},), ranks=2, directory=Path({str(tmp_path)!r})))\n"
            "time.sleep(600)\n"
        )
        parent = subprocess.Popen([sys.executable, "-c", text], cwd=Path(__file__).parents[2])
        until(lambda: len(running(program)) == 3)  # two ranks, and the launcher that names the program
        parent.kill()
        parent.wait()
        until(lambda: not running(program))


def confine(cpus: set[int]) -> None:
    """Let all threads of this process run on these CPUs only, as taskset does before a program starts."""
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cpus)


class RealLauncher(RunnerContract):
    @pytest.mark.parametrize("binding", ["core", "socket"])
    def test_ranks_stay_on_the_cores_that_taskset_left_us(self, runner: Runner, tmp_path: Path, binding: str) -> None:
        before = os.sched_getaffinity(0)
        confine({max(before)})
        try:
            look = self.job(tmp_path, "grep Cpus_allowed_list /proc/self/status", binding=binding)
            status = wait(runner, runner.submit(look))
            assert os.sched_getaffinity(0) == {max(before)}
        finally:
            confine(before)
        assert status.state is JobState.COMPLETED, status.message
        assert RunPaths(tmp_path).read_stdout().split()[1] == str(max(before))


@pytest.mark.real
class TestWithOpenMpi(RealLauncher):
    @pytest.fixture
    def runner(self, mpirun: str) -> Runner:
        said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=True).stdout
        if "Open MPI" not in said:
            skip_without("Open MPI")
        return LocalRunner(OpenMpi.installed(Path(mpirun), said.split()[3]))

    def test_each_rank_is_bound_to_a_core_of_its_own(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "grep Cpus_allowed_list /proc/self/status", ranks=1)))
        assert status.state is JobState.COMPLETED, status.message
        assert RunPaths(tmp_path).read_stdout().split()[1].isdecimal()

    def test_a_shell_within_a_batch_job_may_use_all_cores(
        self, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = {"JOB_ID": "7", "JOBID": "7", "NNODES": "1", "NODELIST": socket.gethostname(), "TASKS_PER_NODE": "1"}
        for name, value in {**job, "CPUS_PER_TASK": "2", "JOB_NUM_NODES": "1", "JOB_NODELIST": job["NODELIST"]}.items():
            monkeypatch.setenv(f"SLURM_{name}", value)
        status = wait(runner, runner.submit(self.job(tmp_path, "exit 0", ranks=len(os.sched_getaffinity(0)))))
        assert status.state is JobState.COMPLETED, status.message

    def test_more_ranks_than_cores_are_refused_in_words(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "exit 0", ranks=4000)))
        assert status.state is JobState.FAILED
        assert "cores" in status.message

    def test_what_its_processes_used_is_told_when_it_has_ended(self, runner: Runner, tmp_path: Path) -> None:
        text = 'end=$(($(date +%s) + 3)); while [ "$(date +%s)" -lt $end ]; do :; done'
        told = wait(runner, runner.submit(self.job(tmp_path, text, ranks=2, watched=True))).used
        assert told is not None
        assert told.cpu_s > 0.1
        assert told.largest_bytes > 2**19
        assert set(told.rank_cpu_s) == {0, 1}
        assert 0.1 < sum(told.rank_cpu_s.values()) <= told.cpu_s + 0.1
        assert wait(runner, runner.submit(self.job(tmp_path, "exit 0", ranks=2))).used is None


class WithHydra(RealLauncher):
    def test_each_rank_is_bound_to_a_core_of_its_own(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "grep Cpus_allowed_list /proc/self/status", ranks=1)))
        assert status.state is JobState.COMPLETED, status.message
        assert RunPaths(tmp_path).read_stdout().split()[1].isdecimal()

    def test_a_killed_rank_is_said(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "kill -9 $$", ranks=2)))
        assert status.state is JobState.FAILED
        assert re.search("a rank .*was killed", status.message)


@pytest.mark.real
class TestWithMpich(WithHydra):
    @pytest.fixture
    def runner(self) -> Runner:
        mpiexec = shutil.which("mpiexec.hydra")
        if mpiexec is None:
            skip_without("MPICH")
        return LocalRunner(Mpich(Path(mpiexec)))


class TestWithIntelMpi(WithHydra):
    @pytest.fixture
    def runner(self, intel_mpi: Mpi) -> Runner:
        return LocalRunner(IntelMpi(intel_mpi.mpirun))

    def job(self, folder: Path, text: str, **changed: object) -> Job:
        return super().job(folder, text, **{"launcher_environment": of_intel(), **changed})

    def test_two_ranks_have_a_core_each(self, runner: Runner, tmp_path: Path) -> None:
        status = wait(runner, runner.submit(self.job(tmp_path, "grep Cpus_allowed_list /proc/self/status", ranks=2)))
        assert status.state is JobState.COMPLETED, status.message
        assert len(set(RunPaths(tmp_path).read_stdout().split()) - {"Cpus_allowed_list:"}) == 2

    def test_a_transport_that_is_not_there_is_said(self, runner: Runner, intel_mpi: Mpi, tmp_path: Path) -> None:
        source, program = tmp_path / "hello.c", tmp_path / "hello"
        source.write_text("#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); }\n")
        mpicc = [str(intel_mpi.mpicc), str(source), "-o", str(program)]
        subprocess.run(mpicc, env=intel_mpi.variables(), check=True, capture_output=True)
        wanted = {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "none-such"}
        job = Job((str(program),), 2, tmp_path, launcher_environment=of_intel(), mpi_parameters=wanted)
        status = wait(runner, runner.submit(job))
        assert status.state is JobState.FAILED
        assert status.message == "MPI finds no transport: look at FI_PROVIDER, FI_TCP_IFACE and the mpi.FI_* parameters"


def of_intel() -> dict[str, str]:
    """What Intel MPI needs when it runs from a private prefix."""
    return dict(installed_intel_mpi().environment)
