"""`hpltune scale`: how HPL scales over the nodes of a cluster, real or virtual, or over the cores of a machine."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from hpl.params import Scalar
from hpl.sizing import NodeShare, n_for_memory
from results.record import Study
from results.report.model import Report, Sentence, Tone
from results.store.store import Store
from runners.hosts.cluster import stored_cluster
from runners.toml_file import GIB
from runners.virtual.cluster import RateTable, VirtualCluster

from ..commands.session import Session, open_session
from ..commands.set_up import set_up
from ..errors import UsageError
from ..events import CAUTION, Listener, Notice
from ..machine.cluster_nodes import with_nodes
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
from ..study.enter import machine_facts
from ..study.file_run import FileBook
from ..study.lifecycle import SCALE, MachineFacts, begin_runs, closing_study, go_on
from ..study.trust import may_reach, note_named
from ..trial.launching import Launching
from ..trial.workbench import Workbench
from ..user_dirs import UserDirs
from ..words import counted
from .findings import ScalingContext, ScalingFindings, findings_of
from .report import scaling_facts, scaling_page, scaling_report
from .runs import (
    COUNT,
    Pace,
    PlannedRun,
    ScalingPlan,
    ScalingRuns,
    ScalingSite,
    check_counts,
    estimated_s,
    largest_affordable_n,
    memory_n,
)
from .statistics import NodeOrder, Scaling

DEFAULT_TIME_S = 600.0
"""Time for all runs, from which N follows, if nobody gives an N or a time."""
MOST_OF_TIME = 0.8
"""Part of the time that runs are planned for: estimates may be wrong."""


@dataclass(frozen=True)
class ScaleRequest:
    """What is asked of `hpltune scale`.

    Attributes:
        options: the machine or the cluster, its BLAS, `full` for the whole memory, and `repeats` of each kind of run.
        counts: numbers of nodes; none takes 1, 2, 4, … up to all.
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
        report, text = scaling_report(self.machine, self.study.name, self.findings), self.study.notes.disturbed
        cautions = {"cautions": Context([self.study]).cautions()}
        disturbed = [Sentence(f"{CAUTION}{text}.", tone=Tone.CAUTION)] if text else []
        facts = {**scaling_facts(self.machine, self.study.name, self.findings), **cautions}
        return replace(report, parts=(*disturbed, *report.parts), facts=facts)

    def page(self) -> Report:
        """The same with figures; it begins with what a reader must know first."""
        found = scaling_report(self.machine, self.study.name, self.findings)
        return Context([self.study]).page(scaling_page(found, self.findings, self.command))


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


def stored_n(store: Store, name: str) -> tuple[int, int] | None:
    """N on the smallest number of nodes, and NB, of a stored study; None if there is no run.

    Raises:
        UsageError: `hpltune scale` did not make the study.
    """
    if store.study(name).space_name != SCALE:
        raise UsageError("that study is not one of `hpltune scale`: give another name", field="study", given=name)
    runs = [record.params for record in store.records(name) if COUNT in record.params]
    _, *first = min(((int(run[COUNT]), int(run["N"]), int(run["NB"])) for run in runs), default=(0,))
    return (first[0], first[1]) if first else None


def one_blas(names: Sequence[str]) -> str | None:
    """The BLAS that was named; None if none was.

    Raises:
        UsageError: there are several.
    """
    if len(names) > 1:
        raise UsageError(f"scale measures one BLAS at a time, not {', '.join(names)}", field="blas", given="")
    return names[0] if names else None


@dataclass(frozen=True, kw_only=True)
class ScalingPlace:
    """Where a scaling analysis runs, as far as it is known before the first run.

    Attributes:
        name: of the machine or the cluster.
        size: nodes, or cores of one machine.
        site: its block size is not chosen yet.
        usual_nb: what is taken unless somebody says or ran another.
        most_n: the largest N on the smallest number of nodes that the memory holds.
        soon_n: the same, with which the runs end in time.
        usual_s: time for all runs where N is chosen and nobody gives another.
        estimate: seconds that a run with this NB should take, before anything is known.
        jobs: runs at a time.
        begin: prepares the runs of a plan, and returns what the study keeps of the place.
        dgemm_gflops: of one core, by BLAS and kernel.
        exact: a run gives the same each time.
    """

    name: str
    size: int
    site: ScalingSite
    usual_nb: int
    most_n: Callable[[ScalingPlan], int]
    soon_n: Callable[[ScalingPlan, int], int]
    usual_s: float
    estimate: Callable[[PlannedRun, int], float]
    jobs: int = 1
    begin: Callable[[ScalingPlan], MachineFacts]
    dgemm_gflops: Mapping[str, Mapping[str, float]]
    exact: bool = False


def measure_scaling(request: ScaleRequest, listener: Listener, stop: StopRequest) -> ScaleResult:
    """Measure how HPL scales here, or simulate it on a virtual cluster.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the runs.
    """
    virtual = request.options.cluster is not None
    if not virtual:
        require_hpl(request.options)
        with stop.preparing():
            set_up(request.options, UserDirs.of_user(), listener)
    with (
        open_session(request.db, listener, stop) as session,
        (_virtual_place if virtual else _real_place)(request, session) as place,
    ):
        return _scaled(request, place, session)


def _scaled(request: ScaleRequest, place: ScalingPlace, session: Session) -> ScaleResult:
    """Run everything in a study, and work out what it tells."""
    store, stop, site = session.store, session.stop, place.site
    name = request.study if request.study in {study.name for study in store.studies()} else None
    options = request.options
    full, stored = options.full, stored_n(store, name) if name else None
    counts = check_counts(request.counts, place.size, "node" if site.names else "core", place.name)
    orders = request.orders or (tuple(NodeOrder) if site.names else (NodeOrder.SORTED,))
    if not site.names and NodeOrder.SHUFFLED in orders:
        raise UsageError(
            "one machine has no list of nodes; name a cluster with ⟦cluster⟧", field="order", given="shuffled"
        )
    nb = request.nb or (stored[1] if stored else place.usual_nb)
    site = replace(site, own={**site.own, "NB": nb})
    plan = ScalingPlan(counts, request.scalings, orders, options.repeats, options.seed, nb, nb, len(site.names))
    n = request.n or (stored[0] if stored else place.most_n(plan))
    soon = not (request.n or stored or full)
    plan = checked_n(place.soon_n(plan, n) if soon else n, plan, site, request.n)
    facts = place.begin(plan)
    study = (
        go_on(store, name, options, run="run").name
        if name
        else begin_runs(store, options, facts, SCALE, name=request.study)
    )
    session.cautions.begun(study)
    site.study = study
    site.launching = Launching(
        sites=[site.site] * place.jobs,
        book=FileBook(store, study, session.runs),
        listener=session.listener,
        stop=stop,
    )
    runs = ScalingRuns(
        plan=plan,
        site=site,
        pace=Pace(lambda run: place.estimate(run, nb)),
        earlier={record.key: record for record in store.records(study, outputs=True) if record.ranked},
        limit_s=request.time_s or (math.inf if request.n or full else place.usual_s),
    )
    with closing_study(study, store, stop):
        runs.run(exact=place.exact)
    session.cautions.ended()
    found = findings_of(runs.records, ScalingContext(plan, site, place.dgemm_gflops, place.exact, request.depth))
    found = replace(found, lost_nodes=tuple(runs.lost), simulated=bool(site.site.simulator))
    skipped = runs.skipped + runs.missed
    return ScaleResult(store.study(study), place.name, plan, found, skipped, stop.requested, request.command)


@contextmanager
def _real_place(request: ScaleRequest, session: Session) -> Iterator[ScalingPlace]:
    """This machine or a real cluster. A run begins and ends in one call, because HPL must be alone."""
    listener, stop, user_dirs = session.listener, session.stop, session.user_dirs
    note_named(session.store, user_dirs, request.options)
    recover_at_start(session.store, partial(may_reach, session.store, user_dirs), listener)
    with _on_hosts(request, session) as options, ExitStack() as opened:
        with stop.preparing():
            workbench = opened.enter_context(closing(Workbench.open(options, user_dirs, listener)))
        whole, evaluator = workbench.site, workbench.evaluator
        size = whole.node_count if whole.nodes else whole.host.physical_cores
        own, node_gflops = _choices(request, whole), whole.ceiling_gflops / size
        blas = str(own["blas"])

        def most_n(plan: ScalingPlan) -> int:
            free = full_memory_n(whole, NB=plan.nb, P=1, Q=1, fraction=options.memory_fraction)
            scalings = (*plan.scalings, Scaling.WEAK)
            return memory_n(lambda count: int(free * math.sqrt(count / size)), plan.counts, scalings, plan.nb)

        def soon_n(plan: ScalingPlan, most: int) -> int:
            limit_s = MOST_OF_TIME * (request.time_s or DEFAULT_TIME_S)
            return largest_affordable_n(lambda n: replace(plan, n=n), node_gflops, limit_s, most)

        def begin(plan: ScalingPlan) -> MachineFacts:
            largest_n = max(plan.n_of(scaling, plan.counts[-1]) for scaling in plan.scalings)
            there, folder = workbench.whole or whole, session.runs
            for spoiler in before_runs(there, folder, memory_bytes=matrix_bytes(largest_n)):
                listener(Notice(f"{spoiler}.", caution=True))
            with stop.preparing():
                workbench.build([blas], [request.threads], listener)
            return machine_facts(request.options, workbench)

        yield ScalingPlace(
            name=whole.host.hostname or "this machine",
            size=size,
            site=ScalingSite(
                evaluator,
                own,
                on=lambda names: replace(evaluator, machine=with_nodes(whole, names)),
                threads=request.threads,
                cores=whole.nodes.cores if whole.nodes else 1,
                names=whole.node_names,
            ),
            usual_nb=natural_nb(whole, blas),
            most_n=most_n,
            soon_n=soon_n,
            usual_s=DEFAULT_TIME_S,
            estimate=lambda run, _: estimated_s(run, node_gflops),
            begin=begin,
            dgemm_gflops={
                name: {probe.kernel: probe.gflops for probe in probes} for name, probes in whole.probes.items()
            },
        )


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


def _choices(request: ScaleRequest, whole: Inventory) -> dict[str, Scalar]:
    """BLAS, kernel, look-ahead and binding of all runs; with look-ahead HPL does not time the broadcast apart."""
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
    kernel = probe.kernel if probe else "auto"
    return {"blas": blas, "kernel": kernel, "DEPTH": request.depth, "binding": request.binding}


SHORT = 0.25
"""Of the time that a simulation of a search may take, what the largest one takes here: there are many of them."""


@contextmanager
def _virtual_place(request: ScaleRequest, session: Session) -> Iterator[ScalingPlace]:
    """A virtual cluster whose nodes have the same number of cores; each run has its first network."""
    options = request.options
    with session.stop.preparing():
        cluster = cluster_from(options.cluster or {})
        opened = SimulatedCluster.open(cluster, session.user_dirs, options.hpl_source, session.listener)
    session.listener(Notice(f"Simulated: {cluster.name}; nothing is measured."))
    blas = one_blas(options.blas_only) or next(iter(cluster.blas))
    if blas not in cluster.blas:
        raise UsageError(f"{cluster.name} has {', '.join(cluster.blas)}", field="blas", given=blas)
    cores, jobs = cores_of_each(cluster), options.jobs or cores_here()
    share = NodeShare(int(min(node.memory_gib for node in cluster.node_list) * GIB), cores)
    simulator, names = Simulator(opened, jobs), tuple(f"n{number}" for number in range(len(cluster.node_list)))

    def most_n(plan: ScalingPlan) -> int:
        def holds(count: int) -> int:
            return n_for_memory([share] * count, fraction=options.memory_fraction, NB=plan.nb)

        return memory_n(holds, plan.counts, plan.scalings, plan.nb)

    def soon_n(plan: ScalingPlan, most: int) -> int:
        first, last = plan.counts[0], plan.counts[-1]
        affordable = SHORT * AFFORDABLE_S / PANEL_RANK_S / (last * cores) * plan.nb / math.sqrt(last / first)
        return max(plan.nb, min(most, int(affordable)) // plan.nb * plan.nb)

    def gflops(name: str) -> float:
        rate = cluster.blas[name].dgemm_gflops
        return max(map(max, rate.gflops)) if isinstance(rate, RateTable) else rate

    yield ScalingPlace(
        name=cluster.name,
        size=len(names),
        site=ScalingSite(
            simulator,
            {"blas": blas, "kernel": "auto", "DEPTH": request.depth, "net.network": cluster.default_network},
            on=lambda nodes: replace(simulator, order=tuple(map(names.index, nodes))),
            limit_s=options.limit_s,
            cores=cores,
            names=names,
        ),
        usual_nb=USUAL_NB,
        most_n=most_n,
        soon_n=soon_n,
        usual_s=math.inf,
        estimate=lambda run, nb: (0.3 + PANEL_RANK_S * run.N / nb * run.count * cores) / jobs,
        jobs=jobs,
        begin=lambda _: facts_of(options, opened),
        dgemm_gflops={name: {"auto": gflops(name)} for name in cluster.blas},
        exact=not cluster.noise.between_runs,
    )


def cores_of_each(cluster: VirtualCluster) -> int:
    """The cores of each node.

    Raises:
        UsageError: nodes differ, so that their number says little.
    """
    cores = sorted({node.cores for node in cluster.node_list})
    if len(cores) > 1:
        raise UsageError(
            f"{cluster.name} has nodes with {' and '.join(map(str, cores))} cores: their number says little; "
            "take a cluster file with one kind of nodes"
        )
    return cores[0]
