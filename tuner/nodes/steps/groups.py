"""HPL on groups of nodes, sorted ones and shuffled ones; all groups of a turn run at the same time."""

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from hpl.build.toolchain import Mpi
from hpl.dat import HplDat, render
from hpl.params import HplParams
from hpl.private_files import private_folder
from hpl.sizing import NodeShare, SizingError, n_for_memory, process_grids, seconds
from results.node_check import ORDERS, GroupRun, groups_of
from runners.base import JobState, JobStatus, Runner
from runners.errors import RunnerError
from runners.hosts.cluster import Cluster
from runners.hosts.copies import copies_for
from runners.hosts.hearing import CommandResult
from runners.hosts.node_facts import NodeSays
from runners.hosts.ssh import SshRunner
from runners.hosts.transport import AT_ONCE
from runners.job import Job
from runners.paths import RunPaths
from runners.registry import InstalledMpi, launchers

from ...errors import TunerError
from ...events import Notice, WorkEnded, WorkStarted
from ...machine.cluster_nodes import ask_cluster
from ...machine.interfaces import rdma_ports, ucx_devices
from ...machine.node_checks import lacking_files, memory_of, node_faults
from ...stopping import StopRequest
from ...trial.launch import run_folder
from ...user_dirs import UserDirs
from ...words import counted
from .hpl_runs import MEMORY_SHARE, NB, PILOT_BLOCKS, TARGET_S, HplSize, n_for_time, run_of
from .step import NodeValues, StepPlace, StepResult


@dataclass(frozen=True)
class GroupSite:
    """The nodes of a cluster that can run HPL together.

    Attributes:
        names: in the order of the cluster file.
        cores: used on each node, a rank on each.
        memory_bytes: free memory of the node that has least.
        notes: why other nodes are in no group.
        rdma: ports of InfiniBand and RoCE, and the interface of each.
    """

    cluster: Cluster
    mpi: Mpi
    names: tuple[str, ...]
    cores: int
    memory_bytes: int
    notes: tuple[str, ...] = ()
    rdma: tuple[tuple[str, str], ...] = ()


def group_site(cluster: Cluster, size: int, mpi: Mpi, files: Sequence[Path], shared: Sequence[Path]) -> GroupSite:
    """Ask all nodes for the MPI library and the files that HPL needs there; one that does not answer is left out.

    Args:
        size: nodes of a group.
        files: files that nodes need at the same path.
        shared: folders that all nodes must see, unless programs are copied.

    Raises:
        TunerError: fewer nodes than a group has can run HPL; the sentence says why.
    """
    says, _ = ask_cluster(cluster, shared, mpi.mpirun, files)
    unfit = {node.node: why for node in says if (why := _why_unfit(cluster, node, mpi, files, shared))}
    fit = [node for node in says if node.node not in unfit]
    if unfit and len(fit) < size:
        can = f"only {counted(len(fit), 'node')} of {len(cluster.hosts)} can run it" if fit else "no node can run it"
        raise TunerError(f"HPL does not run on groups of {size}, because {can}: {next(iter(unfit.values()))}")
    for sentence in node_faults(cluster, fit, mpi, shared):
        raise TunerError(f"HPL does not run on groups of {size}: {sentence}")
    cores = cluster.node.cores or min((node.cores for node in fit), default=1)
    memory_bytes = memory_of(cluster, fit)[0] if fit else 0
    notes = tuple(f"In no group: {why}." for why in unfit.values())
    return GroupSite(cluster, mpi, tuple(node.node for node in fit), cores, memory_bytes, notes, rdma_ports(fit))


def _why_unfit(cluster: Cluster, node: NodeSays, mpi: Mpi, files: Sequence[Path], shared: Sequence[Path]) -> str:
    """Return the first sentence why a node cannot run HPL with others, or ""."""
    faults = [*node_faults(cluster, [node], mpi, shared), *lacking_files([node], files)]
    return faults[0] if faults else ""


Group = tuple[str, ...]
"""The nodes of a group."""


@dataclass(frozen=True)
class GroupHpl:
    """The program, and the nodes on which it can run.

    Attributes:
        environment: variables of the ranks.
        libraries: shared libraries that are copied with the program, where programs are copied.
    """

    site: GroupSite
    program: Path
    environment: Mapping[str, str]
    libraries: tuple[Path, ...] = ()

    def pilot_size(self, nodes: int) -> HplSize:
        """Return the size of the short run that tells how fast groups of so many nodes are."""
        return HplSize(self._fitting(round(PILOT_BLOCKS * math.sqrt(nodes)) * NB, nodes), 0.0)

    def size(self, nodes: int, rates: Sequence[float], target_s: float) -> HplSize:
        """Choose N so that a run takes about this time and at most MEMORY_SHARE of the memory.

        Args:
            nodes: of a group.
            rates: GFLOPS of groups; without any, runs are as large as the short one.
        """
        if not rates:
            return self.pilot_size(nodes)
        N = self._fitting(n_for_time(median(rates), target_s), nodes)
        return HplSize(N, seconds(N, median(rates)))

    def job(self, group: Group, size: HplSize, folder: Path) -> Job:
        """Write HPL.dat to a new folder, and return the job that runs there, a rank on each core.

        Raises:
            TunerError: the folder cannot be written.
        """
        ranks = len(group) * self.site.cores
        P, Q = process_grids(ranks)[0]
        with run_folder(folder) as paths:
            paths.hpl_dat.write_text(render(HplDat.of(HplParams(size.N, NB, P, Q))), encoding="utf-8")
        return Job(
            program=(str(self.program),),
            ranks=ranks,
            directory=folder,
            environment=self.environment,
            walltime_s=size.limit_s,
            launcher_environment=dict(self.site.mpi.environment),
            mpi=self.site.mpi.name,
            nodes=group,
            interfaces=self.site.cluster.interfaces,
            ucx_devices=ucx_devices(self.site.rdma, self.site.cluster.interfaces, named=True),
            inputs=(paths.hpl_dat.name,),
            libraries=self.libraries,
        )

    def _fitting(self, N: int, nodes: int) -> int:
        share = NodeShare(self.site.memory_bytes, self.site.cores)
        try:
            return min(N, n_for_memory([share] * nodes, fraction=MEMORY_SHARE, NB=NB))
        except SizingError:
            return NB


def group_run(order: str, turn: int, group: Group, status: JobStatus, folder: Path) -> GroupRun:
    """Read what came of a run; one that failed, or whose residual did not pass, is not accurate."""
    if status.state is not JobState.COMPLETED:
        return GroupRun(order, turn, group, None, accurate=False, reason=status.message)
    run = run_of("", CommandResult(0, RunPaths(folder).read_stdout(), ""))
    return GroupRun(order, turn, group, run.value, run.accurate, run.reason)


WORDS = {"sorted": "sorted", "shuffle": "shuffled"}
"""Orders of groups in sentences."""
FOLDER = ".groups-"
"""How the name of the folder of all runs begins; no study can be named so."""

LOOK_S = 0.05
"""Seconds between two looks at the running jobs."""


@dataclass(frozen=True)
class AskedGroups:
    """Which groups run HPL, and for how long.

    Attributes:
        size: nodes of a group.
        repeats: turns in each order.
        seed: of the shuffled groups.
        target_s: seconds that one run should take.
    """

    size: int
    repeats: int = 3
    seed: int = 0
    target_s: float = TARGET_S


@dataclass(frozen=True)
class Groups:
    """Runs HPL on all groups of several turns.

    Attributes:
        user_dirs: where the folders of runs are made.
    """

    hpl: GroupHpl
    asked: AskedGroups
    user_dirs: UserDirs

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return no file: the program is in a folder that all nodes see, or the runner copies it."""
        del facts
        return {}

    def measure(self, place: StepPlace) -> StepResult:
        """Run HPL on sorted groups, then on shuffled ones; a node that is lost is in no further group."""
        with self._turns(place) as turns:
            turns.measure()
        return StepResult(groups=tuple(turns.done), lost=turns.lost, notes=(*self.hpl.site.notes, *turns.notes()))

    @contextmanager
    def _turns(self, place: StepPlace) -> Iterator["_GroupTurns"]:
        """Make a runner and a folder for the runs while the block runs."""
        site = self.hpl.site
        starters = launchers([InstalledMpi(site.mpi.name, site.mpi.mpirun, site.mpi.version)])
        copies = copies_for(site.cluster, self.user_dirs.copies)
        runs = self.user_dirs.data / "runs"
        private_folder(runs)
        with (
            tempfile.TemporaryDirectory(prefix=FOLDER, dir=runs, ignore_cleanup_errors=True) as folder,
            SshRunner(starters, site.cluster.reach, site.cluster.check_s, copies) as runner,
        ):
            yield _GroupTurns(self, place, runner, Path(folder))


@dataclass
class _GroupTurns:
    """The turns of the step, and what they gave so far.

    Attributes:
        done: all runs that ended, but for the short ones that come first.
        lost: by node why it is in no further group.
    """

    step: Groups
    place: StepPlace
    runner: Runner
    folder: Path
    done: list[GroupRun] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)

    def measure(self) -> None:
        """Run short ones, which tell how large the others can be, then all turns of both orders."""
        hpl, asked = self.step.hpl, self.step.asked
        first = groups_of("sorted", self.alive, asked.size)
        pilots = self._run("A short run of HPL", "sorted", 0, first, hpl.pilot_size(asked.size))
        chosen = hpl.size(asked.size, [run.gflops for run in pilots if run.counts and run.gflops], asked.target_s)
        for order in ORDERS:
            for turn in range(1, asked.repeats + 1):
                groups = groups_of(order, self.alive, asked.size, turn, asked.seed)
                work = f"HPL with N = {chosen.N:,}"
                self.done += self._run(work, order, turn, groups, chosen)

    @property
    def alive(self) -> Sequence[str]:
        """The nodes that can be in a group."""
        folders = self.place.folders
        return [node for node in self.step.hpl.site.names if node in folders and node not in self.lost]

    def notes(self) -> Iterator[str]:
        """What people should know of the groups."""
        size, left = self.step.asked.size, len(self.alive)
        if left < size and not self.place.stop.requested:
            yield f"Only {counted(left, 'node')} can be in a group: too few for one of {size}."
        elif left % size and not self.lost:
            yield f"Each turn leaves {counted(left % size, 'node')} of {left} without a group, and not always the same."

    def _run(self, work: str, order: str, turn: int, groups: Sequence[Group], size: HplSize) -> list[GroupRun]:
        """Run HPL on all groups at the same time, and note the nodes that are lost."""
        place, asked = self.place, self.step.asked
        if place.stop.requested or not groups:
            return []
        named = f"{counted(len(groups), f'{WORDS[order]} group')} of {asked.size} nodes"
        count = f": {turn} of {asked.repeats}" if turn else ""
        place.listener(WorkStarted(f"{work}, on {named}{count}"))
        folders = {group: self.folder / f"{order}-{turn}-{number}" for number, group in enumerate(groups)}
        jobs = {group: self.step.hpl.job(group, size, folder) for group, folder in folders.items()}
        ended = run_at_once(self.runner, jobs, place.stop)
        place.listener(WorkEnded())
        for status in ended.values():
            self.lost |= dict.fromkeys(status.lost_nodes, status.message)
        runs = [group_run(order, turn, group, status, folders[group]) for group, status in ended.items()]
        for run in runs:
            if not run.counts:
                place.listener(Notice(f"HPL failed on {', '.join(run.nodes)}: {run.reason}."))
        return runs


def run_at_once(runner: Runner, jobs: Mapping[Group, Job], stop: StopRequest) -> Mapping[Group, JobStatus]:
    """Start all jobs, and wait for their ends; a job that cannot be started has failed.

    Returns:
        How each job ended; none of those that were ended because somebody asked for it.
    """
    ended: dict[Group, JobStatus] = {}
    running = {}
    for group, job in jobs.items():
        try:
            running[group] = runner.submit(job)
        except (RunnerError, OSError) as error:
            ended[group] = JobStatus(JobState.FAILED, message=str(error))
    while running:
        if stop.requested:
            with ThreadPoolExecutor(min(AT_ONCE, len(running))) as pool:
                list(pool.map(lambda job_id: runner.cancel([job_id]), running.values()))
        said = runner.poll(list(running.values()))
        ended |= {group: said[job_id] for group, job_id in running.items() if said[job_id].state.final}
        running = {group: job_id for group, job_id in running.items() if group not in ended}
        time.sleep(LOOK_S)
    return {group: status for group, status in ended.items() if status.state is not JobState.CANCELLED}
