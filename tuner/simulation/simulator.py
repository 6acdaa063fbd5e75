"""Runs plans in the simulator, several at a time, judges them, and hands the results out in the order of asking."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from hpl import output
from hpl.flops import seconds
from hpl.params import HplParams
from hpl.witness import parse_panels
from results.record import Invalidity, Observed
from runners.base import JobId
from runners.job import Job
from runners.launchers.smpi import HOSTS, MODEL, PLATFORM, Smpi, SmpiNetwork
from runners.local import LocalRunner
from runners.paths import RunPaths
from runners.status import JobState, JobStatus
from runners.tail import Tail
from runners.virtual.cost_model import cost_model, kernel_sends
from runners.virtual.platform import Setup, platform_xml

from ..stopping import StopRequest
from ..trial.evaluate import LaunchResult, run_folder
from ..trial.judge import Failure, Verdict, another_run, ended_early
from ..units import gibibytes
from .cluster import SimulatedCluster
from .plan import VirtualPlan

POLL_S = 0.005
MEMORY_SHARE = 0.6
"""All simulations together may take this part of the memory that is free when they start."""


@dataclass
class Pending:
    """A simulation under way."""

    plan: VirtualPlan
    directory: Path
    runner: LocalRunner
    job: JobId
    started_at: datetime
    tail: Tail
    on_fraction: Callable[[float, float], None]
    outgrown: str = ""
    status: JobStatus | None = None


@dataclass
class Simulator:
    """The simulator of one virtual cluster.

    Attributes:
        jobs: how many simulations run at a time.
        limit_s: real seconds after which one is ended.
    """

    site: SimulatedCluster
    jobs: int
    limit_s: float
    every_message: bool | None = None
    memory_bytes: int = field(default_factory=lambda: int(MEMORY_SHARE * psutil.virtual_memory().available))
    _pending: deque[Pending] = field(default_factory=deque)

    @property
    def free(self) -> bool:
        """Whether another simulation may start."""
        return len(self._pending) < self.jobs

    def start(
        self, plan: VirtualPlan, directory: Path, on_fraction: Callable[[float, float], None] = lambda *_: None
    ) -> None:
        """Write the run's folder and start it.

        Args:
            on_fraction: told the part of HPL's operations that is done, and the real seconds since the start.

        Raises:
            RunnerError, TunerError: it cannot be started.
        """
        setup, ranks = plan.setup, plan.ranks
        model = cost_model(setup, ranks, every_message=self.every_message)
        runner = LocalRunner(launcher(self.site, setup, ranks))
        environment = {"HPLTUNE_MODEL": MODEL}
        job = Job(
            program=(str(self.site.program),),
            ranks=ranks,
            directory=directory,
            walltime_s=self.limit_s,
            launcher_environment=environment,
        )
        with run_folder(directory) as paths:
            paths.hpl_dat.write_text(plan.simulated_dat, encoding="utf-8")
            (directory / PLATFORM).write_text(platform_xml(setup), encoding="utf-8")
            (directory / HOSTS).write_text("".join(f"{host}\n" for host in setup.hosts(ranks)), encoding="utf-8")
            (directory / MODEL).write_text(model, encoding="utf-8")
            started = runner.submit(job)
        tail = Tail(paths.stderr)
        self._pending.append(Pending(plan, directory, runner, started, datetime.now(UTC), tail, on_fraction))

    def next_result(self, stop: StopRequest) -> LaunchResult:
        """Wait for the simulation that was started first. All of them are watched meanwhile."""
        while True:
            for pending in self._pending:
                self._watch(pending, stop)
            first = self._pending[0]
            if first.status is not None and first.status.state.final:
                self._pending.popleft()
                return self._measured(first, first.status)
            time.sleep(POLL_S)

    def run(self, plan: VirtualPlan, directory: Path, stop: StopRequest) -> LaunchResult:
        """Start one and wait for it; nothing else may be pending."""
        self.start(plan, directory)
        return self.next_result(stop)

    def close(self) -> None:
        """End everything that still runs."""
        for pending in self._pending:
            pending.runner.close()
        self._pending.clear()

    def _watch(self, pending: Pending, stop: StopRequest) -> None:
        if pending.status is not None and pending.status.state.final:
            return
        pending.status = pending.runner.poll([pending.job])[pending.job]
        if pending.status.state.final:
            return
        panels = parse_panels("\n".join(pending.tail.lines()))
        if panels:
            elapsed_s = (datetime.now(UTC) - pending.started_at).total_seconds()
            pending.on_fraction(panels[-1].fraction, elapsed_s)
        if stop.at_once:
            pending.runner.cancel([pending.job])
        resident = pending.runner.resident_bytes(pending.job)
        if resident > self.memory_bytes / self.jobs:
            pending.outgrown = (
                f"the simulation took {gibibytes(resident)} of memory, more than its share of "
                f"{gibibytes(int(self.memory_bytes / self.jobs))}: use fewer «jobs» or fewer ranks"
            )
            pending.runner.cancel([pending.job])

    def _measured(self, pending: Pending, status: JobStatus) -> LaunchResult:
        paths = RunPaths(pending.directory)
        stdout, asked = paths.read_stdout(), pending.plan.runs[0]
        if pending.outgrown:
            status = JobStatus(JobState.FAILED, status.exit_code, pending.outgrown)
        nodes = len(self.site.cluster.node_list)
        verdict = judge_simulated(asked, status, stdout, self.site.simulator, nodes)
        rate = verdict.results[0].gflops if verdict.results else 0.0
        return LaunchResult(
            verdict=verdict,
            command=paths.read_command(),
            output=stdout,
            errors_text=paths.read_stderr(),
            started_at=pending.started_at,
            ended_at=datetime.now(UTC),
            cost_s=seconds(asked.N, rate) if rate else 0.0,
            xhpl_key=self.site.program_key,
        )


def launcher(site: SimulatedCluster, setup: Setup, ranks: int) -> Smpi:
    """SimGrid, told what it takes as options."""
    network = SmpiNetwork(
        latency_factors=setup.link.latency_factors(asks_apart=kernel_sends(setup, ranks)),
        eager_bytes=setup.link.eager_bytes,
    )
    return Smpi(site.simgrid.smpimain, network)


def judge_simulated(asked: HplParams, status: JobStatus, stdout: str, simulator: str, nodes: int) -> Verdict:
    """Hold a simulated run against what was asked.

    Args:
        simulator: name and version, which stand where a real run says which BLAS it mapped.
    """
    found = output.parse(stdout)
    result = found.results[0] if found.results else None
    observed = Observed(
        library=simulator, version="", kernel="cost model", threads=1, hosts=(f"{nodes} virtual nodes",)
    )
    if result:
        fault = another_run(asked, result)
    elif status.state is JobState.TIMEOUT:
        fault = Failure(Invalidity.TIMEOUT, f"the simulation was {status.message}")
    else:
        fault = ended_early(status, found, "", "the simulated HPL printed no result")
    return Verdict(found.results, (fault,), observed, status.state is JobState.CANCELLED)
