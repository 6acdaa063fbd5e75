"""`hpltune run --cluster` with a virtual cluster: one HPL.dat, simulated."""

from hpl.dat import HplDat
from hpl.params import Scalar
from results.record import TrialRecord
from results.store.store import Store

from ...errors import TunerError, UsageError
from ...events import Listener, Notice, TrialEnded
from ...simulation.cluster import SimulatedCluster, cluster_from
from ...simulation.session import facts_of
from ...simulation.simulator import Simulator
from ...stopping import StopRequest
from ...study.file_run import FileBook, key_of
from ...study.lifecycle import begin_runs, closing_study
from ...trial.ask_and_tell import ListedPoint, ask_and_tell, start_point
from ...trial.launch import LaunchLimits, LaunchOutcome
from ...trial.launching import Launching
from ...words import counted
from ..session import open_session
from .run import RunRequest, RunResult, like_trial, read_dat


def simulate(request: RunRequest, listener: Listener, stop: StopRequest) -> RunResult:
    """Simulate a file on a virtual cluster; every run in it becomes a simulated record of a new study "run-NAME-K".

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the simulations.
    """
    dat, _ = read_dat(request.file)
    with open_session(request.db, listener, stop) as session:
        store, options = session.store, request.options
        for caution in dat.cautions:
            session.listener(Notice(f"{request.file}: {caution}.", caution=True))
        with stop.preparing():
            cluster = cluster_from(options.cluster or {})
            site = SimulatedCluster.open(cluster, session.user_dirs, options.hpl_source, listener)
        how = _how(request, dat, site, store)
        listener(Notice(f"Simulated: {request.file} on {site.cluster.name} with {how['blas']}; nothing is measured."))
        study = begin_runs(store, options, facts_of(options, site), request.file)
        session.cautions.begun(study)
        book = FileBook(store, study, session.runs)
        with closing_study(study, store, stop):
            launching = Launching(sites=[Simulator(site, 1)], book=book, listener=listener, stop=stop)
            limits, records = LaunchLimits(limit_s=request.walltime_s), list[TrialRecord]()

            def tell(done: LaunchOutcome) -> None:
                records.extend(done.in_order)
                listener(TrialEnded(records[-1]))

            ask_and_tell(
                launching,
                stop,
                ask=(
                    ListedPoint(params=params, key=key_of(params), limits=limits, repeat=repeat)
                    for repeat in range(request.repeats)
                    for run in dat.runs()
                    for params in ({**run.words(), **how, "layout": f"{run.ranks}x1"},)
                ),
                start=lambda point: start_point(launching, study, point),
                tell=tell,
            )
        return RunResult(store.study(study), tuple(records), stop.requested)


def _how(request: RunRequest, dat: HplDat, site: SimulatedCluster, store: Store) -> dict[str, Scalar]:
    """What HPL.dat does not say: the BLAS that was asked for or the cluster's first, or as the trial it shall be like.

    Raises:
        TunerError: the cluster has no such BLAS or too few cores.
    """
    cluster, model = site.cluster, like_trial(request.like, store) if request.like else None
    if dat.ranks > cluster.cores:
        raise UsageError(
            f"{request.file} needs {counted(dat.ranks, 'rank')}, "
            f"but {cluster.name} has {counted(cluster.cores, 'core')}: "
            "change its Ps and Qs, or choose a larger cluster"
        )
    named = request.options.blas_only[0] if request.options.blas_only else None
    blas = named or (str(model.params["blas"]) if model and model.simulated else next(iter(cluster.blas)))
    if blas not in cluster.blas:
        raise TunerError(f"{cluster.name} has no BLAS {blas}: it has {', '.join(cluster.blas)}; name one with ⟦blas⟧")
    network: dict[str, Scalar] = {}
    if model and model.simulated:
        network = {name: value for name, value in model.params.items() if name.startswith("net.")}
    return {"blas": blas, "kernel": "auto", **network}
