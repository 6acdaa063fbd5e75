"""`hpltune scale` on a virtual cluster: nothing is measured."""

import math
from contextlib import closing
from dataclasses import replace

from hpl.sizing import NodeShare, n_for_memory
from results.record import TrialRecord
from results.stats.scaling.runs import NodeOrder
from runners.toml_file import GIB
from runners.virtual.cluster import RateTable, VirtualCluster

from ..clock import RealClock
from ..errors import UsageError
from ..events import Listener, Notice
from ..scaling.campaign import Pace, ScalingCampaign
from ..scaling.findings import ScalingContext, findings_of
from ..scaling.plan import PlannedRun, ScalingPlan, check_counts, memory_n
from ..scaling.simulated_site import SimulatedSite, VirtualChoices, cores_of_each
from ..scaling.site import ORDER
from ..simulation.cluster import SimulatedCluster, cluster_from
from ..simulation.session import AFFORDABLE_S, PANEL_RANK_S, USUAL_NB, cores_here, facts_of
from ..simulation.simulator import Simulator
from ..simulation.trials import SimulatedTrials
from ..stopping import StopRequest
from ..study.file_book import FileBook
from ..study.lifecycle import closing_study
from ..trial.plan import TrialPlan, label
from .scale import ScaleRequest, ScaleResult, begun, checked_n, known_runs, one_blas, stored_n
from .session import Session, open_session

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
        site = SimulatedSite(cluster, _choices(request, cluster, nb))
        plan = _plan(request, cluster, nb)
        n = request.n or (stored[0] if stored else None) or _chosen_n(request, plan, cluster)
        return _simulated(request, checked_n(n, plan, site, request.n), site, opened, session)


def _choices(request: ScaleRequest, cluster: VirtualCluster, nb: int) -> VirtualChoices:
    """BLAS and network of all runs."""
    blas = one_blas(request.options.blas_only) or next(iter(cluster.blas))
    if blas not in cluster.blas:
        raise UsageError(f"{cluster.name} has {', '.join(cluster.blas)}", field="blas", given=blas)
    return VirtualChoices(nb, blas, cluster.default_network, request.depth)


def _plan(request: ScaleRequest, cluster: VirtualCluster, nb: int) -> ScalingPlan:
    size = len(cluster.node_list)
    counts = check_counts(request.counts, size, "node", cluster.name)
    orders = request.orders or tuple(NodeOrder)
    return ScalingPlan(counts, request.scalings, orders, request.repeats, request.options.seed, nb, nb, size)


def _chosen_n(request: ScaleRequest, plan: ScalingPlan, cluster: VirtualCluster) -> int:
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

    def estimate_s(run: PlannedRun) -> float:
        return (0.3 + PANEL_RANK_S * run.N / plan.nb * run.count * ranks) / jobs

    with closing_study(study, store), closing(Simulator(opened, jobs, request.options.limit_s)) as simulator:
        site.study, site.trials = study, SimulatedTrials(simulator, book, session.listener, stop, named)
        campaign = ScalingCampaign(
            plan=plan,
            site=site,
            pace=Pace(estimate_s),
            listener=session.listener,
            stop=stop,
            clock=RealClock(),
            earlier=known_runs(store, study),
            limit_s=request.time_s or math.inf,
        )
        end = campaign.run(exact=exact)
    store.end_study(study, "interrupted" if stop.requested else "complete")
    rates = {name: {"auto": _gflops(cluster, name)} for name in cluster.blas}
    found = findings_of(end.records, ScalingContext(plan, site, rates, exact, request.depth))
    result = ScaleResult(store.study(study), cluster.name, plan, replace(found, simulated=True), end.skipped)
    return replace(result, interrupted=stop.requested, command=request.command)


def named(plan: TrialPlan, record: TrialRecord) -> str:
    """A simulation in one line, with the order of its nodes."""
    return label(plan, str(record.params.get(ORDER, "")))


def _gflops(cluster: VirtualCluster, blas: str) -> float:
    rate = cluster.blas[blas].dgemm_gflops
    return max(map(max, rate.gflops)) if isinstance(rate, RateTable) else rate
