"""HPL over MPI on the nodes of a group: its size, its job, and what its output says."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hpl.dat import HplDat, render
from hpl.flops import seconds
from hpl.params import HplParams
from hpl.sizing import NodeShare, SizingError, n_for_memory, process_grids
from results.stats.nodes.group_run import GroupRun
from runners.hosts.hearing import CommandResult
from runners.job import Job
from runners.paths import RunPaths
from runners.status import JobState, JobStatus

from ..machine.interfaces import ucx_devices
from ..trial.evaluate import run_folder
from .group_site import GroupSite
from .hpl_runs import MEMORY_SHARE, NB, PILOT_BLOCKS, HplSize, n_for_time, run_of

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
