"""The process of one campaign: it takes the campaign from the service that started it, and works on it to its end."""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from results.errors import ResultsError
from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.service.queue import BEAT_S, CampaignQueue
from results.store.store import Store

from ...database import open_store
from ...errors import OUR_ERRORS
from ...events import Event, Listener, Notice
from ...messages.documents import document_of
from ...messages.shown import shown_of
from ...stopping import StopRequest
from ...units import duration
from ...user_dirs import UserDirs
from ...words import counted
from ..background import Duty
from .faults import MOST_FAULTS, faults_with, may_pass, wait_s
from .kinds.base import WorkOrder, WorkResult
from .kinds.registry import kind_of
from .offered import Offers
from .wrong import WrongDocumentError

LOGGER = logging.getLogger("hpltune.campaigns")
LOOK_S = 1.0
"""Seconds between two looks at what people want of the campaign."""
STORED_FOR_S = 3600.0
"""Seconds that the end of a campaign is tried to be stored, where the database does not answer."""
AGAIN_S = 2.0


@dataclass(frozen=True)
class ProcessRequest:
    """What a process is started with.

    Attributes:
        name: of the campaign.
        starter: the service that started it, whose campaign it still is.
        db: the database as the service was given it; None for the user's own.
        ask_to_stop: stops what the main thread works on, after the running trial or, if True is given, at once.
    """

    name: str
    starter: Lease
    db: str | None
    offered: Offers
    ask_to_stop: Callable[[bool], None]


def work_on(request: ProcessRequest, listener: Listener, stop: StopRequest) -> QueueState | None:
    """Work on a campaign until it ends or somebody stops it, and return how it stands then.

    Returns:
        None, and nothing is done, where the campaign is another process's by now.

    Raises:
        ResultsError: the database cannot be used; a DatabaseAwayError where that may pass.
    """
    with open_store(request.db, UserDirs.of_user(), create=False) as store:
        entry = store.queue.take_over(request.name, request.starter)
        if entry is None:
            return None
        listener = _shown(store, entry.name, listener)
        with _watching(store.queue, entry, request) as asked:
            outcome = _outcome(request, entry, listener, stop, store)
        if outcome.state is QueueState.QUEUED and asked:
            outcome = asked[0]
        if outcome.faults:
            listener(Notice(f"It goes on later, after a fault: {outcome.reason}."))
        if outcome.state is QueueState.FAILED:
            listener(Notice(f"Failed: {outcome.reason}."))
        _store_end(store, request, outcome)
        return outcome.state


def _shown(store: Store, name: str, listener: Listener) -> Listener:
    """A listener that puts what it hears into the outbox too, for displays elsewhere."""

    def show(event: Event) -> None:
        shown = shown_of(event)
        if shown is not None:
            with suppress(ResultsError):  # it is no part of what was measured
                store.outbox.show(name, shown)
        listener(event)

    return show


@dataclass(frozen=True)
class _Outcome:
    """How the work ended; `slower` than the baseline of a check; after so many `faults` of the machine."""

    state: QueueState
    reason: str = ""
    slower: bool = False
    faults: int = 0


def _outcome(
    request: ProcessRequest, entry: CampaignEntry, listener: Listener, stop: StopRequest, store: Store
) -> _Outcome:
    """Work, and tell how it ended, whatever ended it."""
    try:
        order = _checked(request, entry, store)
        result = kind_of(entry.order.kind).work(order, listener, stop)
    except Exception as error:
        foreseen = isinstance(error, (*OUR_ERRORS, WrongDocumentError))
        if not foreseen:
            LOGGER.exception("campaign %s", entry.name)
        if not stop.requested:
            reason = str(error) if foreseen else f"hpltune failed, its log says where: {type(error).__name__}: {error}"
            return _after_fault(entry, error) if may_pass(error) else _Outcome(QueueState.FAILED, reason)
        result = WorkResult(interrupted=True)
    if not result.interrupted:
        return _Outcome(QueueState.DONE, result.reason, result.slower)
    now = store.queue.find(entry.name)
    wanted = WantedState.RUN if now is None else now.wanted
    if wanted is WantedState.CANCEL:
        return _Outcome(QueueState.CANCELLED)
    if wanted is WantedState.PAUSE:
        return _Outcome(QueueState.PAUSED)
    return _Outcome(QueueState.QUEUED, "its process was ended by the machine; it goes on where it was")


def _checked(request: ProcessRequest, entry: CampaignEntry, store: Store) -> WorkOrder:
    """What there is to do, checked as when it was handed in: what the operator withdrew since is withdrawn.

    Raises:
        WrongDocumentError: something in its document is not offered any more.
    """
    kind, offered = kind_of(entry.order.kind), request.offered
    document = document_of(kind.name).model_validate(entry.order.document)
    nodes = kind.check(document, offered, store)
    if entry.order.document.get("cluster") in offered.clusters and set(nodes) != set(entry.order.node_set):
        raise WrongDocumentError("cluster", "it has other nodes now than when this was handed in: hand it in anew")
    return WorkOrder(entry.name, document, request.db, offered)


def _after_fault(entry: CampaignEntry, error: Exception) -> _Outcome:
    """Queue the campaign again, unless such faults do not end."""
    faults = faults_with(entry)
    if faults > MOST_FAULTS:
        return _Outcome(QueueState.FAILED, f"{error} (it was tried {counted(MOST_FAULTS, 'time')})")
    return _Outcome(QueueState.QUEUED, str(error), faults=faults)


@contextmanager
def _watching(queue: CampaignQueue, entry: CampaignEntry, request: ProcessRequest) -> Iterator[list[_Outcome]]:
    """Look now and then whether people want the campaign stopped, or its time is over, and stop it then.

    Yields:
        How it stands after each such stop, if nobody wants anything else of it then.
    """
    asked, told, beaten_s = list[_Outcome](), WantedState.RUN, time.monotonic()
    over_s = math.inf if "budget" in entry.order.document else beaten_s + request.offered.most_budget_s

    def look() -> bool:
        nonlocal told, beaten_s
        now = queue.find(entry.name)
        ours = now is not None and now.owner == Lease.mine()
        wanted = now.wanted if now is not None and ours else WantedState.CANCEL
        if wanted not in {told, WantedState.RUN}:
            asked.append(_Outcome(QueueState.QUEUED, "it was paused and resumed; it goes on where it was"))
            request.ask_to_stop(wanted is WantedState.CANCEL)
            told = wanted
        if time.monotonic() > over_s and not asked:
            most = f"it ran for {duration(request.offered.most_budget_s)}, the most that this service gives a campaign"
            asked.append(_Outcome(QueueState.PAUSED, f"{most} at a time: who resumes it gives it as much again"))
            request.ask_to_stop(False)
        if time.monotonic() - beaten_s >= BEAT_S:
            queue.beat(entry.name)
            beaten_s = time.monotonic()
        return False

    watcher = Duty("what looks whether somebody stops it", look, LOOK_S)
    watcher.start()
    try:
        yield asked
    finally:
        watcher.close()


def _store_end(store: Store, request: ProcessRequest, outcome: _Outcome) -> None:
    """Store how the campaign ended and what is to be told of that, also where the database is away for a while.

    Raises:
        ResultsError: it stays away.
    """
    give_up_at = time.monotonic() + STORED_FOR_S
    while True:
        try:
            if outcome.faults:
                store.queue.put_off(request.name, outcome.reason, outcome.faults, wait_s(outcome.faults))
            else:
                store.queue.end(request.name, outcome.state, outcome.reason, slower=outcome.slower)
        except ResultsError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(AGAIN_S)
        else:
            return
