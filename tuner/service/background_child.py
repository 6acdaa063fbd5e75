"""Computes what takes long in a process that yields to all others: `python -m tuner.service.background_child`.

A thread of the service would keep all others from answering. It reads one line of JSON, which says what to compute, and
ends when its standard input does. What computes imports heavy libraries, and only one of them is used: each imports
what it needs when it is called.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, Timer
from typing import Any

from results.store.store import Store

from ..errors import OUR_ERRORS, TunerError
from ..stopping import StopRequest
from ..words import all_with_options

NICEST = 19
"""It takes only what others leave of the machine."""
REFUSED = 65
"""The code of a process that wrote a sentence instead, because what was asked is wrong."""
LONGEST_PREDICTION_S = 60.0
"""Seconds after which a prediction begins no further simulation."""
ONE_SIMULATION_S = 30.0
"""Seconds that one simulation may take."""

Asked = Mapping[str, Any]
"""What is asked: its kind, the database, and what that kind needs."""


def main() -> int:
    """Write to standard output what was asked for; return the code of the process."""
    asked = json.loads(sys.stdin.buffer.readline())
    os.nice(NICEST)
    stop = StopRequest()
    Thread(target=_end_with_the_service, args=(stop, asked["kind"] == "prediction"), daemon=True).start()
    try:
        computed = _computed(asked, stop)
    except OUR_ERRORS as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "backslashreplace"))
        return REFUSED
    sys.stdout.buffer.write(computed)
    return 0


def _end_with_the_service(stop: StopRequest, in_order: bool) -> None:  # noqa: FBT001 - an argument of a thread
    """Wait for the end of standard input; what has started others is asked to end them."""
    os.read(0, 1)
    if in_order:
        stop.ask(at_once=True)
    else:
        os._exit(1)


def _computed(asked: Asked, stop: StopRequest) -> bytes:
    if asked["kind"] == "doctor":
        return doctor_facts()
    if asked["kind"] == "prediction":
        return prediction_facts(asked["design"], stop)
    place = asked["place"] if "://" in asked["place"] else Path(asked["place"])
    with Store.open(place, create=False) as store:
        return OF_STUDIES[asked["kind"]](store, asked)


def doctor_facts() -> bytes:
    """Write what `hpltune doctor --json` tells, without the folders of this machine."""
    from ..commands.hosts.doctor import DoctorRequest, doctor
    from ..messages.plain_paths import facts_without_paths
    from ..user_dirs import UserDirs

    return json.dumps(facts_without_paths(doctor(DoctorRequest(UserDirs.of_user())).report().facts)).encode()


def prediction_facts(design: Asked, stop: StopRequest) -> bytes:
    """Write what `hpltune predict --json` tells of one design; no database keeps its simulations.

    Args:
        design: cluster, space, trials and seed, with network and blas where they are chosen.
    """
    from ..asks.predict import PredictAsk
    from ..commands.predict import PredictRequest, asked_designs, predict
    from ..reports.designs import design_facts

    chosen = {key: design[key] for key in ("network", "blas") if design[key] is not None}
    ask = PredictAsk(
        {"base": design["cluster"], "design": [{"name": design["cluster"], **chosen}]},
        space=design["space"],
        trials=design["trials"],
        seed=design["seed"],
        jobs=1,
        limit=f"{ONE_SIMULATION_S:g}s",
    )
    request = PredictRequest(ask, asked_designs(ask, str))
    with TemporaryDirectory(prefix="hpltune-") as folder:
        limit = Timer(LONGEST_PREDICTION_S, stop.ask)
        limit.daemon = True
        limit.start()
        result = predict(request, lambda _: None, stop, str(Path(folder) / "predict.db"))
        limit.cancel()
        if not result.predictions:
            return b"null"
        told: Any = design_facts(result.predictions)
        return json.dumps({**told[0], "stopped_early": result.interrupted}).encode()


def report_page(store: Store, asked: Asked) -> bytes:
    """Write the report of a study as a page; while it runs, without what matters, as that takes time from runs."""
    from results.report.html import to_html

    from ..commands.stored.report import figure_source
    from ..commands.stored.show import state
    from ..reports.study_page import StudyPage

    study = store.study(asked["name"])
    stands, source = state(study, store), figure_source(store, study)
    if stands == "running":
        source = replace(source, taught=lambda: None, lanes=lambda: None)
    page = StudyPage(study, source, stands)
    return to_html([all_with_options(page.report())], datetime.now(UTC)).encode()


def trial_page(store: Store, asked: Asked) -> bytes:
    """Write the page of one trial, which leads to its campaign, the trials beside it, and its files."""
    from results.report.html import Frame, to_html

    from ..commands.stored.show import TrialRequest, show_trial
    from .pages.frames import SITE, links_of_trial

    found = show_trial(store, TrialRequest(asked["name"], asked["number"]))
    frame = Frame(links_of_trial(found.record, store.count(asked["name"])), SITE)
    return to_html([all_with_options(found.page(store))], frame=frame).encode()


def comparison_page(store: Store, asked: Asked) -> bytes:
    """Write what `hpltune compare` says of studies as a page."""
    from results.report.html import Frame, to_html

    from ..asks.compare import CompareAsk
    from ..commands.stored.compare import compare
    from .pages.frames import SITE

    page = compare(store, CompareAsk(tuple(asked["names"]))).page()
    return to_html([all_with_options(page)], frame=Frame((("Compare others", "/compare"),), SITE)).encode()


def compared(store: Store, asked: Asked) -> bytes:
    """Write what `hpltune compare` prints of studies, or its facts, as JSON without folders of this machine."""
    from ..asks.compare import CompareAsk
    from ..commands.stored.compare import compare
    from ..messages.plain_paths import facts_without_paths
    from ..messages.printed import PrintedModel

    keys = {**asked["keys"], "studies": tuple(asked["keys"]["studies"])}
    report = compare(store, CompareAsk(**keys)).report()
    told = all_with_options(report.facts) if asked["facts"] else json.loads(PrintedModel.of(report).model_dump_json())
    return json.dumps(facts_without_paths(told)).encode()


def parquet_file(store: Store, asked: Asked) -> bytes:
    """Write the trials of a study as Parquet."""
    from ..commands.stored.export import export_parquet

    with TemporaryDirectory(prefix="hpltune-") as folder:
        out = Path(folder) / "study"
        export_parquet(store, asked["name"], out)
        return out.read_bytes()


def explanation(store: Store, asked: Asked) -> bytes:
    """Write what `hpltune explain --json` tells of a study, or the reason why it cannot be explained."""
    from ..commands.stored.explain import ExplainRequest, explain_study

    try:
        found: dict[str, object] = asdict(explain_study(store, ExplainRequest(asked["name"])).found)
    except TunerError as error:
        found = {"reason": str(error)}
    return json.dumps(found, default=str).encode()


OF_STUDIES: Mapping[str, Callable[[Store, Asked], bytes]] = {
    "report": report_page,
    "trial": trial_page,
    "comparison": comparison_page,
    "compared": compared,
    "parquet": parquet_file,
    "explanation": explanation,
}

if __name__ == "__main__":
    sys.exit(main())
