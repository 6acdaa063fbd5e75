"""`hpltune run --cluster` with a virtual cluster: one HPL.dat, simulated."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

from hpl.dat import HplDat
from hpl.params import Scalar
from results.record import SIMULATOR, Invalidity, Kind, Study, TrialRecord
from results.store.store import Store
from runners.errors import RunnerError

from ..errors import TunerError, UsageError
from ..events import Listener, Notice, TrialEnded, TrialStarted
from ..simulation.cluster import SimulatedCluster, cluster_from
from ..simulation.plan import virtual_plan
from ..simulation.session import facts_of
from ..simulation.simulator import Simulator
from ..stopping import StopRequest
from ..study.lifecycle import closing_study
from ..study.names import create_unnamed
from ..study.run_folders import study_folder
from ..study.session import StudyContext
from ..trial.judge import Failure
from ..trial.plan import PlanError, label
from ..trial.records import finished, rejected, started
from ..words import counted
from .run import RunRequest, RunResult, like_trial, read_dat
from .session import open_session


def simulate(request: RunRequest, listener: Listener, stop: StopRequest) -> RunResult:
    """Simulate a file on a virtual cluster; every run in it becomes a simulated record of a new study "run-NAME-K".

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the simulations.
    """
    dat, _ = read_dat(request.file)
    with open_session(request.db, listener, stop) as session:
        store, options = session.store, request.options
        for caution in dat.cautions:
            listener(Notice(f"Caution: {request.file}: {caution}."))
        with stop.preparing():
            cluster = cluster_from(options.cluster or {})
            site = SimulatedCluster.open(cluster, session.user_dirs, options.hpl_source, listener)
        how = _how(request, dat, site, store)
        listener(Notice(f"Simulated: {request.file} on {site.cluster.name} with {how['blas']}; nothing is measured."))
        study = _new_study(request, site, store)
        simulator = Simulator(site, 1, request.walltime_s)
        records: list[TrialRecord] = []
        with closing_study(study, store):
            try:
                for repeat, run in product(range(request.repeats), dat.runs()):
                    if stop.requested:
                        break
                    records.append(_simulate(study, {**run.words(), **how}, repeat, simulator, session.context))
            finally:
                simulator.close()
        store.end_study(study, "interrupted" if stop.requested else "complete")
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
        raise TunerError(f"{cluster.name} has no BLAS {blas}: it has {', '.join(cluster.blas)}; name one with --blas")
    network: dict[str, Scalar] = {}
    if model and model.simulated:
        network = {name: value for name, value in model.params.items() if name.startswith("net.")}
    return {"blas": blas, "kernel": "auto", **network}


def _new_study(request: RunRequest, site: SimulatedCluster, store: Store) -> str:
    facts = facts_of(request.options, site)
    return create_unnamed(
        store,
        Study(
            name=f"run-{request.file.stem}",
            created_at=datetime.now(UTC),
            space_name=str(request.file),
            space_text="",
            engine="run",
            options=request.options.to_json(),
            host=facts.host,
            rpeak_gflops=facts.rpeak_gflops,
            price_usd=facts.price_usd,
            power_w=facts.power_w,
            versions=facts.versions,
        ),
    )


def _simulate(
    study: str, words: Mapping[str, Scalar], repeat: int, simulator: Simulator, bench: StudyContext
) -> TrialRecord:
    """Simulate one run and commit its record."""
    P, Q = (int(part) for part in str(words["grid"]).split("x"))
    params: dict[str, Scalar] = {**words, "layout": f"{P * Q}x1"}
    key = " ".join(f"{name}={value}" for name, value in params.items())
    begun = started(study, params, Kind.RUN, key)
    begun = replace(begun, number=bench.store.begin(begun), versions={SIMULATOR: simulator.site.simulator})
    try:
        plan = virtual_plan(params, simulator.site.cluster, key, repeat)
        bench.listener(TrialStarted(begun.number, label(plan.trial), None))
        directory = bench.runs / study_folder(study) / f"{begun.number:05d}"
        record = finished(begun, plan.trial, simulator.run(plan, directory, bench.stop), directory)
    except PlanError as error:
        record = rejected(begun, Failure(Invalidity.CONSTRAINTS, str(error)))
    except RunnerError as error:
        record = rejected(begun, Failure(Invalidity.RUNTIME, str(error)))
    bench.store.finish(record)
    bench.listener(TrialEnded(record))
    return record
