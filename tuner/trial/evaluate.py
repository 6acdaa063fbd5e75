"""One trial: build, write, check the memory, run, judge."""

import json
import math
import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hpl.build.toolchain import BuildError
from hpl.params import Scalar
from hpl.private_files import private_folder
from hpl.programs.family import ReadyProgram
from hpl.programs.gpus import gpus
from hpl.search_paths import SearchPaths
from hpl.witness import UNLIKE, WHOLE, SolveConditions, parse_conditions, parse_panels, parse_sights
from results.record import Invalidity
from runners.base import JobId, JobState, JobStatus, Runner
from runners.errors import HeldError, Mishap, RunnerError, SubmitError
from runners.hosts.host_facts import confined
from runners.job import Job
from runners.launchers.base import message
from runners.paths import RunPaths, Tail
from runners.process_tree import use_of_ranks
from runners.settings.sys import TUNABLES, with_tunables

from ..engines.outcomes import Fidelity, Rung
from ..errors import TunerError
from ..events import Listener, Notice
from ..machine.inventory import Inventory, matrix_on_gpus
from ..machine.quiet import crowded
from ..machine.survey import OF_THIS_MACHINE, with_kernel_rates
from ..stopping import Stopping, may_wait_s
from ..units import duration, gibibytes
from .judge import Failure, judge, unlike_the_plan
from .ladder import at_rung
from .launch import LaunchResult, LaunchWatch, not_started, run_folder
from .observers.contract import LaunchObserver, WatchedLaunch
from .observers.energy.meters import PowerMeters
from .observers.registry import observers_of
from .observers.sensors import SENSORS, SENSORS_FILE
from .observers.sensors.registry import FILE_SENSORS
from .plan import TrialPlan
from .plan import plan as plan_of
from .plausible import UNCHECKED, UNSEEN, MachineLimits, MeasuredLaunch, unchecked

if TYPE_CHECKING:
    from runners.settings.control import SettingsControl

STOP_AT = "HPLTUNE_STOP_AT"
"""Variable that tells `native/progress.c` to end a run early."""
POLL_S = 0.05
"""Pause between two looks at a running job: short against any run worth measuring, and under 1 % of a core."""
LONGEST_PAUSE_S = 60.0
"""Between two attempts to submit a job."""
SHORT_WAIT_S = 2.0
"""In a queue, of which nothing is said."""
WORDS_PAUSE_S = 60.0
"""Between two sentences about a wait, at least."""
WORDS_SHARE = 0.1
"""Of a wait, what passes before the next sentence about it: after ten hours one an hour is enough."""


@dataclass(frozen=True)
class Evaluator:
    """Runs plans on one machine, one at a time.

    Attributes:
        settings: sets those of the hosts before a run, as its plan asks; None where there are none to set.
        listener: told when a run cannot be started now.
        patience_s: for how long a run that cannot be started now is submitted again.
        again_s: the first pause before that; each is half as long again, up to LONGEST_PAUSE_S.
        begins_s: after so long a run has failed in which no rank has begun; HPL prints at once.
        meters: what tells the power of its nodes; None where nobody looked for it.
        left_s: what is left of the budget, in seconds, within which all waits end; None where time is not limited.
    """

    machine: Inventory
    search: SearchPaths
    runner: Runner
    settings: "SettingsControl | None" = None
    listener: Listener = lambda _: None
    patience_s: float = 0.0
    again_s: float = 5.0
    begins_s: float = 300.0
    meters: PowerMeters | None = None
    left_s: Callable[[], float | None] = lambda: None
    _cautions: set[str] = field(default_factory=set, init=False, repr=False)

    simulator: ClassVar[str] = ""
    shares_launches: ClassVar[bool] = True

    def plan(self, params: Mapping[str, Scalar], rung: Rung, key: str = "", repeat: int = 0) -> TrialPlan:
        """Plan a run of a complete point, which is the same however often it ran. Pure.

        Raises:
            PlanError, HplError: it cannot be had here.
        """
        del key, repeat
        found = plan_of(at_rung(params, rung), self.machine)
        return replace(found, stop_at=rung.part) if rung.fidelity is Fidelity.PREFIX else found

    def observers(self, launch: WatchedLaunch) -> Sequence[LaunchObserver]:
        """Make all that can watch a launch."""
        return observers_of(replace(launch, meters=self.meters))

    def close(self) -> None:
        """End nothing: what a machine runs goes to its end."""

    def run(
        self, plan: TrialPlan, directory: Path, limit_s: float, stop: Stopping, watch: LaunchWatch | None = None
    ) -> LaunchResult:
        """Run a plan and judge it. Everything that can go wrong with the run itself becomes a fault, not an error.

        Args:
            directory: made here; holds HPL.dat, the command line and both outputs afterwards.
            limit_s: seconds after which the whole process tree is ended.
            stop: looked at all the time; `at_once` ends the run, `requested` one that has not begun.
            watch: a new one; None where nothing watches.

        Raises:
            TunerError: as `run_folder`; or somebody else has a node's network.
            RunnerError: the launcher does not start, or a node or one of its settings is not as the plan needs it.
        """
        started_at = datetime.now(UTC)
        try:
            program = plan.program.ready(self.machine.mpi_named(plan.launch.mpi), plan.library, self.search)
        except BuildError as error:
            return not_started(plan, Failure(Invalidity.COMPILE, str(error)), started_at)
        if shortage := memory_shortage(plan, self.machine):
            return not_started(plan, Failure(Invalidity.CONSTRAINTS, shortage), started_at)
        watch = watch or LaunchWatch()
        here = () if self.machine.nodes else (socket.gethostname(),)
        try:
            self._set_hosts(plan, stop)
            began = time.monotonic()
            with run_folder(directory) as paths:
                for name in _inputs(plan):
                    (paths.directory / name).write_text(plan.hpl_dat, encoding="utf-8")
                job = _sampled(self._job(plan, program, directory, limit_s))
                with watch.of(job, job.nodes or here):
                    status = self.run_job(job, watch, stop, begins_s=self.begins_s)
        except HeldError as error:
            raise TunerError(str(error)) from error
        launch_s = cost_s = time.monotonic() - began
        if status.started_at and status.ended_at:
            cost_s = min(cost_s, (status.ended_at - status.started_at).total_seconds())
        disturbed = ""
        if self.settings is not None and not status.lost_nodes:
            disturbed = self.settings.disturbed(self.machine.node_names)
        ran_out = status.state is JobState.TIMEOUT and len(plan.runs) == 1 and not (status.event or disturbed)
        if ran_out and (others := crowded(self.machine, job.nodes, watch.job_id)):
            status = replace(status, event=Mishap.BUSY, message=f"{status.message}, while others took {others}")
        stdout, stderr = paths.read_stdout(), self._said(paths)
        printed = plan.program.parse(stdout)
        times_s = [result.time_s for result in printed.results][: len(plan.runs)]
        runs = len(plan.runs) if status.state is JobState.CANCELLED else min(len(times_s) + 1, len(plan.runs))
        measurements = watch.end(watch.solves(runs, times_s, _told(stderr, len(plan.runs))))
        if len(times_s) == len(plan.runs) and not printed.finished and plan.stop_at is None:
            title = plan.program.workload.title
            self.listener(Notice(f"what {title} printed ends before its last lines, behind its results.", caution=True))
        verdict = judge(plan, status, stdout, stderr)
        measured = MeasuredLaunch.of(launch_s, plan.ranks, stderr, status.used)
        if results := verdict.results[: len(plan.runs)]:
            heard = parse_sights(stderr) or measured.solves or measured.ends or not plan.program.workload.is_hpl
            self._say_once(([] if heard else [UNSEEN]) + ([UNCHECKED] if unchecked(results, measured) else []))
        lines = watch.lines() + self._unlike_line(job, stderr)
        return LaunchResult(
            verdict=verdict,
            command=paths.read_command(),
            output=stdout,
            errors_text=stderr + ("\n" if lines and stderr and not stderr.endswith("\n") else "") + lines,
            started_at=started_at,
            ended_at=datetime.now(UTC),
            cost_s=cost_s,
            xhpl_key=program.key,
            event=status.event or (Mishap.DISTURBED if disturbed else None),
            lost_nodes=status.lost_nodes,
            begun_s=tuple(begun_s - began for begun_s in watch.begun_s),
            disturbed=disturbed,
            stopped=watch.decision,
            measurements=measurements,
            measured=measured,
        )

    def _unlike_line(self, job: Job, stderr: str) -> str:
        """Say once of each difference between what the ranks were to get and what they told, and return its line."""
        planned = {**job.mpi_parameters, **job.environment}
        cores = 0 if job.oversubscribe else job.threads_per_rank
        bound = job.binding == "core" and (bool(job.nodes) or not confined())
        sentences = unlike_the_plan(parse_sights(stderr), planned, cores, bound=bound)
        self._say_once(sentences)
        return f"{UNLIKE}{json.dumps({'sentences': sentences})}\n" if sentences else ""

    def _say_once(self, sentences: Iterable[str]) -> None:
        """Say each caution that was not said before."""
        for sentence in sentences:
            if sentence not in self._cautions:
                self._cautions.add(sentence)
                self.listener(Notice(f"{sentence}.", caution=True))

    def limits(self, plan: TrialPlan, *, exactly: bool) -> MachineLimits:
        """What its cores can do by dgemm, else by Rpeak; what a GPU adds to a program that is not ours is not known."""
        machine, program = self.machine, plan.program
        if exactly and not machine.dgemm_gflops:
            blas = machine.blas or tuple(OF_THIS_MACHINE.blas(self.search, {}))
            machine = timed(replace(machine, blas=blas), self.search, self.listener)
        unknown = not program.workload.is_hpl or program.gpus_of or machine.gpus
        accelerated = exactly and not program.built and bool(gpus())
        core_gflops = 0.0 if unknown or accelerated else max(machine.rpeak.core_gflops, machine.dgemm_gflops)
        ceiling = machine.rpeak.gflops if machine.gpus else machine.ceiling_gflops
        alone = program.built or not machine.rpeak.stated
        return MachineLimits(
            ceiling if program.workload.has_peak else 0.0, core_gflops, machine.dgemm_gflops > 0, alone
        )

    def _set_hosts(self, plan: TrialPlan, stop: Stopping) -> None:
        """Give the hosts the settings of the plan.

        Raises:
            RefusedError: that cannot be had.
            RunnerError: a node does not answer.
        """
        if self.settings is not None:
            self.settings.apply(plan.settings, self.machine.node_names, lambda: may_wait_s(stop, self.left_s()))

    def _job(self, plan: TrialPlan, program: ReadyProgram, directory: Path, walltime_s: float) -> Job:
        environment = {**plan.environment, **program.environment}
        inherited = {TUNABLES: os.environ[TUNABLES]} if TUNABLES in environment and TUNABLES in os.environ else {}
        environment = with_tunables(inherited, environment)
        mpi = self.machine.mpi_named(plan.launch.mpi)
        if plan.stop_at is not None:
            environment[STOP_AT] = str(plan.stop_at)
        copies = self.machine.nodes is not None and self.machine.nodes.cluster.copies
        interfaces, devices = self._interfaces(plan)
        container = self.machine.container
        if container is not None:
            container = container.of_ranks(
                environment, plan.ranks // (len(plan.launch.nodes) or self.machine.node_count)
            )
            environment = container.variables_of(environment)
        return Job(
            program=(str(program.path), *plan.arguments),
            ranks=plan.ranks,
            threads_per_rank=plan.threads,
            environment=environment,
            directory=directory,
            walltime_s=min(walltime_s, self.machine.longest_s),
            binding=plan.launch.binding,
            mpi_parameters=plan.launch.parameters,
            launcher_environment=dict(mpi.environment),
            mpi=mpi.name,
            nodes=plan.launch.nodes or self.machine.node_names,
            strict_order=bool(plan.launch.nodes),
            interfaces=interfaces,
            ucx_devices=devices,
            oversubscribe=plan.oversubscribe,
            inputs=_inputs(plan),
            libraries=plan.program.libraries(program, mpi, plan.library) if copies else (),
            before=plan.before,
            container=container,
            watched=not plan.program.built,
        )

    def _interfaces(self, plan: TrialPlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The interfaces that the plan or the cluster file names, or that were chosen, and UCX's devices for them."""
        nodes = self.machine.nodes
        if nodes is None:
            return plan.interfaces, ()
        from ..machine.interfaces import ucx_devices  # noqa: PLC0415 - only a cluster needs it

        named = plan.interfaces or nodes.cluster.interfaces
        interfaces = named or nodes.interfaces
        return interfaces, ucx_devices(nodes.rdma, interfaces, named=bool(named))

    def run_program(
        self,
        program: ReadyProgram,
        arguments: Sequence[str],
        plan: TrialPlan,
        directory: Path,
        walltime_s: float,
        stop: Stopping,
    ) -> JobStatus:
        """Start another MPI program in place of a plan's own, on the network as it wants it, and wait for its end.

        Returns:
            How it ended, or what befell it before it could begin.

        Raises:
            RunnerError: it cannot be started, or the network not be set.
            OSError: the directory cannot be written.
        """
        try:
            self._set_hosts(plan, stop)
            private_folder(directory)
            job = self._job(plan, program, directory, walltime_s)
            sampled = _sampled(replace(job, program=(*job.program, *arguments), inputs=()))
            return self.run_job(sampled, LaunchWatch(), stop)
        except RunnerError as error:
            if error.event is None:
                raise
            return JobStatus(JobState.FAILED, message=str(error), event=error.event, lost_nodes=error.lost_nodes)

    def run_job(self, job: Job, watch: LaunchWatch, stop: Stopping, *, begins_s: float = math.inf) -> JobStatus:
        """Start a job and wait for its end, watching it and looking whether it shall be ended at once.

        Where a later attempt to start it may succeed, it is tried again and again until the user ends that.
        A job that waits in a queue says so now and then, and is ended as soon as no further trial may start or the
        budget is spent.

        Args:
            begins_s: after so long a job has failed whose ranks have not begun.

        Raises:
            RunnerError: it cannot be started.
        """
        patience_s, pause_s = min(self.patience_s, may_wait_s(stop, self.left_s())), self.again_s
        give_up_s = time.monotonic() + patience_s
        while True:
            try:
                job_id = self.runner.submit(job)
                break
            except SubmitError as error:
                if not error.transient or time.monotonic() + pause_s > give_up_s:
                    raise
                if pause_s == self.again_s:
                    self.listener(Notice(f"{error}: trying again for at most {duration(patience_s)}."))
            next_s = time.monotonic() + pause_s
            while time.monotonic() < next_s:
                if stop.requested:
                    return JobStatus(JobState.CANCELLED, message="the run was cancelled")
                time.sleep(POLL_S)
            pause_s = min(LONGEST_PAUSE_S, 1.5 * pause_s)
        return self._watched(job, job_id, watch, stop, begins_s)

    def _watched(self, job: Job, job_id: JobId, watch: LaunchWatch, stop: Stopping, begins_s: float) -> JobStatus:
        """Wait for the end of a job, watching it."""
        watch.job_id = job_id
        tail = Tail(RunPaths(job.directory).stderr)
        began_s, silent_s = time.monotonic(), SHORT_WAIT_S
        begin = _Begin(job, job_id, self.machine.program.prints_at_once, began_s + begins_s)
        while True:
            status = self.runner.poll([job_id])[job_id]
            waits, waited_s = status.state is JobState.QUEUED, time.monotonic() - began_s
            watch.look(parse_panels("\n".join(tail.lines())), stop)
            if status.state.final:
                return status
            if waits:
                begin.deadline_s = time.monotonic() + begins_s
            if stop.at_once or watch.over or watch.decision is not None:
                self.runner.cancel([job_id])
            elif begin.missed():
                self.runner.cancel([job_id])
                return self._never_begun(job, self.runner.poll([job_id])[job_id], begin.sentence(begins_s))
            elif waits and may_wait_s(stop, self.left_s()) <= 0:
                self.listener(Notice("The run was still waiting for its nodes, so it is cancelled."))
                self.runner.cancel([job_id])
                if not stop.requested:
                    message = f"{status.message}; it was given up after {duration(waited_s)} in the queue"
                    return replace(status, state=JobState.FAILED, event=Mishap.NO_NODES, message=message)
            elif waits and status.message and waited_s >= silent_s:
                self.listener(Notice(f"{status.message}, for {duration(waited_s)} so far."))
                silent_s = waited_s + max(WORDS_PAUSE_S, WORDS_SHARE * waited_s)
            time.sleep(POLL_S)

    def _never_begun(self, job: Job, ended: JobStatus, sentence: str) -> JobStatus:
        """The status of a job whose ranks did not begin, with the hosts between which there is no way."""
        closed = ""
        if job.nodes and self.machine.nodes is not None and ended.event is None:
            from runners.readiness.networks import ways_between  # noqa: PLC0415 - only a cluster needs it

            closed = ways_between(self.machine.nodes.cluster.reach, job.nodes, job.nodes, job.interfaces)[0]
        return replace(
            ended,
            state=JobState.FAILED,
            event=ended.event or (Mishap.NO_WAY if closed else Mishap.NO_START),
            message="; ".join(filter(None, (sentence, closed, ended.message if ended.event else ""))),
        )

    def _said(self, paths: RunPaths) -> str:
        """What the run said on its standard error; copies on nodes are named as the files are here."""
        said = paths.read_stderr()
        if self.machine.nodes is None:
            return said
        from runners.hosts.copies import named_as_here  # noqa: PLC0415 - only a cluster needs it

        return named_as_here(said)


@dataclass
class _Begin:
    """Whether the ranks of a job have begun.

    Attributes:
        prints_at_once: as HPL does; another program may print late.
        deadline_s: until then they must have, by the monotonic clock.
    """

    job: Job
    job_id: JobId
    prints_at_once: bool
    deadline_s: float
    seen: bool = False

    def missed(self) -> bool:
        """Whether no rank has begun until the deadline.

        A program that may print late has begun if there is a rank, which only this machine can tell.
        """
        if self.seen or time.monotonic() < self.deadline_s:
            return False
        stdout = RunPaths(self.job.directory).stdout
        printed = stdout.exists() and stdout.stat().st_size > 0
        self.seen = printed or (not self.prints_at_once and bool(self.job.nodes or use_of_ranks(self.job_id)[0]))
        return not self.seen

    def sentence(self, begins_s: float) -> str:
        """The sentence that no rank has begun, with the launcher's own words."""
        words = message(RunPaths(self.job.directory).last_words())
        return f"no rank began within {duration(begins_s)}{f': {words}' if words else ''}"


def _sampled(job: Job) -> Job:
    """The same job, with what tells its ranks that they shall measure what the machine does."""
    globs = [glob for sensor in FILE_SENSORS for glob in sensor.globs]
    (job.directory / SENSORS_FILE).write_text("".join(f"{glob}\n" for glob in globs), encoding="utf-8")
    return replace(job, environment={**job.environment, SENSORS: SENSORS_FILE}, inputs=(*job.inputs, SENSORS_FILE))


def _told(stderr: str, runs: int) -> Mapping[int, SolveConditions]:
    """What ranks told of each run; one that does not tell its solves apart tells only of the only run of a launch."""
    told = parse_conditions(stderr)
    return {0: told[WHOLE]} if runs == 1 and WHOLE in told else told


def _inputs(plan: TrialPlan) -> tuple[str, ...]:
    """The names of the files that the program reads."""
    return (plan.program.workload.input_name,) if plan.program.terms.reads_file else ()


def timed(machine: Inventory, search: SearchPaths, listener: Listener) -> Inventory:
    """Time dgemm on nodes that are known now; this host stands for those that a batch system chooses later."""
    if not machine.node_names:
        what = "Timing {}: dgemm with each kernel this CPU can run".format
        return with_kernel_rates(machine, search, lambda blas: listener(Notice(what(blas), detail=True, doing=True)))
    from ..machine.kernels import with_node_kernels  # noqa: PLC0415 - only a cluster needs it

    what = "Timing {} on {}: dgemm with each kernel of its CPU".format
    found, notices = with_node_kernels(
        machine, search, lambda blas, node: listener(Notice(what(blas, node), detail=True, doing=True))
    )
    for notice in notices:
        listener(notice)
    return found


def memory_shortage(plan: TrialPlan, machine: Inventory) -> str | None:
    """The sentence why this plan would make the machine swap or kill the run, or None where it fits."""
    free = machine.free_bytes() * len(plan.launch.nodes or machine.node_names or [""]) // machine.node_count
    if plan.memory_bytes <= free:
        return None
    N, where = max(run.N for run in plan.runs), "on the GPUs" if matrix_on_gpus(machine) else "free now"
    needs = f"needs {gibibytes(plan.memory_bytes)}, but only {gibibytes(free)} of memory are {where}"
    if plan.program.terms.lacks("N"):
        return f"the run {needs}: choose fewer equations of a rank, or end other programs"
    return f"N={N} {needs}: choose a smaller N or end other programs"
