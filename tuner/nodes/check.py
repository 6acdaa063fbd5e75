"""`hpltune nodes check`: whether the nodes of a cluster are ready, each by itself and in groups."""

import platform
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hpl.blas.catalogue import Blas, BlasLibrary
from hpl.blas.registry import discover, family
from hpl.build.link import libraries_of, mpi_library
from hpl.build.programs import Recipe, build, build_start
from hpl.build.toolchain import Mpi
from hpl.errors import HplError
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths
from results.node_check import Finding, Severity, ranges
from results.report.model import Report, Sentence
from runners.hosts.cluster import Cluster, load_real_cluster
from runners.hosts.node_facts import CLONES, NEW_ID
from runners.readiness.fact_table import OddFact, fact_named

from ..asks.nodes import NodesAsk
from ..errors import TunerError, UsageError
from ..events import BuildStep, Listener, WorkEnded, WorkStarted
from ..machine.quiet import QuietWait, longest_wait_s, look_on
from ..machine.survey import usable_mpis
from ..stopping import StopRequest
from ..user_dirs import UserDirs
from ..words import counted
from .measuring import MeasuringPlan, measure
from .reaching import reached
from .report import readiness_page, readiness_report
from .statistics.verdict import ReadinessVerdict, verdict_of
from .steps.groups import AskedGroups, GroupHpl, Groups, group_site
from .steps.registry import MadeSteps, MakeGroups, StepMeans, steps_named
from .steps.step import NodesTarget


@dataclass(frozen=True)
class NodesCheckResult:
    """What a check of nodes found.

    Attributes:
        notes: what else people should know.
        interrupted: somebody stopped it; what was measured until then is judged.
    """

    verdict: ReadinessVerdict
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def report(self) -> Report:
        """The verdict, all results, and notes."""
        report = readiness_report(self.verdict)
        return replace(report, parts=(*report.parts, *map(Sentence, self.notes)))

    def page(self) -> Report:
        """The same with figures."""
        page = readiness_page(self.verdict)
        return replace(page, parts=(*page.parts, *map(Sentence, self.notes)))


def check_asked(ask: NodesAsk) -> None:
    """Refuse what makes no sense together.

    Raises:
        UsageError: something contradicts something else.
    """
    if ask.facts and ask.groups:
        raise UsageError("⟦facts⟧ measures nothing, and ⟦groups⟧ runs HPL: leave one out", field="facts")
    if ask.seed and not ask.groups:
        raise UsageError("⟦seed⟧ draws groups of nodes: add ⟦groups⟧ NODES, or leave it out", field="seed")


USUAL_S = 60.0
"""Seconds that benchmarks of nodes take as a rule, of which a part is waited for quiet nodes."""


def check_nodes(ask: NodesAsk, cluster: Path | None, listener: Listener, stop: StopRequest) -> NodesCheckResult:
    """Ask and measure all nodes at once, and judge them.

    Raises:
        TunerError, HplError, RunnerError: a sentence says what prevents the check.
        tuner.stopping.Interrupted: somebody stopped the wait for nodes.
    """
    groups = _groups(ask, cluster, listener)
    with reached(cluster, listener, stop) as target:
        return check_target(target, ask, listener, stop, groups)


def check_target(
    target: NodesTarget,
    ask: NodesAsk,
    listener: Listener,
    stop: StopRequest,
    groups: MakeGroups | None = None,
) -> NodesCheckResult:
    """Ask and measure nodes, whichever cluster they are of, and judge them.

    Args:
        groups: makes the step that runs HPL on groups of the nodes; None for no groups.

    Raises:
        TunerError, HplError, RunnerError: a sentence says what prevents the check.
    """
    user_dirs = UserDirs.of_user()
    search = SearchPaths(user_dirs.prefix, user_dirs.cache)
    limit_s = 0.0 if ask.facts else longest_wait_s(ask.wait_for_quiet, USUAL_S)
    nodes = [node for node in target.nodes if node not in target.silent]
    quiet = QuietWait(look_on(target.reach, nodes), limit_s, listener, stop)
    means = StepMeans(search, _blas(search, ask.blas), ask.repeats, groups)
    made = MadeSteps(()) if ask.facts else steps_named(ask.benchmarks, means)
    mpi = _mpi(search)
    libraries = [*(library.path for library in means.libraries), *_mpi_files(mpi, search)]
    plan = MeasuringPlan(made.steps, tuple(dict.fromkeys(libraries)), mpi.mpirun if mpi else None)
    try:
        quiet.before("the first benchmark")
        measured = measure(target, plan, listener, stop)
    except OSError as error:
        raise TunerError(f"{error.filename} cannot be read ({error.strerror}): it is copied to the nodes") from error
    verdict = verdict_of(measured.check, [*facts_that_differ(measured.odd), *map(_copies, measured.clones)])
    return NodesCheckResult(verdict, (*made.notes, *measured.notes), interrupted=stop.requested)


def _groups(ask: NodesAsk, file: Path | None, listener: Listener) -> MakeGroups | None:
    """What makes the step that runs HPL on groups of nodes; None where nobody asked for it."""
    if ask.groups is None:
        return None
    cluster = cluster_for_groups(file, ask.groups)
    asked = AskedGroups(ask.groups, ask.repeats, ask.seed)
    return lambda library: groups_step(cluster, asked, library, listener)


def cluster_name(file: Path | None) -> str:
    """Return the name under which a check is kept: of the cluster in its file, or of this machine.

    Raises:
        runners.toml_file.ClusterFileError: the file cannot be used.
    """
    return platform.node() if file is None else load_real_cluster(file).name


def facts_that_differ(odd: Sequence[OddFact]) -> list[Finding]:
    """One finding for each value of a fact that is not as usual, with the command that shows it."""
    groups: dict[tuple[str, str, str], list[OddFact]] = defaultdict(list)
    for one in odd:
        groups[one.fact, one.value, one.usual].append(one)
    found = []
    for (name, value, usual), own in groups.items():
        nodes = tuple(one.node for one in own)
        beside = f", {usual} is usual" if usual else ", and no value is usual"
        sentence = f"{ranges(nodes)}: {fact_named(name).title} is {value}{beside} (`{own[0].show}` shows it)"
        found.append(Finding(Severity.ODD, "other-fact", nodes, name, sentence))
    return found


def _copies(nodes: tuple[str, ...]) -> Finding:
    """What is told of nodes that have one installed system."""
    sentence = f"{ranges(nodes)} {CLONES} (`cat /etc/machine-id` shows it; `{NEW_ID}` makes a new one)"
    return Finding(Severity.ODD, "copied-system", nodes, "machine-id", sentence)


def _blas(search: SearchPaths, name: str | None) -> Blas | None:
    """The BLAS that nodes use; None where there is none at all.

    Raises:
        UsageError: there is no library of this name.
    """
    found = {blas.name: blas for blas in discover(search, {})}
    if name is not None and name not in found:
        raise UsageError(f"this machine has {', '.join(found) or 'no BLAS library'}", field="blas", given=name)
    usual = (one for one in ("openblas", "blis", *found) if one in found)
    return found[name] if name is not None else next((found[one] for one in usual), None)


def _mpi(search: SearchPaths) -> Mpi | None:
    try:
        return usable_mpis(search)[0]
    except (HplError, TunerError):
        return None


def _mpi_files(mpi: Mpi | None, search: SearchPaths) -> list[Path]:
    """The file of the MPI library that runs load: two builds of one version differ there, as with and without UCX."""
    if mpi is None:
        return []
    with suppress(HplError):
        library = mpi_library(build_start(mpi, search))
        return [] if library is None else [library]
    return []


def cluster_for_groups(file: Path | None, size: int) -> Cluster:
    """Read a cluster whose nodes can be grouped.

    Raises:
        UsageError: it has fewer nodes than a group, or others choose its nodes.
        runners.toml_file.ClusterFileError: the file cannot be used.
    """
    if file is None:
        raise UsageError("this machine is one node: name a cluster with ⟦cluster⟧ FILE", field="groups", given=size)
    cluster = load_real_cluster(file)
    if cluster.batch is not None:
        raise UsageError(
            f"{file} is of {cluster.batch.words.title}, through which no groups run yet; write a cluster file with "
            'backend = "ssh" and the hosts of an allocation',
            field="groups",
            given=size,
        )
    if size > cluster.size:
        raise UsageError(f"{cluster.name} has only {counted(cluster.size, 'node')}", field="groups", given=size)
    return cluster


def groups_step(cluster: Cluster, asked: AskedGroups, library: BlasLibrary, listener: Listener) -> Groups:
    """Ask the nodes whether HPL can run on groups of them, and build it.

    Args:
        library: the build of the BLAS for one thread.

    Raises:
        TunerError: too few nodes can; the sentence says why.
        HplError: this machine has no MPI, or HPL cannot be built.
    """
    user_dirs = UserDirs.of_user()
    search = SearchPaths(user_dirs.prefix, user_dirs.cache)
    mpi = usable_mpis(search)[0]
    listener(WorkStarted(f"Asking {counted(cluster.size, 'node')} whether HPL can run on groups of them"))
    try:
        site = group_site(cluster, asked.size, mpi, () if cluster.copies else (library.path,), user_dirs.shared)
    finally:
        listener(WorkEnded())
    recipe = Recipe(obtain(search), mpi, library)
    xhpl = build(recipe, search, on_step=lambda *step: listener(BuildStep(*step)))
    libraries = libraries_of(xhpl.path, library, mpi.variables()) if cluster.copies else ()
    hpl = GroupHpl(site, xhpl.path, family(library.family).environment("auto", 1, library), libraries)
    return Groups(hpl, asked, user_dirs)
