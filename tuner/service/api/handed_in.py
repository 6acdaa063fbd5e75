"""Handing in campaigns, and what people want of them: pause, resume, cancel, clone."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from results.store.service.campaign_entry import QueueState, WantedState
from results.store.service.tokens import AccessScope
from results.store.store import Store

from ...messages.addresses import campaign_address
from ...messages.documents import HIGHEST, Document
from ...messages.queue import HandedInModel, LogModel, QueueModel
from ..authentication import demand, needs
from ..campaigns.fair_order import OF_THE_QUEUE, in_order
from ..campaigns.kinds.registry import DOCUMENTS, AnyDocument
from ..campaigns.logs import last_lines, log_file
from ..parts import CampaignName, OpenStore, Parts, no_query
from ..problems import wrong_document
from ..responses import PlainPathsResponse, as_json
from .queue_access import DocumentRoute, OpenQueue, QueueAccess, Runner, ask_of, demand_own, handed_in_entry, shown

router = APIRouter(prefix="/api/v1", tags=["queue"], dependencies=[Depends(no_query)], route_class=DocumentRoute)
LOG_LINES = 200
"""Of the end of a log that are shown."""
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="the same key hands in the same campaign, where the first answer was lost",
    ),
]


class PriorityModel(BaseModel):
    """Another priority."""

    model_config = ConfigDict(extra="forbid")

    priority: int = Field(ge=-HIGHEST, le=HIGHEST)


@router.post("/campaigns", status_code=201)
def create(document: AnyDocument, queue: OpenQueue, response: Response, key: Key = None) -> HandedInModel:
    """Hand in a campaign: it is checked now, and started when its machines are free and it is next."""
    return _handed_in(queue, document, response, key)


@router.get("/queue", response_model=QueueModel, dependencies=[needs("read")])
async def queue(request: Request, parts: Parts) -> Response:
    """List what runs, what waits in its order, what is paused, and what ended before it had a trial."""
    return as_json(await parts.answers.of_all(request, lambda: _queue(parts.store)))


def _queue(store: Store) -> QueueModel:
    entries = store.queue.entries(OF_THE_QUEUE)
    waiting = in_order(store, entries)
    return QueueModel(
        running=[HandedInModel.of(entry, None) for entry in entries if entry.state is QueueState.RUNNING],
        queued=[HandedInModel.of(entry, place) for place, entry in enumerate(waiting, start=1)],
        paused=[HandedInModel.of(entry, None) for entry in entries if entry.state is QueueState.PAUSED],
        ended_early=[HandedInModel.of(entry, None) for entry in store.queue.ended_early()],
    )


@router.get("/queue/{name}", dependencies=[needs("read")])
def entry_of(store: OpenStore, name: CampaignName) -> HandedInModel:
    """Tell how a campaign that was handed in stands."""
    return shown(store, handed_in_entry(store, name))


@router.get("/queue/{name}/log", response_class=PlainPathsResponse, dependencies=[needs("read")])
def log(parts: Parts, name: CampaignName) -> LogModel:
    """Read the end of what the process of a campaign said."""
    file = log_file(parts.store, parts.dispatcher.user_dirs, handed_in_entry(parts.store, name).name)
    return LogModel(lines=list(last_lines(file, LOG_LINES)))


@router.patch("/queue/{name}")
def change(store: OpenStore, caller: Runner, name: CampaignName, asked: PriorityModel) -> HandedInModel:
    """Change the priority of a campaign; one above 0 needs scope admin."""
    demand_own(caller, handed_in_entry(store, name))
    if asked.priority > 0:
        demand(caller, AccessScope.ADMIN)
    return shown(store, store.queue.set_priority(name, asked.priority))


@router.post("/campaigns/{name}/pause")
def pause(store: OpenStore, caller: Runner, name: CampaignName) -> HandedInModel:
    """Pause a campaign; its running trial is not lost, it ends first."""
    return ask_of(store, caller, name, WantedState.PAUSE)


@router.post("/campaigns/{name}/resume")
def resume(parts: Parts, caller: Runner, name: CampaignName) -> HandedInModel:
    """Queue a campaign again that was paused or cancelled, or that failed: it goes on where it was."""
    resumed = ask_of(parts.store, caller, name, WantedState.RUN)
    parts.dispatcher.wake()
    return resumed


@router.post("/campaigns/{name}/cancel")
def cancel(store: OpenStore, caller: Runner, name: CampaignName) -> HandedInModel:
    """Cancel a campaign; its running trial is ended now. What it has measured stays."""
    return ask_of(store, caller, name, WantedState.CANCEL)


@router.post("/campaigns/{name}/declare-dead", dependencies=[needs("admin")])
def declare_dead(parts: Parts, name: CampaignName) -> HandedInModel:
    """Say that the process of a campaign is dead, where its machine is gone and cannot say so: it is queued again."""
    return shown(parts.store, parts.dispatcher.declare_dead(handed_in_entry(parts.store, name).name))


@router.post("/campaigns/{name}/clone", status_code=201)
def clone(
    store: OpenStore,
    queue: OpenQueue,
    name: CampaignName,
    response: Response,
    changes: Annotated[dict[str, Any], Body(description="keys of the document that are other than before")],
) -> HandedInModel:
    """Hand in a campaign once more, with some keys of its document changed; its name must be another."""
    before = handed_in_entry(store, name).order.document
    return _handed_in(queue, read_document({**before, "name": None, **changes}), response)


def read_document(document: Mapping[str, Any]) -> Document:
    """Read a document that was put together here.

    Raises:
        Problem: something in it is wrong.
    """
    try:
        read: Document = DOCUMENTS.validate_python(document)
    except ValidationError as error:
        raise wrong_document(error) from error
    return read


def _handed_in(queue: QueueAccess, document: Document, response: Response, key: str | None = None) -> HandedInModel:
    entry = queue.hand_in(document, key)
    response.headers["Location"] = campaign_address(entry.name)
    return shown(queue.parts.store, entry)
