"""HPL on groups of nodes, sorted ones and shuffled ones; all groups of a turn run at the same time."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hpl.private_files import private_folder
from results.stats.nodes.group_run import ORDERS, GroupRun, groups_of
from runners.base import Runner
from runners.errors import RunnerError
from runners.hosts.copies import copies_for
from runners.hosts.ssh import SshRunner
from runners.hosts.transport import AT_ONCE
from runners.job import Job
from runners.registry import Installed, launchers
from runners.status import JobState, JobStatus

from ..events import Notice, WorkEnded, WorkStarted
from ..stopping import StopRequest
from ..user_dirs import UserDirs
from ..words import counted
from .group_hpl import Group, GroupHpl, group_run
from .hpl_runs import HplSize
from .hpl_step import TARGET_S
from .step import NodeValues, StepPlace, StepResult

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
        starters = launchers([Installed(site.mpi.name, site.mpi.mpirun, site.mpi.version)])
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
            self.lost |= {node: f"node {node} did not answer when HPL had failed" for node in status.lost_nodes}
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
