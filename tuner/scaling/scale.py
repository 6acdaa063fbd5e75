"""`hpltune scale`: how HPL scales over the nodes of a cluster, real or virtual, or over the cores of a machine."""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from hpl.sizing import NodeShare, n_for_memory
from results.record import Study, TrialRecord
from results.report.model import Report, Sentence, Tone
from results.store.store import Store
from runners.hosts.cluster import stored_cluster
from runners.toml_file import GIB
from runners.virtual.cluster import RateTable, VirtualCluster

from ..clock import RealClock
from ..commands.session import Session, open_session
from ..commands.set_up import set_up
from ..errors import UsageError
from ..events import CAUTION, Listener, Notice
from ..machine.inventory import Inventory
from ..machine.problem_size import first_choice, full_memory_n, matrix_bytes, natural_nb
from ..machine.survey import require_hpl
from ..nodes.reaching import as_hosts
from ..options import TuneOptions
from ..preflight.looking import before_runs
from ..reports.context import Context
from ..settings.around_study import recover_at_start
from ..simulation.cluster import SimulatedCluster, cluster_from
from ..simulation.session import AFFORDABLE_S, PANEL_RANK_S, USUAL_NB, cores_here, facts_of
from ..simulation.simulator import Simulator
from ..stopping import StopRequest
from ..study.file_run import FileBook
from ..study.lifecycle import SCALE, MachineFacts, begin_runs, closing_study, go_on
from ..study.trust import may_reach, note_named
from ..trial.launching import Launching
from ..trial.workbench import Workbench
from ..tuning.enter import machine_facts
from ..user_dirs import UserDirs
from ..words import counted
from .findings import ScalingContext, ScalingFindings, findings_of
from .report import scaling_facts, scaling_page, scaling_report
from .runs import (
    COUNT,
    Pace,
    ScalingPlan,
    ScalingRuns,
    ScalingSite,
    check_counts,
    estimated_s,
    largest_affordable_n,
    memory_n,
)
from .sites import Choices, RealSite, SimulatedSite, cores_of_each
from .statistics import NodeOrder, Scaling

DEFAULT_TIME_S = 600.0
"""Time for all runs, from which N follows, if nobody gives an N or a time."""
MOST_OF_TIME = 0.8
"""Part of the time that runs are planned for: estimates may be wrong."""


@dataclass(frozen=True)
class ScaleRequest:
    """What is asked of `hpltune scale`.

    Attributes:
        options: the machine or the cluster, its BLAS, and `full` for the whole memory.
        counts: numbers of nodes; none takes 1, 2, 4, … up to all.
        repeats: runs of each kind on each number of nodes.
        n, nb: order of the matrix on the smallest number, and block size; None chooses.
        threads: of each rank.
        depth: of the look-ahead.
        time_s: time for all runs; None for the usual one if N is chosen, and for no limit if it is given.
        study: the study of the runs; None takes a new one.
        command: it does the same again.
    """

    options: TuneOptions
    counts: tuple[int, ...] = ()
    scalings: tuple[Scaling, ...] = tuple(Scaling)
    orders: tuple[NodeOrder, ...] | None = None
    n: int | None = None
    nb: int | None = None
    threads: int = 1
    depth: int = 0
    binding: str = "core"
    time_s: float | None = None
    study: str | None = None
    db: str | None = None
    command: str = ""

    @property
    def repeats(self) -> int:
        """Runs of each kind on each number of nodes."""
        return self.options.repeats


@dataclass(frozen=True)
class ScaleResult:
    """How HPL scales.

    Attributes:
        machine: name of the cluster or of this machine.
        skipped: runs that did not begin.
        interrupted: somebody stopped it; what was measured until then is told.
    """

    study: Study
    machine: str
    plan: ScalingPlan
    findings: ScalingFindings
    skipped: int = 0
    interrupted: bool = False
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all runs count, and no node was lost."""
        return bool(self.findings.results) and not self.findings.failed and not self.findings.lost_nodes

    def report(self) -> Report:
        """The verdict, the table, and the facts for scripts; first how many runs were disturbed, if any."""
        report = self._found()
        text = self.study.notes.disturbed
        disturbed = [Sentence(f"{CAUTION}{text}.", tone=Tone.CAUTION)] if text else []
        facts = {**scaling_facts(self.machine, self.study.name, self.findings), "cautions": self._context.cautions()}
        return replace(report, parts=(*disturbed, *report.parts), facts=facts)

    def page(self) -> Report:
        """The same with figures; it begins with what a reader must know first."""
        return self._context.page(scaling_page(self._found(), self.findings, self.command))

    @property
    def _context(self) -> Context:
        return Context([self.study])

    def _found(self) -> Report:
        return scaling_report(self.machine, self.study.name, self.findings)


def checked_n(n: int, plan: ScalingPlan, site: ScalingSite, asked: int | None) -> ScalingPlan:
    """The plan with an N whose largest matrices fit.

    Args:
        asked: the N that the user gave, or None.

    Raises:
        UsageError: a run cannot be had; the sentence tells why.
    """
    made = replace(plan, n=n)
    for run in replace(made, repeats=1).runs():
        why = site.why_not(run)
        if why:
            raise UsageError(f"a run on {run.count} cannot be had: {why}", field="n" if asked else "", given=asked)
    return made


def stored_n(store: Store, name: str | None) -> tuple[int, int] | None:
    """N on the smallest number of nodes, and NB, of a stored study; None if there is no such study, or no run.

    Raises:
        UsageError: `hpltune scale` did not make the study.
    """
    if name is None or name not in {study.name for study in store.studies()}:
        return None
    if store.study(name).space_name != SCALE:
        raise UsageError("that study is not one of `hpltune scale`: give another name", field="study", given=name)
    records = [record for record in store.records(name) if COUNT in record.params]
    if not records:
        return None
    first = min(records, key=lambda record: (int(record.params[COUNT]), int(record.params["N"])))
    return int(first.params["N"]), int(first.params["NB"])


def begun(store: Store, request: ScaleRequest, options: TuneOptions, machine: MachineFacts) -> str:
    """Begin the study of the runs, or go on with it, and return its name."""
    name = request.study
    if name is None or name not in {study.name for study in store.studies()}:
        return begin_runs(store, options, machine, SCALE, name=name)
    return go_on(store, name, options, run="run").name


def known_runs(store: Store, study: str) -> dict[str, TrialRecord]:
    """The valid runs of a study by their key, with their outputs."""
    return {record.key: record for record in store.records(study, outputs=True) if record.ranked}


def one_blas(names: Sequence[str]) -> str | None:
    """The BLAS that was named; None if none was.

    Raises:
        UsageError: there are several.
    """
    if len(names) > 1:
        raise UsageError(f"scale measures one BLAS at a time, not {', '.join(names)}", field="blas", given="")
    return names[0] if names else None


@dataclass(frozen=True)
class _Prepared:
    """What is known before the first run.

    Attributes:
        node_gflops: what dgemm could do on one node, or on one core of a machine.
    """

    site: RealSite
    plan: ScalingPlan
    node_gflops: float


def scale_real(request: ScaleRequest, listener: Listener, stop: StopRequest) -> ScaleResult:
    """Measure how HPL scales here.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the runs.
    """
    require_hpl(request.options)
    with stop.preparing():
        set_up(request.options, UserDirs.of_user(), listener)
    with open_session(request.db, listener, stop) as session:
        note_named(session.store, session.user_dirs, request.options)
        recover_at_start(session.store, partial(may_reach, session.store, session.user_dirs), listener)
        with _on_hosts(request, session) as options:
            with stop.preparing():
                workbench = Workbench.open(options, session.user_dirs, listener)
            with closing(workbench):
                return _measured(request, _prepared(request, workbench, session), workbench, session)


@contextmanager
def _on_hosts(request: ScaleRequest, session: Session) -> Iterator[TuneOptions]:
    """The options with all nodes as hosts in an order that we choose; a batch system holds them meanwhile."""
    options = request.options
    if options.real_cluster is None:
        yield options
        return
    cluster = stored_cluster(options.real_cluster)
    with as_hosts(cluster, session.user_dirs.data, request.time_s or 0.0, session.listener, session.stop) as hosts:
        yield replace(options, real_cluster=hosts.table())


def _prepared(request: ScaleRequest, workbench: Workbench, session: Session) -> _Prepared:
    """The plan, checked against memory and time."""
    whole = workbench.site
    cluster = whole.nodes is not None
    size, noun = (whole.node_count, "node") if cluster else (whole.host.physical_cores, "core")
    counts = check_counts(request.counts, size, noun, (whole.host.hostname or "this machine"))
    orders = request.orders or (tuple(NodeOrder) if cluster else (NodeOrder.SORTED,))
    if not cluster and NodeOrder.SHUFFLED in orders:
        raise UsageError(
            "one machine has no list of nodes; name a cluster with ⟦cluster⟧", field="order", given="shuffled"
        )
    choices = _choices(request, whole)
    stored = stored_n(session.store, request.study)
    nb = request.nb or (stored[1] if stored else None) or natural_nb(whole, choices.blas)
    choices = replace(choices, nb=nb)
    site = RealSite(workbench.evaluator, choices, names=whole.node_names)
    plan = ScalingPlan(
        counts, request.scalings, orders, request.repeats, request.options.seed, nb, nb, size if cluster else 0
    )
    node_gflops = whole.ceiling_gflops / size
    n = request.n or (stored[0] if stored else None) or _chosen_n(request, plan, whole, node_gflops)
    return _Prepared(site, checked_n(n, plan, site, request.n), node_gflops)


def _choices(request: ScaleRequest, whole: Inventory) -> Choices:
    """BLAS, kernel, threads and binding of all runs."""
    named, first = one_blas(request.options.blas_only), first_choice(whole)
    blas = whole.program.stands_for(named or str(first["blas"]))
    probe = whole.best_probe(blas)
    cores = whole.nodes.cores if whole.nodes else whole.host.physical_cores
    if request.threads > 1 and (whole.nodes is None or cores % request.threads):
        what = (
            f"each node has {counted(cores, 'core')}, which must be a multiple of it"
            if whole.nodes
            else "on one machine ranks are counted, each with one"
        )
        raise UsageError(what, field="threads", given=request.threads)
    return Choices(0, blas, probe.kernel if probe else "auto", request.threads, request.depth, request.binding)


def _chosen_n(request: ScaleRequest, plan: ScalingPlan, whole: Inventory, node_gflops: float) -> int:
    """The largest N that memory and time allow."""
    size = plan.size or whole.host.physical_cores
    free = full_memory_n(whole, NB=plan.nb, P=1, Q=1, fraction=request.options.memory_fraction)

    def holds(count: int) -> int:
        return int(free * math.sqrt(count / size))

    most = memory_n(holds, plan.counts, (*plan.scalings, Scaling.WEAK), plan.nb)
    if request.options.full:
        return most
    limit_s = MOST_OF_TIME * (request.time_s or DEFAULT_TIME_S)
    return largest_affordable_n(lambda n: replace(plan, n=n), node_gflops, limit_s, most)


def _measured(request: ScaleRequest, prepared: _Prepared, workbench: Workbench, session: Session) -> ScaleResult:
    """Run everything in a study, and work out what it tells."""
    store, listener, stop, site = session.store, session.listener, session.stop, prepared.site
    plan, whole = prepared.plan, workbench.whole or workbench.site
    largest_n = max(plan.n_of(scaling, plan.counts[-1]) for scaling in plan.scalings)
    for spoiler in before_runs(whole, session.context.runs, memory_bytes=matrix_bytes(largest_n)):
        listener(Notice(f"{spoiler}.", caution=True))
    with stop.preparing():
        workbench.build([site.choices.blas], [request.threads], listener)
    study = begun(store, request, request.options, machine_facts(request.options, workbench))
    session.cautions.begun(study)
    book = FileBook(store, study, session.context.runs)
    site.study = study
    site.launching = Launching(sites=[site.evaluator], book=book, listener=listener, stop=stop)
    inventory = workbench.site
    runs = ScalingRuns(
        plan=prepared.plan,
        site=site,
        pace=Pace(lambda run: estimated_s(run, prepared.node_gflops)),
        listener=listener,
        stop=stop,
        clock=RealClock(),
        earlier=known_runs(store, study),
        limit_s=request.time_s or (None if request.n or request.options.full else DEFAULT_TIME_S) or math.inf,
    )
    with closing_study(study, store, stop):
        end = runs.run()
    session.cautions.ended()
    rates = {name: {probe.kernel: probe.gflops for probe in probes} for name, probes in inventory.probes.items()}
    found = findings_of(end.records, ScalingContext(prepared.plan, site, rates, depth=request.depth))
    return ScaleResult(
        store.study(study),
        inventory.host.hostname or "this machine",
        prepared.plan,
        replace(found, lost_nodes=end.lost_nodes),
        end.skipped,
        stop.requested,
        request.command,
    )


SHORT = 0.25
"""Of the time that a simulation of a search may take, what the largest one takes here: there are many of them."""


def scale_virtual(request: ScaleRequest, listener: Listener, stop: StopRequest) -> ScaleResult:
    """Simulate how HPL scales on a virtual cluster.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the simulations.
    """
    with open_session(request.db, listener, stop) as session:
        with stop.preparing():
            cluster = cluster_from(request.options.cluster or {})
            opened = SimulatedCluster.open(cluster, session.user_dirs, request.options.hpl_source, listener)
        listener(Notice(f"Simulated: {cluster.name}; nothing is measured."))
        stored = stored_n(session.store, request.study)
        nb = request.nb or (stored[1] if stored else USUAL_NB)
        site = SimulatedSite(cluster, _virtual_choices(request, cluster, nb))
        plan = _plan(request, cluster, nb)
        n = request.n or (stored[0] if stored else None) or _virtual_n(request, plan, cluster)
        return _simulated(request, checked_n(n, plan, site, request.n), site, opened, session)


def _virtual_choices(request: ScaleRequest, cluster: VirtualCluster, nb: int) -> Choices:
    """BLAS of all runs; each has the cluster's first network."""
    blas = one_blas(request.options.blas_only) or next(iter(cluster.blas))
    if blas not in cluster.blas:
        raise UsageError(f"{cluster.name} has {', '.join(cluster.blas)}", field="blas", given=blas)
    return Choices(nb, blas, "auto", depth=request.depth, limit_s=request.options.limit_s)


def _plan(request: ScaleRequest, cluster: VirtualCluster, nb: int) -> ScalingPlan:
    size = len(cluster.node_list)
    counts = check_counts(request.counts, size, "node", cluster.name)
    orders = request.orders or tuple(NodeOrder)
    return ScalingPlan(counts, request.scalings, orders, request.repeats, request.options.seed, nb, nb, size)


def _virtual_n(request: ScaleRequest, plan: ScalingPlan, cluster: VirtualCluster) -> int:
    """The largest N that the memory holds; unless all of it is asked for, one whose simulations end soon."""
    cores = cores_of_each(cluster)
    least = int(min(node.memory_gib for node in cluster.node_list) * GIB)

    def holds(count: int) -> int:
        share = NodeShare(least, cores)
        return n_for_memory([share] * count, fraction=request.options.memory_fraction, NB=plan.nb)

    most = memory_n(holds, plan.counts, plan.scalings, plan.nb)
    if request.options.full:
        return most
    first, last = plan.counts[0], plan.counts[-1]
    affordable = SHORT * AFFORDABLE_S / PANEL_RANK_S / (last * cores) * plan.nb / math.sqrt(last / first)
    return max(plan.nb, min(most, int(affordable)) // plan.nb * plan.nb)


def _simulated(
    request: ScaleRequest, plan: ScalingPlan, site: SimulatedSite, opened: SimulatedCluster, session: Session
) -> ScaleResult:
    """Simulate everything in a study, and work out what it tells."""
    store, stop, cluster = session.store, session.stop, site.cluster
    jobs, exact = request.options.jobs or cores_here(), not cluster.noise.between_runs
    ranks = cores_of_each(cluster)
    study = begun(store, request, request.options, facts_of(request.options, opened))
    book = FileBook(store, study, session.context.runs)
    simulators = [Simulator(opened, jobs)] * jobs
    site.study = study
    site.launching = Launching(sites=simulators, book=book, listener=session.listener, stop=stop)
    with closing_study(study, store, stop):
        runs = ScalingRuns(
            plan=plan,
            site=site,
            pace=Pace(lambda run: (0.3 + PANEL_RANK_S * run.N / plan.nb * run.count * ranks) / jobs),
            listener=session.listener,
            stop=stop,
            clock=RealClock(),
            earlier=known_runs(store, study),
            limit_s=request.time_s or math.inf,
        )
        end = runs.run(exact=exact)
    rates = {name: {"auto": _gflops(cluster, name)} for name in cluster.blas}
    found = findings_of(end.records, ScalingContext(plan, site, rates, exact, request.depth))
    result = ScaleResult(store.study(study), cluster.name, plan, replace(found, simulated=True), end.skipped)
    return replace(result, interrupted=stop.requested, command=request.command)


def _gflops(cluster: VirtualCluster, blas: str) -> float:
    rate = cluster.blas[blas].dgemm_gflops
    return max(map(max, rate.gflops)) if isinstance(rate, RateTable) else rate
