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
from threading import Thread
from typing import TYPE_CHECKING, Any

from results.report.model import Sentence
from results.store.store import Store

from ..errors import OUR_ERRORS, TunerError
from ..words import all_with_options

if TYPE_CHECKING:
    from ..reports.study_page import StudyPage

NICEST = 19
"""It takes only what others leave of the machine."""
FIGURES = 1000
"""So many numbers of figures belong to a part of a page, that no two have the same."""
REFUSED = 65
"""The code of a process that wrote a sentence instead, because what was asked is wrong."""
Asked = Mapping[str, Any]
"""What is asked: its kind, the database, and what that kind needs."""


def main() -> int:
    """Write to standard output what was asked for; return the code of the process."""
    asked = json.loads(sys.stdin.buffer.readline())
    os.nice(NICEST)
    Thread(target=_end_with_the_service, daemon=True).start()
    try:
        computed = _computed(asked)
    except OUR_ERRORS as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "backslashreplace"))
        return REFUSED
    sys.stdout.buffer.write(computed)
    return 0


def _end_with_the_service() -> None:
    """Wait for the end of standard input."""
    os.read(0, 1)
    os._exit(1)


def _computed(asked: Asked) -> bytes:
    place = asked["place"] if "://" in asked["place"] else Path(asked["place"])
    with Store.open(place, create=False) as store:
        return OF_STUDIES[asked["kind"]](store, asked)


def report_page(store: Store, asked: Asked) -> bytes:
    """Write the report of a study as a page."""
    from results.report.html import to_html

    return to_html([all_with_options(_study_page(store, asked["name"]).report())], datetime.now(UTC)).encode()


def tab_part(store: Store, asked: Asked) -> bytes:
    """Write a part of the page of a study; who asks for it has the script that draws its figures."""
    from results.report.html import parts_html

    from ..reports.context import TABS

    tab = asked["tab"]
    parts = _study_page(store, asked["name"]).tab(tab) or [Sentence("This campaign has nothing of it.")]
    first = FIGURES * (1 + [*TABS].index(tab))
    return parts_html([all_with_options(part) for part in parts], first, drawn=False).encode()


def _study_page(store: Store, name: str) -> "StudyPage":
    """The page of a study; while it runs, without what matters, as that takes time from runs."""
    from ..commands.stored.report import figure_source
    from ..commands.stored.show import state
    from ..reports.study_page import StudyPage

    study = store.study(name)
    stands, source = state(study, store), figure_source(store, study)
    if stands == "running":
        source = replace(source, taught=lambda: None, lanes=lambda: None)
    return StudyPage(study, source, stands)


def trial_page(store: Store, asked: Asked) -> bytes:
    """Write the page of one trial, which leads to its campaign, the trials beside it, and its files."""
    from results.report.html import to_html

    from ..commands.stored.show import show_trial
    from .pages.frames import FRAME, links_of_trial

    found = show_trial(store, asked["name"], asked["number"])
    frame = replace(FRAME, links=links_of_trial(found.record, store.count(asked["name"])))
    return to_html([all_with_options(found.page(store))], frame=frame).encode()


def comparison_page(store: Store, asked: Asked) -> bytes:
    """Write what `hpltune compare` says of studies as a page."""
    from results.report.html import to_html

    from ..asks.compare import CompareAsk
    from ..commands.stored.compare import compare
    from .pages.frames import FRAME

    page = compare(store, CompareAsk(tuple(asked["names"]))).page()
    return to_html([all_with_options(page)], frame=replace(FRAME, links=(("Compare others", "/compare"),))).encode()


def compared(store: Store, asked: Asked) -> bytes:
    """Write what `hpltune compare` prints of studies, or its facts, as JSON without folders of this machine."""
    from ..asks.compare import CompareAsk
    from ..commands.stored.compare import compare
    from ..messages.plain_paths import facts_without_paths
    from ..messages.printed import PrintedModel

    report = compare(store, CompareAsk(**{**asked["keys"], "studies": tuple(asked["keys"]["studies"])})).report()
    told = all_with_options(report.facts) if asked["facts"] else json.loads(PrintedModel.of(report).model_dump_json())
    return json.dumps(facts_without_paths(told)).encode()


def parquet_file(store: Store, asked: Asked) -> bytes:
    """Write the trials of a study as Parquet."""
    from ..commands.stored.export import parquet

    return parquet(store, asked["name"])


def explanation(store: Store, asked: Asked) -> bytes:
    """Write what a study learnt and what its values bring, or the reason why it cannot be explained."""
    from ..commands.stored.explain import explain_study
    from ..explain.explanation import Explanation
    from ..reports.configurations import percents_of

    try:
        explained = explain_study(store, asked["name"]).found
        told = percents_of(explained.effects) if isinstance(explained, Explanation) else {}
        found = {**asdict(explained), "percents": [(*which, percent) for which, percent in told.items()]}
    except TunerError as error:
        found = {"reason": str(error)}
    return json.dumps(found, default=str).encode()


def notification(store: Store, asked: Asked) -> bytes:
    """Send a notification of the end of a campaign, and tell the places of the addresses that did not take it."""
    import logging

    from apprise import Apprise, AppriseAsset, NotifyType

    from .notification_text import text_of

    logging.disable()  # what Apprise says of an address may have its secrets
    entry = store.queue.find(asked["name"])
    if entry is None:  # it was removed meanwhile
        return b"[]"
    title, body = text_of(store, entry, asked["event"], asked["public_url"])
    types = {"done": NotifyType.SUCCESS, "failed": NotifyType.FAILURE, "slower": NotifyType.WARNING}
    failed = []
    for place, url in enumerate(asked["urls"]):
        to = Apprise(asset=AppriseAsset(app_id="hpltune"))
        if not (to.add(url) and to.notify(title=title, body=body, notify_type=types[asked["event"]])):
            failed.append(place)
    return json.dumps(failed).encode()


def addresses(_store: Store, asked: Asked) -> bytes:
    """Tell the places of addresses of notifications that Apprise does not take."""
    import logging

    from apprise import Apprise

    logging.disable()  # what Apprise says of an address may have its secrets
    return json.dumps([place for place, url in enumerate(asked["urls"]) if not Apprise().add(url)]).encode()


OF_STUDIES: Mapping[str, Callable[[Store, Asked], bytes]] = {
    "report": report_page,
    "tab": tab_part,
    "trial": trial_page,
    "comparison": comparison_page,
    "compared": compared,
    "parquet": parquet_file,
    "explanation": explanation,
    "notification": notification,
    "addresses": addresses,
}

if __name__ == "__main__":
    sys.exit(main())
