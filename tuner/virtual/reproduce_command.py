"""`hpltune reproduce`."""

import json
from dataclasses import dataclass, replace

from results.store import Store
from runners.virtual.load import load_cluster

from ..budget import Budget
from ..database import open_store
from ..events import BuildStep, Listener
from ..options import TuneOptions
from ..places import Places
from ..progress import display, output
from ..stopping import StopRequest, listening
from ..study_names import free_name
from ..tune_command import INTERRUPTED, told
from . import reproduce_report as report
from .published import Published, published
from .reproduce import Found, search, simulate_tests
from .session import Bench, cores_here, sitting
from .site import VirtualSite, cluster_dict


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
    places = Places.of_user()
    slots = request.jobs or cores_here()
    with open_store(request.db, places) as store, listening(told) as stop:
        with display(console) as listener:
            site = VirtualSite.open(
                load_cluster(found_in.cluster), places, None, lambda *step: listener(BuildStep(*step))
            )
            rows = simulate_tests(site, found_in, slots=slots, limit_s=request.limit_s, stop=stop)
        if stop.requested:
            return INTERRUPTED
        if not request.as_json:
            report.show_tests(console, found_in, rows)
            report.show_summary(console, site, found_in, rows)
        found, study = (None, "")
        if request.trials:
            with display(console) as listener:
                found, study = _search(request, found_in, site, store, places, listener, stop)
        if found is not None and not request.as_json:
            report.show_found(console, found_in, rows, found, study)
    if request.as_json:
        print(json.dumps(report.as_json(site, found_in, rows, found), indent=1))
    return INTERRUPTED if stop.requested else 0


def _search(
    request: ReproduceRequest,
    found_in: Published,
    site: VirtualSite,
    store: Store,
    places: Places,
    listener: Listener,
    stop: StopRequest,
) -> tuple[Found | None, str]:
    bench = Bench(store, listener, stop, places.data / "runs")
    options = TuneOptions(
        space=found_in.space,
        engine=request.engine,
        seed=request.seed,
        budget=Budget(trials=request.trials),
        jobs=request.jobs,
        limit_s=request.limit_s,
        cluster=cluster_dict(site.cluster),
    )
    held = {name: [str(value) for value in values] for name, values in found_in.advice.values.items()}
    name = free_name(store, f"reproduce-{request.name}")
    with (
        sitting(name, options, site, bench) as study,
        sitting(f"{name}-advised", replace(options, overrides=held), site, bench) as advised,
    ):
        found = search(study, advised, request.engine, request.seed, found_in)
    return found, name
