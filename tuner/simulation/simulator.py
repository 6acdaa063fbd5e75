"""The simulator as a site: it runs plans on a virtual cluster, several at a time, and judges them."""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import ClassVar, Self

import psutil

from hpl import output
from hpl.params import Scalar
from hpl.sizing import seconds
from hpl.witness import parse_panels
from results.record import BlasObservation, Invalidity, TrialRecord, TrialState
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
from ..trial.ask_and_tell import ListedPoint, ask_and_tell, start_point
from ..trial.judge import Failure, Verdict, ended_early
from ..trial.ladder import at_rung
from ..trial.launch import LaunchLimits, LaunchOutcome, LaunchResult, LaunchWatch, run_folder
from ..trial.launching import NO_STUDY, Launching, MemoryBook
from ..trial.observers.contract import LaunchObserver, WatchedLaunch
from ..trial.observers.progress import ProgressObserver
from ..trial.plausible import unknown_limits
from ..units import gibibytes
from .cluster import SimulatedCluster
from .plan import VirtualPlan, virtual_plan

POLL_S = 0.005
MEMORY_SHARE = 0.6
"""All simulations together may take this part of the memory that is free when they start."""


@dataclass
class Simulator:
    """The simulator of one virtual cluster.

    Attributes:
        jobs: how many simulations run at a time.
        order: numbers of the nodes that ranks fill, in this order; empty for those that a point says.
        closed: set to end everything that runs, also on what was made of this one.
        timeline: what `hpl/native/virtual/timeline.c` shall write down; "" for nothing.
    """

    simulated: SimulatedCluster
    jobs: int
    every_message: bool | None = None
    timeline: str = ""
    order: tuple[int, ...] = ()
    memory_bytes: int = field(default_factory=lambda: int(MEMORY_SHARE * psutil.virtual_memory().available))
    machine: ClassVar[None] = None
    shares_launches: ClassVar[bool] = False
    limits = staticmethod(unknown_limits)
    left_s: ClassVar[Callable[[], None]] = staticmethod(lambda: None)
    closed: Event = field(default_factory=Event)

    @property
    def simulator(self) -> str:
        """Name and version of SimGrid."""
        return self.simulated.simulator

    def of(self, cluster: VirtualCluster) -> Self:
        """The same of a variant of the cluster; it ends with this one."""
        return replace(self, simulated=replace(self.simulated, cluster=cluster))

    def plan(self, params: Mapping[str, Scalar], rung: Rung = FULL, key: str = "", repeat: int = 0) -> VirtualPlan:
        """Plan a run on the cluster, as `virtual_plan` does."""
        return virtual_plan(at_rung(params, rung), self.simulated.cluster, key, repeat, self.order)

    def observers(self, launch: WatchedLaunch) -> Sequence[LaunchObserver]:
        """Nothing of a simulation can be watched but its panels."""
        return [ProgressObserver(launch)]

    def run(
        self, plan: VirtualPlan, directory: Path, limit_s: float, stop: Stopping, watch: LaunchWatch | None = None
    ) -> LaunchResult:
        """Write the run's folder, simulate the run there, and judge it.

        Args:
            limit_s: real seconds after which it is ended.

        Raises:
            RunnerError, TunerError: it cannot be started.
        """
        setup, ranks, started_at = plan.setup, plan.ranks, datetime.now(UTC)
        model = cost_model(setup, ranks, every_message=self.every_message)
        timeline = {"HPLTUNE_TIMELINE": self.timeline} if self.timeline else {}
        job = Job(
            program=(str(self.simulated.program),),
            ranks=ranks,
            directory=directory,
            walltime_s=limit_s,
            launcher_environment={"HPLTUNE_MODEL": MODEL, **timeline, **self.simulated.simgrid.environment},
        )
        with LocalRunner(launcher(self.simulated, setup, ranks)) as runner:
            with run_folder(directory) as paths:
                paths.hpl_dat.write_text(plan.simulated_dat, encoding="utf-8")
                (directory / PLATFORM).write_text(platform_xml(setup), encoding="utf-8")
                (directory / HOSTS).write_text("".join(f"{host}\n" for host in setup.hosts(ranks)), encoding="utf-8")
                (directory / MODEL).write_text(model, encoding="utf-8")
                job_id = runner.submit(job)
            status = self._ended(runner, job_id, Tail(paths.stderr), stop, watch or LaunchWatch())
        return self._judged(plan, status, paths, started_at)

    def close(self) -> None:
        """End everything that still runs."""
        self.closed.set()

    def _ended(self, runner: LocalRunner, job_id: JobId, tail: Tail, stop: Stopping, watch: LaunchWatch) -> JobStatus:
        """Watch a simulation until it has ended, and end one that takes more than its share of the memory."""
        outgrown, share = "", int(self.memory_bytes / self.jobs)
        while True:
            status = runner.poll([job_id])[job_id]
            if status.state.final:
                return replace(status, state=JobState.FAILED, message=outgrown) if outgrown else status
            watch.look(parse_panels("\n".join(tail.lines())), stop)
            resident = runner.resident_bytes(job_id)
            if resident > share:
                outgrown = (
                    f"the simulation took {gibibytes(resident)} of memory, more than its share of {gibibytes(share)}: "
                    "use fewer ⟦jobs⟧ or fewer ranks"
                )
            if outgrown or stop.at_once or self.closed.is_set():
                runner.cancel([job_id])
            time.sleep(POLL_S)

    def _judged(self, plan: VirtualPlan, status: JobStatus, paths: RunPaths, started_at: datetime) -> LaunchResult:
        stdout, asked = paths.read_stdout(), plan.runs[0]
        verdict = judge_simulated(status, stdout, self.simulator, len(self.simulated.cluster.node_list))
        rate = verdict.results[0].gflops if verdict.results else 0.0
        return LaunchResult(
            verdict=verdict,
            command=paths.read_command(),
            output=stdout,
            errors_text=paths.read_stderr(),
            started_at=started_at,
            ended_at=datetime.now(UTC),
            cost_s=seconds(asked.N, rate) if rate else 0.0,
            xhpl_key=self.simulated.program_key,
        )


def launcher(site: SimulatedCluster, setup: Setup, ranks: int) -> Smpi:
    """SimGrid, told what it takes as options."""
    network = SmpiNetwork(
        latency_factors=setup.link.latency_factors(asks_apart=kernel_sends(setup, ranks)),
        eager_bytes=setup.link.eager_bytes,
    )
    return Smpi(site.simgrid.smpimain, network)


def judge_simulated(status: JobStatus, stdout: str, simulator: str, nodes: int) -> Verdict:
    """What a simulated run printed.

    Args:
        simulator: name and version, which stand where a real run says which BLAS it mapped.
    """
    found, fault = output.parse(stdout), None
    observed = BlasObservation(
        library=simulator, version="", kernel="cost model", threads=1, hosts=(f"{nodes} virtual nodes",)
    )
    if not found.results:
        timeout = Failure(Invalidity.TIMEOUT, f"the simulation was {status.message}")
        early = ended_early(status, found, "", "the simulated HPL printed no result")
        fault = timeout if status.state is JobState.TIMEOUT else early
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
    simulator, limits = Simulator(site, jobs, every_message), LaunchLimits(limit_s=limit_s)
    with tempfile.TemporaryDirectory(prefix="hpltune-simulate-", ignore_cleanup_errors=True) as folder:
        book = MemoryBook(Path(folder))
        launching = Launching(sites=[simulator] * jobs, book=book, listener=lambda _: None, stop=stop)

        def start(wish: Wish) -> None:
            on = simulator.of(wish.cluster) if wish.cluster else None
            start_point(launching, NO_STUDY, ListedPoint(params=wish.params, key="", limits=limits, site=on))

        def forget(done: LaunchOutcome) -> None:
            shutil.rmtree(done.records[0].directory, ignore_errors=True)

        ask_and_tell(launching, stop, ask=iter(wishes), start=start, tell=forget)
    return [simulated(book.records[number]) for number in sorted(book.records)]


def simulated(record: TrialRecord) -> Simulated:
    """What is told of the record of a simulation."""
    if record.state is TrialState.COMPLETE and record.hpl and record.gflops:
        return Simulated(record.gflops, seconds(record.hpl.N, record.gflops))
    return Simulated(None, None, record.reason)
