"""Plays a run of a table: a program prints HPL's output of it, and what it printed is judged as a run of HPL is."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from hpl import output
from hpl.build import replay_child
from hpl.dat import HplDat, render
from hpl.errors import HplError
from hpl.params import HplParams, Scalar
from hpl.witness import parse_panels
from results.record import BlasObservation
from runners.base import JobState, JobStatus
from runners.job import Job
from runners.launchers.base import last_words
from runners.local import LocalRunner
from runners.paths import Tail

from ..engines.outcomes import Fidelity, Rung
from ..stopping import Stopping
from ..trial.evaluate import STOP_AT
from ..trial.judge import Failure, Verdict, ended_early
from ..trial.ladder import at_rung
from ..trial.launch import LaunchResult, LaunchWatch, run_folder
from ..trial.observers.contract import LaunchObserver, WatchedLaunch
from ..trial.observers.progress import ProgressObserver
from ..trial.plan import Launch, PlanError, TrialPlan, parse_layout
from ..trial.plausible import unknown_limits
from ..words import counted
from .landscape import Run
from .table import ReplayTable

POLL_S = 0.005
TABLE = "replay.json"
"""In the folder of a run: what the program prints."""
PANELS = 20
"""Progress lines of a run whose panels the table does not have."""


@dataclass(frozen=True, kw_only=True)
class ReplayPlan(TrialPlan):
    """A configuration, and the run of the table that answers for it."""

    run: Run


def replay_plan(params: Mapping[str, Scalar], table: ReplayTable, rung: Rung, seed: int, repeat: int) -> ReplayPlan:
    """Choose the run that answers for a complete point. Pure.

    Args:
        seed, repeat: as `ReplayTable.run` takes them.

    Raises:
        PlanError: the table has no such run, or HPL takes no such values.
    """
    ranks, threads = parse_layout(str(params["layout"]))
    try:
        hpl = HplParams.from_words(at_rung(params, rung))
    except HplError as error:
        raise PlanError(str(error)) from error
    return ReplayPlan(
        runs=(hpl,),
        hpl_dat=render(HplDat.of(hpl)),
        blas=str(params["blas"]),
        library=None,
        kernel=str(params.get("kernel", "auto")),
        ranks=ranks,
        threads=threads,
        environment={},
        launch=Launch(binding=str(params.get("binding", "core")), mpi=str(params.get("mpi", ""))),
        stop_at=rung.part if rung.fidelity is Fidelity.PREFIX else None,
        run=table.run(params, rung, seed, repeat),
    )


class NoMpi:
    """Starts one process, which stands for all ranks: so a table of a large cluster needs neither MPI nor cores."""

    def command(self, job: Job) -> list[str]:
        """The program itself."""
        return list(job.program)

    def explain(self, job: Job, exit_code: int, said: str) -> str:
        """How the program ended."""
        del job
        return last_words("the replay", exit_code, said)


@dataclass
class Player:
    """The site that plays runs of one table, one at a time.

    Attributes:
        speed: real seconds that pass for each second of the table; 0 plays as fast as it can.
        seed: decides with a configuration which of its runs is played.
    """

    table: ReplayTable
    speed: float = 0.0
    seed: int = 0
    runner: LocalRunner = field(default_factory=lambda: LocalRunner(NoMpi()))
    machine: ClassVar[None] = None
    shares_launches: ClassVar[bool] = False
    limits = staticmethod(unknown_limits)
    left_s: ClassVar[Callable[[], None]] = staticmethod(lambda: None)

    @property
    def simulator(self) -> str:
        """The table's name and version."""
        return self.table.simulator

    def plan(self, params: Mapping[str, Scalar], rung: Rung, key: str = "", repeat: int = 0) -> ReplayPlan:
        """Choose the run that answers for a complete point, as `replay_plan` does."""
        del key
        return replay_plan(params, self.table, rung, self.seed, repeat)

    def observers(self, launch: WatchedLaunch) -> Sequence[LaunchObserver]:
        """Nothing of a replay can be watched but its panels."""
        return [ProgressObserver(launch)]

    def close(self) -> None:
        """End what still runs."""
        self.runner.close()

    def run(
        self, plan: ReplayPlan, directory: Path, limit_s: float, stop: Stopping, watch: LaunchWatch
    ) -> LaunchResult:
        """Write the folder of a run, run the program there that prints it, and read what it printed.

        Args:
            limit_s: real seconds after which it is ended.

        Raises:
            RunnerError, TunerError: it cannot be started.
        """
        started_at = datetime.now(UTC)
        with run_folder(directory) as paths:
            paths.hpl_dat.write_text(plan.hpl_dat, encoding="utf-8")
            (directory / TABLE).write_text(json.dumps(self._told(plan)), encoding="utf-8")
            status = self._wait(self._job(plan, directory, limit_s), Tail(paths.stderr), stop, watch)
        stdout, stderr = paths.read_stdout(), paths.read_stderr()
        return LaunchResult(
            verdict=judge_replayed(plan, status, stdout, stderr, self.table),
            command=paths.read_command(),
            output=stdout,
            errors_text=stderr,
            started_at=started_at,
            ended_at=datetime.now(UTC),
            cost_s=0.0 if status.state is JobState.CANCELLED else self._cost_s(plan),
            xhpl_key="",
            measurements=(plan.run.measurements,),
        )

    def _job(self, plan: ReplayPlan, directory: Path, limit_s: float) -> Job:
        return Job(
            program=(sys.executable, "-IS", replay_child.__file__, TABLE),
            ranks=1,
            directory=directory,
            walltime_s=limit_s,
            launcher_environment={} if plan.stop_at is None else {STOP_AT: str(plan.stop_at)},
        )

    def _wait(self, job: Job, tail: Tail, stop: Stopping, watch: LaunchWatch) -> JobStatus:
        """Start a job and wait for its end, telling how far it is."""
        job_id = self.runner.submit(job)
        while True:
            status = self.runner.poll([job_id])[job_id]
            watch.look(parse_panels("\n".join(tail.lines())), stop)
            if status.state.final:
                return status
            if stop.at_once:
                self.runner.cancel([job_id])
            time.sleep(POLL_S)

    def _told(self, plan: ReplayPlan) -> dict[str, object]:
        """What the program reads."""
        run, (hpl,) = plan.run, plan.runs
        pace = self.speed * run.cost_s / run.time_s if run.time_s else 0.0
        told: dict[str, object] = {"pace": pace, "panels": panels_of(run, hpl)}
        if run.gflops is None:
            told |= {"time_s": run.time_s, "ends": "exit", "after": 1.0, "says": run.reason}
        else:
            told |= {"gflops": run.gflops, "residual": run.residual}
        return {"runs": [told]}

    def _cost_s(self, plan: ReplayPlan) -> float:
        """Seconds of the table that a run took, as far as it was played."""
        run, (hpl,) = plan.run, plan.runs
        if plan.stop_at is None or run.gflops is None:
            return run.cost_s
        panel = self.table.panel(run, hpl.N, plan.stop_at)
        return run.cost_s if panel is None else run.cost_s - run.time_s + panel[1]


def panels_of(run: Run, hpl: HplParams) -> Sequence[tuple[int, float]]:
    """The progress of a run: that of the table, or after as many operations as HPL does in that time."""
    if run.panels:
        return [*([] if run.panels[0][0] == 0 else [(0, 0.0)]), *run.panels]
    columns = dict.fromkeys(hpl.N * turn // PANELS // hpl.NB * hpl.NB for turn in range(PANELS))
    return [(column, run.time_s * (1 - (1 - column / hpl.N) ** 3)) for column in columns]


def judge_replayed(plan: ReplayPlan, status: JobStatus, stdout: str, stderr: str, table: ReplayTable) -> Verdict:
    """What the program printed; what failed in the table fails for the reason there."""
    found = output.parse(stdout)
    observed = BlasObservation(
        library=table.simulator,
        version="",
        kernel="table",
        threads=plan.threads,
        hosts=plan.run.hosts or (f"{counted(table.landscape.nodes, 'node')} of the table",),
    )
    cancelled, fault = status.state is JobState.CANCELLED, None
    stopped = plan.stop_at is not None and any(panel.stopped for panel in parse_panels(stderr))
    if plan.run.gflops is None and status.state not in (JobState.CANCELLED, JobState.TIMEOUT):
        fault = Failure(plan.run.stage, f"{table.name} says: {plan.run.reason}")
    elif cancelled or not (stopped or (found.results and plan.stop_at is None)):
        printed = "printed no result" if plan.stop_at is None else "did not stop where it was asked to"
        fault = ended_early(status, found, stderr, f"the replay {'was cancelled' if cancelled else printed}")
    return Verdict(found.results if plan.stop_at is None else (), (fault,), observed, cancelled)
