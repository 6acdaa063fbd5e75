"""`hpltune scale` on this machine, or on the nodes of a real cluster that ssh reaches or a batch system gives."""

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from results.stats.scaling.runs import NodeOrder, Scaling
from runners.hosts.cluster import stored_cluster

from ..clock import RealClock
from ..errors import UsageError
from ..events import Listener, Notice
from ..machine.inventory import Inventory, disturbances
from ..machine.textbook import first_choice, full_memory_n, natural_nb
from ..network.around_study import recover_at_start
from ..options import TuneOptions
from ..provision.setup import provision_if_needed
from ..scaling.campaign import Pace, ScalingCampaign
from ..scaling.findings import ScalingContext, findings_of
from ..scaling.plan import ScalingPlan, check_counts, estimated_s, largest_affordable_n, memory_n
from ..scaling.real_site import RealChoices, RealSite
from ..stopping import StopRequest
from ..study.file_book import FileBook
from ..study.lifecycle import closing_study
from ..study.trust import may_reach, note_named
from ..trial.workbench import Workbench
from ..tuning.enter import machine_facts
from ..user_dirs import UserDirs
from ..words import counted
from .nodes.reaching import as_hosts
from .scale import (
    DEFAULT_TIME_S,
    MOST_OF_TIME,
    ScaleRequest,
    ScaleResult,
    begun,
    checked_n,
    known_runs,
    one_blas,
    stored_n,
)
from .session import Session, open_session


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
    with stop.preparing():
        provision_if_needed(UserDirs.of_user(), listener, request.options.blas_files, program=False)
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
    where = whole.host.hostname or "this machine"
    counts = check_counts(request.counts, size, noun, where)
    orders = request.orders or (tuple(NodeOrder) if cluster else (NodeOrder.SORTED,))
    if not cluster and NodeOrder.SHUFFLED in orders:
        raise UsageError(
            "one machine has no list of nodes; name a cluster with «cluster»", field="order", given="shuffled"
        )
    choices = _choices(request, whole)
    stored = stored_n(session.store, request.study)
    nb = request.nb or (stored[1] if stored else None) or natural_nb(whole, choices.blas)
    choices = replace(choices, nb=nb)
    site = RealSite(workbench.evaluator, choices, session.listener, session.stop, names=whole.node_names)
    plan = ScalingPlan(
        counts, request.scalings, orders, request.repeats, request.options.seed, nb, nb, size if cluster else 0
    )
    node_gflops = whole.ceiling_gflops / size
    n = request.n or (stored[0] if stored else None) or _chosen_n(request, plan, whole, node_gflops)
    return _Prepared(site, checked_n(n, plan, site, request.n), node_gflops)


def _choices(request: ScaleRequest, whole: Inventory) -> RealChoices:
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
    return RealChoices(0, blas, probe.kernel if probe else "auto", request.threads, request.depth, request.binding)


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
    for disturbance in disturbances(workbench.site):
        listener(Notice(f"Caution: {disturbance}."))
    with stop.preparing():
        workbench.build([site.choices.blas], [request.threads], listener)
    study = begun(store, request, request.options, machine_facts(request.options, workbench))
    session.cautions.begun(study)
    site.book = FileBook(store, study, session.context.runs)
    inventory = workbench.site
    usual_s = None if request.n or request.options.full else DEFAULT_TIME_S
    campaign = ScalingCampaign(
        plan=prepared.plan,
        site=site,
        pace=Pace(lambda run: estimated_s(run, prepared.node_gflops)),
        listener=listener,
        stop=stop,
        clock=RealClock(),
        earlier=known_runs(store, study),
        limit_s=request.time_s or usual_s or math.inf,
    )
    with closing_study(study, store):
        end = campaign.run()
    store.end_study(study, "interrupted" if stop.requested else "complete")
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
