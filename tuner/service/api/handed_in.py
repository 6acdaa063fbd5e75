"""Handing in campaigns, and what people want of them: pause, resume, cancel, clone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from results.store.service.access import AccessScope
from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.store import Store

from ...messages.documents import HIGHEST, Document
from ...messages.plain_paths import without_paths
from ...messages.queue import HandedInModel, LogModel, QueueModel
from ..campaigns.dispatcher import Dispatcher
from ..campaigns.fair_order import REMEMBERED, fair_order
from ..campaigns.hand_in import HandIn, hand_in
from ..campaigns.kinds.registry import AnyDocument
from ..campaigns.logs import last_lines, log_file
from ..campaigns.offered import Offered
from ..identity.caller import Caller, demand, needs
from ..opened import CampaignName, OpenStore, no_query
from ..problems import Problem, wrong_document
from .addresses import campaign_address

router = APIRouter(prefix="/api/v1", tags=["queue"], dependencies=[Depends(no_query)])
LOG_LINES = 200
"""Of the end of a log that are shown."""
OF_THE_QUEUE = (QueueState.RUNNING, QueueState.QUEUED, QueueState.PAUSED)
_DOCUMENT: TypeAdapter[Any] = TypeAdapter(AnyDocument)
Runner = Annotated[Caller, needs("run")]
"""A caller who may hand in campaigns, and change those of their own."""
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="the same key hands in the same campaign, where the first answer was lost",
    ),
]


@dataclass(frozen=True)
class Desk:
    """Where a request hands in campaigns, and who does."""

    caller: Caller
    offered: Offered
    dispatcher: Dispatcher


def _dispatcher(request: Request) -> Dispatcher:
    dispatcher = request.app.state.dispatcher
    assert isinstance(dispatcher, Dispatcher)  # noqa: S101 - set before the first request
    return dispatcher


Starting = Annotated[Dispatcher, Depends(_dispatcher)]


def _desk(request: Request, caller: Runner, dispatcher: Starting) -> Desk:
    offered = request.app.state.offered
    assert isinstance(offered, Offered)  # noqa: S101 - set before the first request
    return Desk(caller, offered, dispatcher)


AtDesk = Annotated[Desk, Depends(_desk)]


class PriorityModel(BaseModel):
    """Another priority."""

    model_config = ConfigDict(extra="forbid")

    priority: int = Field(ge=-HIGHEST, le=HIGHEST)


@router.post("/campaigns", status_code=201)
def create(document: AnyDocument, desk: AtDesk, response: Response, key: Key = None) -> HandedInModel:
    """Hand in a campaign: it is checked now, and started when its machines are free and it is next."""
    return _handed_in(desk, document, response, key)


@router.get("/queue", dependencies=[needs("read")])
def queue(store: OpenStore) -> QueueModel:
    """List what runs, what waits in the order in which it is started, and what is paused."""
    entries = store.queue.entries(OF_THE_QUEUE)
    waiting = _in_order(store, entries)
    return QueueModel(
        running=[HandedInModel.of(entry, None) for entry in entries if entry.state is QueueState.RUNNING],
        queued=[HandedInModel.of(entry, place) for place, entry in enumerate(waiting, start=1)],
        paused=[HandedInModel.of(entry, None) for entry in entries if entry.state is QueueState.PAUSED],
    )


@router.get("/queue/{name}", dependencies=[needs("read")])
def entry_of(store: OpenStore, name: CampaignName) -> HandedInModel:
    """Tell how a campaign that was handed in stands."""
    return _shown(store, _entry(store, name))


@router.get("/queue/{name}/log", dependencies=[needs("read")])
def log(store: OpenStore, starting: Starting, name: CampaignName) -> LogModel:
    """Read the end of what the process of a campaign said."""
    lines = last_lines(log_file(store, starting.user_dirs, _entry(store, name).name), LOG_LINES)
    return LogModel(lines=[without_paths(line) for line in lines])


@router.patch("/queue/{name}")
def change(store: OpenStore, caller: Runner, name: CampaignName, asked: PriorityModel) -> HandedInModel:
    """Change the priority of a campaign."""
    _own(caller, _entry(store, name))
    return _shown(store, store.queue.set_priority(name, asked.priority))


@router.post("/campaigns/{name}/pause")
def pause(store: OpenStore, caller: Runner, name: CampaignName) -> HandedInModel:
    """Pause a campaign; its running trial is not lost, it ends first."""
    return _wanted(store, caller, name, WantedState.PAUSE)


@router.post("/campaigns/{name}/resume")
def resume(store: OpenStore, caller: Runner, starting: Starting, name: CampaignName) -> HandedInModel:
    """Queue a campaign again that was paused or cancelled, or that failed: it goes on where it was."""
    resumed = _wanted(store, caller, name, WantedState.RUN)
    starting.wake()
    return resumed


@router.post("/campaigns/{name}/cancel")
def cancel(store: OpenStore, caller: Runner, name: CampaignName) -> HandedInModel:
    """Cancel a campaign; its running trial is ended now. What it has measured stays."""
    return _wanted(store, caller, name, WantedState.CANCEL)


@router.post("/campaigns/{name}/clone", status_code=201)
def clone(
    store: OpenStore,
    desk: AtDesk,
    name: CampaignName,
    response: Response,
    changes: Annotated[dict[str, Any], Body(description="keys of the document that are other than before")],
) -> HandedInModel:
    """Hand in a campaign once more, with some keys of its document changed; its name must be another."""
    document = {**_entry(store, name).order.document, "name": None, **changes}
    return _handed_in(desk, _read(document), response)


def _read(document: Mapping[str, Any]) -> Document:
    """Read a document that was put together here.

    Raises:
        Problem: something in it is wrong.
    """
    try:
        read: Document = _DOCUMENT.validate_python(document)
    except ValidationError as error:
        raise wrong_document(error) from error
    return read


def _handed_in(desk: Desk, document: Document, response: Response, key: str | None = None) -> HandedInModel:
    dispatcher = desk.dispatcher
    entry = hand_in(HandIn(document, desk.caller.name, key), desk.offered, dispatcher.store)
    dispatcher.wake()
    response.headers["Location"] = campaign_address(entry.name)
    return _shown(dispatcher.store, entry)


def _wanted(store: Store, caller: Caller, name: str, wanted: WantedState) -> HandedInModel:
    _own(caller, _entry(store, name))
    return _shown(store, store.queue.want(name, wanted))


def _own(caller: Caller, entry: CampaignEntry) -> None:
    """Let only admins change campaigns of others.

    Raises:
        Problem: it is another's.
    """
    if entry.order.handed_in_by != caller.name:
        demand(caller, AccessScope.ADMIN)


def _entry(store: Store, name: str) -> CampaignEntry:
    """The campaign of a name that was handed in.

    Raises:
        Problem: there is none, or a command line began it.
    """
    entry = store.queue.find(name)
    if entry is None and store.queue.is_study(name):
        raise Problem(409, f"Campaign {name} was begun by the command line, not handed in: it is changed there.")
    if entry is None:
        raise Problem(404, f"There is no campaign {name}: /api/v1/campaigns lists all.")
    return entry


def _shown(store: Store, entry: CampaignEntry) -> HandedInModel:
    if entry.state is not QueueState.QUEUED:
        return HandedInModel.of(entry, None)
    names = [waiting.name for waiting in _in_order(store, store.queue.entries(OF_THE_QUEUE))]
    return HandedInModel.of(entry, names.index(entry.name) + 1 if entry.name in names else None)


def _in_order(store: Store, entries: Sequence[CampaignEntry]) -> list[CampaignEntry]:
    now = datetime.now(UTC)
    return fair_order(entries, store.queue.recent(now - REMEMBERED), now)
