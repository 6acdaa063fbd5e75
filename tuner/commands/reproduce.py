"""`hpltune reproduce`."""

import json
from dataclasses import dataclass, replace

from runners.virtual.load import load_cluster

from ..budget import Budget
from ..console.progress import display, output
from ..database import db_option, folder_of, open_store
from ..errors import TunerError
from ..hold_folders import hold_folders
from ..options import TuneOptions
from ..reports import reproduction as report
from ..reports.ranking import print_ranking
from ..signals import announce_stop, stop_on_signals
from ..simulation.cluster import SimulatedCluster, cluster_dict
from ..simulation.reproduction.published import Published, published
from ..simulation.reproduction.reproduce import Found, search, simulate_tests, weighed
from ..simulation.session import cores_here, sitting, why_nothing
from ..study.names import free_name
from ..study.objective import ranking_of
from ..study.session import StudyContext
from ..user_dirs import UserDirs
from .tune import INTERRUPTED


@dataclass(frozen=True)
class ReproduceRequest:
    """The options of `hpltune reproduce`."""

    name: str
    trials: int
    seed: int
    jobs: int | None
    engine: str
    limit_s: float
    db: str | None
    as_json: bool


def run_reproduce(request: ReproduceRequest) -> int:
    """Simulate a publication's tests, then search.

    Returns:
        0, or 130 when the user stopped it.
    """
    found_in = published(request.name)
    console = output(stderr=request.as_json)
    places = UserDirs.of_user()
    slots = request.jobs or cores_here()
    with hold_folders(places), open_store(request.db, places) as store, stop_on_signals(announce_stop) as stop:
        with display(console) as listener:
            with stop.preparing():
                site = SimulatedCluster.open(load_cluster(found_in.cluster), places, None, listener)
            rows = simulate_tests(site, found_in, slots=slots, limit_s=request.limit_s, stop=stop)
        if stop.requested:
            console.print(f"Stopped before all published tests were simulated: {_anew(request)}")
            return INTERRUPTED
        if not request.as_json:
            report.show_tests(console, found_in, rows)
            report.show_summary(console, site, found_in, rows)
        if all(row.simulated.gflops is None for row in rows):
            raise TunerError(f"no simulation gave a result; the last one: {rows[-1].simulated.reason}")
        found, name = None, free_name(store, f"reproduce-{request.name}")
        db = db_option(request.db, store)
        if request.trials:
            with display(console) as listener:
                bench = StudyContext(store, listener, stop, folder_of("runs", store, places))
                found, last = _search(request, found_in, site, name, bench)
        if found is not None and not request.as_json:
            report.show_found(console, found_in, rows, found, f"{name}{db}")
        if stop.requested:
            study = store.study(last)
            ranking = ranking_of(store, study)
            if ranking and not request.as_json:
                print_ranking(console, study, ranking[:1], ranking)
            goes_on = f"`hpltune tune --resume --study {last}{db}` goes on with its search"
            console.print(f"Study {last} was stopped: {goes_on}, {_anew(request)}", soft_wrap=True)
    if request.as_json:
        print(json.dumps(report.as_json(site, found_in, rows, found), indent=1))
    return INTERRUPTED if stop.requested else 0


def _anew(request: ReproduceRequest) -> str:
    return f"`hpltune reproduce {request.name}` begins anew."


def _search(
    request: ReproduceRequest, found_in: Published, site: SimulatedCluster, name: str, bench: StudyContext
) -> tuple[Found | None, str]:
    """Search freely, then as advised; what was found, None where that was stopped, and the study it ended in."""
    options = TuneOptions(
        space=found_in.space,
        engine=request.engine,
        seed=request.seed,
        budget=Budget(trials=request.trials),
        jobs=request.jobs,
        limit_s=request.limit_s,
        cluster=cluster_dict(site.cluster),
    )
    with sitting(name, options, site, bench) as study:
        winner = search(study, request.engine, request.seed)
        settings = () if winner is None else weighed(study, winner, found_in)
    if winner is None and not bench.stop.requested:
        raise TunerError(why_nothing(bench.store, name))
    if winner is None:
        return None, name
    held = {setting: [str(value) for value in values] for setting, values in found_in.advice.values.items()}
    with sitting(f"{name}-advised", replace(options, overrides=held), site, bench) as study:
        advised = search(study, request.engine, request.seed)
    return Found(winner, settings, advised), study.study
