"""Runs plans in the simulator, several at a time, judges them, and hands the results out in the order of asking."""

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import psutil

from hpl import output
from hpl.params import HplParams, Scalar
from hpl.sizing import seconds
from hpl.witness import parse_panels
from results.record import SIMULATOR, BlasObservation, Invalidity, Kind, TrialRecord, TrialState
from runners.base import JobId, JobState, JobStatus
from runners.job import Job
from runners.launchers.smpi import HOSTS, MODEL, PLATFORM, Smpi, SmpiNetwork
from runners.local import LocalRunner
from runners.paths import RunPaths, Tail
from runners.virtual.cluster import VirtualCluster
from runners.virtual.cost_model import cost_model, kernel_sends
from runners.virtual.platform import Setup, platform_xml

from ..engines.outcomes import FULL, Rung
from ..stopping import Stopping
from ..trial.evaluate import LaunchResult, run_folder
from ..trial.judge import Failure, Verdict, another_run, ended_early
from ..trial.ladder import at_rung, part_at
from ..trial.launching import NO_STUDY, MemoryBook, QueuedTrials, in_turn, planned
from ..trial.observers.contract import LaunchObserver
from ..trial.plan import TrialPlan, label
from ..trial.records import started
from ..units import gibibytes
from .cluster import SimulatedCluster
from .plan import VirtualPlan, virtual_plan

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
    observers: Sequence[LaunchObserver]
    outgrown: str = ""
    status: JobStatus | None = None


@dataclass
class Simulator:
    """The simulator of one virtual cluster.

    Attributes:
        jobs: how many simulations run at a time.
        limit_s: real seconds after which one is ended.
        timeline: what `hpl/native/virtual/timeline.c` shall write down; "" for nothing.
    """

    site: SimulatedCluster
    jobs: int
    limit_s: float
    every_message: bool | None = None
    timeline: str = ""
    memory_bytes: int = field(default_factory=lambda: int(MEMORY_SHARE * psutil.virtual_memory().available))
    _pending: deque[Pending] = field(default_factory=deque)

    @property
    def free(self) -> bool:
        """Whether another simulation may start."""
        return len(self._pending) < self.jobs

    def start(self, plan: VirtualPlan, directory: Path, observers: Sequence[LaunchObserver] = ()) -> None:
        """Write the run's folder and start it.

        Args:
            observers: look at its panels; of a simulation nothing else can be watched.

        Raises:
            RunnerError, TunerError: it cannot be started.
        """
        setup, ranks = plan.setup, plan.ranks
        model = cost_model(setup, ranks, every_message=self.every_message)
        runner = LocalRunner(launcher(self.site, setup, ranks))
        timeline = {"HPLTUNE_TIMELINE": self.timeline} if self.timeline else {}
        job = Job(
            program=(str(self.site.program),),
            ranks=ranks,
            directory=directory,
            walltime_s=self.limit_s,
            launcher_environment={"HPLTUNE_MODEL": MODEL, **timeline, **self.site.simgrid.environment},
        )
        with run_folder(directory) as paths:
            paths.hpl_dat.write_text(plan.simulated_dat, encoding="utf-8")
            (directory / PLATFORM).write_text(platform_xml(setup), encoding="utf-8")
            (directory / HOSTS).write_text("".join(f"{host}\n" for host in setup.hosts(ranks)), encoding="utf-8")
            (directory / MODEL).write_text(model, encoding="utf-8")
            started = runner.submit(job)
        tail = Tail(paths.stderr)
        self._pending.append(Pending(plan, directory, runner, started, datetime.now(UTC), tail, observers))

    def next_result(self, stop: Stopping) -> LaunchResult:
        """Wait for the simulation that was started first. All of them are watched meanwhile."""
        while True:
            for pending in self._pending:
                self._watch(pending, stop)
            first = self._pending[0]
            if first.status is not None and first.status.state.final:
                self._pending.popleft()
                return self._measured(first, first.status)
            time.sleep(POLL_S)

    def run(self, plan: VirtualPlan, directory: Path, stop: Stopping) -> LaunchResult:
        """Start one and wait for it; nothing else may be pending."""
        self.start(plan, directory)
        return self.next_result(stop)

    def close(self) -> None:
        """End everything that still runs."""
        for pending in self._pending:
            pending.runner.close()
        self._pending.clear()

    def _watch(self, pending: Pending, stop: Stopping) -> None:
        if pending.status is not None and pending.status.state.final:
            return
        pending.status = pending.runner.poll([pending.job])[pending.job]
        if pending.status.state.final:
            return
        panels = parse_panels("\n".join(pending.tail.lines()))
        for observer in pending.observers:
            observer.look(panels)
        if stop.at_once:
            pending.runner.cancel([pending.job])
        resident = pending.runner.resident_bytes(pending.job)
        if resident > self.memory_bytes / self.jobs:
            pending.outgrown = (
                f"the simulation took {gibibytes(resident)} of memory, more than its share of "
                f"{gibibytes(int(self.memory_bytes / self.jobs))}: use fewer ⟦jobs⟧ or fewer ranks"
            )
            pending.runner.cancel([pending.job])

    def _measured(self, pending: Pending, status: JobStatus) -> LaunchResult:
        paths = RunPaths(pending.directory)
        stdout, asked = paths.read_stdout(), pending.plan.runs[0]
        if pending.outgrown:
            status = JobStatus(JobState.FAILED, status.exit_code, pending.outgrown)
        verdict = judge_simulated(asked, status, stdout, self.site.simulator, len(self.site.cluster.node_list))
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


@dataclass
class SimulatedTrials(QueuedTrials[VirtualPlan]):
    """Trials on one simulator, several at a time: each is begun, simulated and recorded as a real one is.

    Attributes:
        named: tells a plan from others in one line.
    """

    runner: Simulator
    named: Callable[[TrialPlan, TrialRecord], str] = lambda plan, _: label(plan)

    def begin(
        self,
        record: TrialRecord,
        *,
        rung: Rung = FULL,
        repeat: int = 0,
        cluster: VirtualCluster | None = None,
        order: tuple[int, ...] = (),
    ) -> TrialRecord | None:
        """Commit that a trial runs, and start its simulation.

        Args:
            record: a new one, with a complete point.
            rung: how much of a full run it is.
            repeat: how often the same ran before: the noise of the run follows from it.
            cluster: a variant of the simulator's cluster; None for that itself.
            order: as `virtual_plan` takes it.

        Returns:
            The record where it ended at once because it cannot run, else None.
        """
        wish = at_rung(record.params, rung)
        plan = planned(virtual_plan, wish, cluster or self.runner.site.cluster, record.key, repeat, order)
        new = replace(record, part=part_at(record.params, rung), versions={SIMULATOR: self.runner.site.simulator})
        return self.start(new, plan, lambda plan: self.named(plan, new))


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
    observed = BlasObservation(
        library=simulator, version="", kernel="cost model", threads=1, hosts=(f"{nodes} virtual nodes",)
    )
    if result:
        fault = another_run(asked, result)
    elif status.state is JobState.TIMEOUT:
        fault = Failure(Invalidity.TIMEOUT, f"the simulation was {status.message}")
    else:
        fault = ended_early(status, found, "", "the simulated HPL printed no result")
    return Verdict(found.results, (fault,), observed, status.state is JobState.CANCELLED)


@dataclass(frozen=True)
class Wish:
    """A configuration to simulate, on the site's cluster or on a variant of it."""

    params: Mapping[str, Scalar]
    cluster: VirtualCluster | None = None

    @classmethod
    def of_real(cls, params: Mapping[str, Scalar]) -> Self:
        """What a real run had, but for what a simulated one has of the cluster: its binding and its kernel."""
        return cls({**{name: value for name, value in params.items() if name != "binding"}, "kernel": "auto"})


@dataclass(frozen=True)
class Simulated:
    """What came of a wish: GFLOPS and HPL's time in virtual seconds, or the sentence why there are none."""

    gflops: float | None
    time_s: float | None
    reason: str = ""


def simulate(
    site: SimulatedCluster,
    wishes: Sequence[Wish],
    *,
    jobs: int,
    limit_s: float,
    stop: Stopping,
    every_message: bool | None = None,
) -> list[Simulated]:
    """Simulate configurations, several at a time.

    Returns:
        One result a wish, in their order; fewer where the user stopped it.
    """
    simulator = Simulator(site, jobs, limit_s, every_message)
    folder = Path(tempfile.mkdtemp(prefix="hpltune-simulate-"))
    book = MemoryBook(folder)
    trials = SimulatedTrials(simulator, book, lambda _: None, stop)

    def begin(wish: Wish) -> None:
        trials.begin(started(NO_STUDY, wish.params, Kind.RUN, ""), cluster=wish.cluster)

    try:
        for ended in in_turn(deque(wishes), begin, trials, stop):
            shutil.rmtree(ended.directory, ignore_errors=True)
    finally:
        simulator.close()
        shutil.rmtree(folder, ignore_errors=True)
    return [simulated(book.records[number]) for number in sorted(book.records)]


def simulated(record: TrialRecord) -> Simulated:
    """What is told of the record of a simulation."""
    if record.state is TrialState.COMPLETE and record.hpl and record.gflops:
        return Simulated(record.gflops, seconds(record.hpl.N, record.gflops))
    return Simulated(None, None, record.reason)
