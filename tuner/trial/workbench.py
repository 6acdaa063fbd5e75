"""What every command that runs HPL needs: the machine, HPL's source, a runner, and built programs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from hpl.programs.registry import obtain, with_source
from hpl.search_paths import SearchPaths
from search_spaces.parameters.automatic import AUTO

from ..errors import TunerError, UsageError
from ..events import BuildStep, Listener, Notice
from ..machine.equipment import PROGRAM
from ..machine.inventory import Inventory, bringing
from ..machine.mpi_start import require_start
from ..machine.survey import (
    SurveyWish,
    computes_on_gpus,
    program_of,
    programs_of,
    survey,
    usable_mpis,
)
from ..options import TuneOptions
from ..user_dirs import UserDirs
from ..words import counted, listed

if TYPE_CHECKING:
    from runners.base import Runner
    from runners.hosts.cluster import Cluster

    from .evaluate import Evaluator
    from .observers.energy.meters import PowerMeters


@dataclass(frozen=True)
class Workbench:
    """The machine as found, and the evaluator that runs plans on it.

    Attributes:
        site: what one trial runs on.
        others: evaluators on further parts of the cluster, as large as the site.
        whole: all nodes of a cluster; None for this machine.
        runner: makes a runner for a part of the cluster.
    """

    user_dirs: UserDirs
    site: Inventory
    evaluator: "Evaluator"
    others: "tuple[Evaluator, ...]" = ()
    whole: Inventory | None = None
    runner: "Callable[[], Runner] | None" = None

    @classmethod
    def open(
        cls,
        options: TuneOptions,
        user_dirs: UserDirs,
        listener: Listener,
        *,
        probing: bool = True,
        leave_out: bool = False,
        starting: bool = True,
    ) -> "Workbench":
        """Look at the machine and get HPL's source; the nodes of a cluster are asked before anything is timed.

        Args:
            leave_out: go on without nodes of a cluster that do not answer.
            probing: time the BLAS libraries, which plans without a given kernel need.
            starting: runs will be started, so make sure that MPI starts ranks on this machine.

        Raises:
            hpl.errors.HplError: MPI, a BLAS or the source is missing; the sentence says what to do.
            TunerError: a BLAS that was asked for is not on this machine, or MPI or a wrapper starts no ranks.
        """
        from runners.forwarded import load_modules  # noqa: PLC0415 - who only looks around runs nothing
        from runners.local import LocalRunner  # noqa: PLC0415 - who only looks around runs nothing
        from runners.registry import InstalledMpi, launchers  # noqa: PLC0415

        from .evaluate import Evaluator, timed  # noqa: PLC0415

        search = SearchPaths(prefix=user_dirs.prefix, cache=user_dirs.cache)
        cluster = cluster_of(options)
        load_modules(cluster.modules if cluster else ())
        container = None
        if options.image:
            from ..machine.containers import container_of, in_container  # noqa: PLC0415 - only an image needs it

            container = container_of(options, cluster, user_dirs)
        meters = require_usable(options, cluster, starting=starting)
        _require_starts(options, search, wanted=starting and cluster is None)
        machine = look_around(options, user_dirs, listener, probing=probing and cluster is None)
        machine = in_container(machine, container, options, search, listener) if container else machine
        machine = replace(machine, wrap=_wrap(options, cluster))
        starters = launchers(InstalledMpi(mpi.name, mpi.mpirun, mpi.version) for mpi in machine.mpis)
        if cluster is None:
            machine = _with_sources(machine, search, options)
            return cls(
                user_dirs, machine, Evaluator(machine, search, LocalRunner(starters), listener=listener, meters=meters)
            )
        from runners.batch.allocation import SILENCE_S  # noqa: PLC0415 - only a cluster needs it
        from runners.hosts.copies import copies_for  # noqa: PLC0415 - only a cluster needs it
        from runners.hosts.ssh import SshRunner  # noqa: PLC0415 - only a cluster needs it

        from ..machine.batch_nodes import batch_runner, survey_batch  # noqa: PLC0415 - only a cluster needs it
        from ..machine.cluster_nodes import survey_nodes  # noqa: PLC0415 - only a cluster needs it

        if cluster.batch:
            whole, notices = survey_batch(cluster, cluster.batch, machine)
        else:
            bad = options.nodes_left_out
            whole, notices = survey_nodes(cluster, machine, user_dirs.shared, leave_out=leave_out, without=bad)
        for notice in notices:
            listener(notice)
        if probing and not whole.gpus:
            whole = timed(whole, search, listener)
        whole = _with_sources(whole, search, options)
        if options.rpeak_gflops is not None:
            whole = replace(whole, rpeak=whole.rpeak.overruled(options.rpeak_gflops))

        def runner() -> "Runner":
            if cluster.batch and whole.nodes:
                return batch_runner(whole.nodes, starters, user_dirs.data)
            return SshRunner(starters, cluster.reach, cluster.check_s, copies_for(cluster, user_dirs.copies))

        patience_s = SILENCE_S if cluster.batch else 0.0
        evaluator = Evaluator(whole, search, runner(), listener=listener, patience_s=patience_s, meters=meters)
        workbench = cls.on(whole, options.parallel, user_dirs, evaluator, runner)
        if workbench.others:
            nodes = f"{counted(workbench.site.node_count, 'node')} of its own"
            listener(Notice(f"{counted(1 + len(workbench.others), 'trial')} at a time, each on {nodes}."))
        return workbench

    @classmethod
    def on(
        cls,
        whole: Inventory,
        parallel: int,
        user_dirs: UserDirs,
        evaluator: "Evaluator",
        runner: "Callable[[], Runner]",
    ) -> "Workbench":
        """A workbench with so many equal parts of a cluster, each with a runner of its own."""
        from ..machine.cluster_nodes import part_of  # noqa: PLC0415 - only a cluster needs it

        parts = min(parallel, len(whole.node_names)) if whole.node_names else parallel
        machines = [part_of(whole, number, parts) for number in range(parts)]
        meters = evaluator.meters.of_a_part() if evaluator.meters and parts > 1 else evaluator.meters
        first, *others = (replace(evaluator, machine=machine, runner=runner(), meters=meters) for machine in machines)
        return cls(user_dirs, first.machine, first, tuple(others), whole, runner)

    def close(self) -> None:
        """End whatever still runs, and give nodes back."""
        for evaluator in (self.evaluator, *self.others):
            evaluator.runner.close()

    def without(self, lost: Sequence[str]) -> "Workbench":
        """The workbench on the nodes that are left, in as many parts as before where there are enough.

        Raises:
            TunerError: none is.
        """
        if self.whole is None or self.runner is None:
            raise TunerError("this machine is the only node")
        from ..machine.cluster_nodes import without_nodes  # noqa: PLC0415 - only a cluster needs it

        self.close()
        return self.on(
            without_nodes(self.whole, lost), 1 + len(self.others), self.user_dirs, self.evaluator, self.runner
        )

    def build(
        self, names: Sequence[str], threads: Sequence[int], listener: Listener, mpis: Sequence[str] = ("",)
    ) -> None:
        """Build an xhpl for each MPI and BLAS, in its builds for these numbers of threads; cached ones cost nothing.

        Raises:
            hpl.build.programs.BuildError: with the compiler's first message.
        """
        brought = bringing(self.site)
        libraries = {
            entry.library(count).path: entry.library(count)
            for entry in [
                self.site.named(name) for name in names if self.site.program.takes_blas and name not in brought
            ]
            for count in threads
            if count == 1 or entry.threaded
        }
        built = [program for program in self.site.programs.values() if program.built] or [self.site.program]
        for program, library, mpi in product(built, libraries.values(), mpis):
            program.ready(
                self.site.mpi_named(mpi), library, self.evaluator.search, lambda *step: listener(BuildStep(*step))
            )


def _with_sources(machine: Inventory, search: SearchPaths, options: TuneOptions) -> Inventory:
    """The same with the sources that its programs are built from.

    Raises:
        hpl.build.source.SourceError: one could not be obtained.
        UsageError: none of several programs is built from the source that the user named.
    """
    source = options.hpl_source
    if not machine.programs:
        return replace(machine, program=with_source(machine.program, search, source))
    named = not options.shootout or PROGRAM in (options.overrides or {})
    found = {
        name: with_source(program, search, source, of_its_family=named) for name, program in machine.programs.items()
    }
    programs = {program.name if program.built else name: program for name, program in found.items()}
    if source is not None and (kind := obtain(search, source).kind) not in programs:
        why = f"this is the source of {kind}, and {listed(list(programs))} are built from none of it"
        raise UsageError(why, field="hpl_source", given=source)
    return replace(machine, program=next(iter(programs.values())), programs=programs)


def _wrap(options: TuneOptions, cluster: "Cluster | None") -> tuple[str, ...]:
    """The words before the program of every rank: those asked for, else those of the cluster's file."""
    return options.wrap or (cluster.wrap if cluster else ())


def require_usable(options: TuneOptions, cluster: "Cluster | None", *, starting: bool = True) -> "PowerMeters":
    """Make sure that programs which the user names beside HPL can be used: wrappers, and what tells the power.

    Args:
        starting: runs will be started.

    Returns:
        What tells the power.

    Raises:
        TunerError: one starts nothing, or tells no power.
    """
    from .observers.energy.contract import COMMANDED  # noqa: PLC0415 - who only looks around measures nothing
    from .observers.energy.meters import PowerMeters  # noqa: PLC0415

    if starting and (wrap := _wrap(options, cluster)):
        from ..machine.rank_start import require_wrap  # noqa: PLC0415 - only a wrapper needs it

        require_wrap(wrap, cluster)
    found = PowerMeters.found(cluster, options.power_command)
    why = found.refused.get(COMMANDED)
    if options.power_command and why:
        raise UsageError(f"this {why}", field="power_command", given=options.power_command)
    return found


def _require_starts(options: TuneOptions, search: SearchPaths, *, wanted: bool) -> None:
    """Make sure that MPI libraries start ranks on this machine: those asked for, else the first.

    Raises:
        TunerError: one starts none.
    """
    mpis = usable_mpis(search, program_of(options)) if wanted else ()
    asked = (options.overrides or {}).get("mpi", ())
    for mpi in tuple(mpi for mpi in mpis if mpi.name in asked) or mpis[:1]:
        require_start(mpi, search)


def cluster_of(options: TuneOptions) -> "Cluster | None":
    """The real cluster of a study, with what a check of its nodes found out; None for this machine.

    Raises:
        runners.toml_file.ClusterFileError: it is from another version and cannot be read by this one.
    """
    if options.real_cluster is None:
        return None
    from runners.hosts.cluster import stored_cluster  # noqa: PLC0415 - only a cluster needs it

    cluster = stored_cluster(options.real_cluster)
    if options.rpeak_gflops is not None and computes_on_gpus(options):
        cluster = cluster.with_peak(options.rpeak_gflops)
    if cluster.batch and options.nodes_left_out:
        return cluster.model_copy(update={"batch": cluster.batch.without(options.nodes_left_out)})
    return cluster.model_copy(update={"speeds": options.node_speeds}) if options.node_speeds else cluster


def measures_power(options: TuneOptions) -> bool:
    """Whether something tells the power of the machine that a study is for.

    Raises:
        runners.toml_file.ClusterFileError: as `cluster_of`.
    """
    return bool(require_usable(options, cluster_of(options), starting=False).sources)


def look_around(options: TuneOptions, user_dirs: UserDirs, listener: Listener, *, probing: bool = True) -> Inventory:
    """The machine as the options want it seen.

    Raises:
        hpl.errors.HplError: MPI or a BLAS is missing; the sentence says what to do.
        TunerError: a BLAS that was asked for is not on this machine.
    """
    told = "Timing {}: dgemm with each kernel this CPU can run".format
    return survey(
        SearchPaths(prefix=user_dirs.prefix, cache=user_dirs.cache),
        SurveyWish(
            extra_blas=options.blas_files or {},
            only=options.blas_only,
            asked=[name for name in (options.overrides or {}).get("blas", ()) if name != AUTO],
            program=program_of(options),
            programs=programs_of(options),
            rpeak_gflops=options.rpeak_gflops,
            elsewhere=(options.real_cluster or {}).get("backend") == "ssh",
        ),
        (lambda blas: listener(Notice(told(blas), detail=True, doing=True))) if probing else None,
    )
