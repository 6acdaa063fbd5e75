"""Where requests reach the queue: who may change which campaign, and how one stands."""

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi._compat import ModelField
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.service.tokens import AccessScope
from results.store.store import Store

from ...messages.documents import Document
from ...messages.queue import HandedInModel
from ..authentication import demand, needs
from ..callers import Caller
from ..campaigns.fair_order import OF_THE_QUEUE, in_order
from ..campaigns.hand_in import HandIn, hand_in
from ..campaigns.preview import Preview, PreviewRequest, preview
from ..campaigns.wrong import WrongDocumentError
from ..parts import Parts
from ..problems import DocumentProblem, Problem, all_wrong

Runner = Annotated[Caller, needs("run")]
"""A caller who may hand in campaigns, and change those of their own."""


MOST_VALUES = 2_000
"""Of a document: what is said of each that is wrong takes time of all."""
BEFORE_VALUES = (b",", b"[", b"{")
"""One of these stands before each value of JSON but the whole."""


class DocumentRequest(Request):
    """A request whose JSON is read beside the event loop, and refused where it has too many values or wrong ones."""

    def __init__(self, request: Request, field: ModelField | None) -> None:
        super().__init__(request.scope, request.receive)
        self._field = field

    async def json(self) -> Any:
        """Read the body.

        Raises:
            Problem: it has too many values, or wrong ones.
        """
        return await run_in_threadpool(_read_json, await self.body(), self._field)


class DocumentRoute(APIRoute):
    """An address that takes a document."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer = super().get_route_handler()

        async def answer_document(request: Request) -> Response:
            return await answer(DocumentRequest(request, self.body_field))

        return answer_document


def _read_json(body: bytes, field: ModelField | None) -> Any:
    if sum(map(body.count, BEFORE_VALUES)) > MOST_VALUES:
        raise Problem(422, f"document: it may have {MOST_VALUES:,} values at most.")
    read = json.loads(body)
    wrong = field.validate(read, loc=("body",))[1] if field else []
    if wrong:
        raise DocumentProblem(all_wrong(wrong))  # the loop would look at each mistake again
    return read


@dataclass(frozen=True)
class QueueAccess:
    """Somebody who may hand in campaigns, at the service that takes them."""

    caller: Runner
    parts: Parts

    def hand_in(self, document: Document, key: str | None = None) -> CampaignEntry:
        """Check a campaign and put it into the queue.

        Args:
            key: two campaigns that are handed in with the same one are one.

        Raises:
            WrongDocumentError: it is wrong, or the caller may not hand it in.
            Problem: the caller has too many that wait.
        """
        self.check_place(document.priority)
        parts = self.parts
        entry = hand_in(HandIn(document, self.caller.name, key), parts.offered, parts.store, parts.survey)
        parts.dispatcher.wake()
        return entry

    def preview(self, document: Document) -> Preview:
        """Tell what would come of a campaign that could be handed in now.

        Raises:
            WrongDocumentError: it is wrong, or the caller may not hand it in.
            Problem: the caller has too many that wait.
        """
        self.check_place(document.priority)
        return preview(
            PreviewRequest(document, self.caller.name), self.parts.offered, self.parts.store, self.parts.survey
        )

    def check_place(self, priority: int) -> None:
        """Let only admins put campaigns before those of others, and nobody fill the queue alone.

        Raises:
            WrongDocumentError: the caller may not have this priority.
            Problem: the caller has as many campaigns that wait as one may have.
        """
        store, name, most = self.parts.store, self.caller.name, self.parts.offered.most_of_one
        if priority > 0 and not self.caller.scope.covers(AccessScope.ADMIN):
            raise WrongDocumentError("priority", f"above 0 needs scope admin, and {name} has none")
        waiting = sum(
            entry.order.handed_in_by == name for entry in store.queue.entries((QueueState.QUEUED, QueueState.PAUSED))
        )
        if waiting >= most:
            said = f"{waiting} campaigns of {name} wait, and one caller may have {most}."
            raise Problem(429, f"{said} Cancel some, or wait.", {"Retry-After": "600"})


OpenQueue = Annotated[QueueAccess, Depends()]


def ask_of(store: Store, caller: Caller, name: str, wanted: WantedState) -> HandedInModel:
    """Note what somebody wants of a campaign.

    Raises:
        Problem: there is no such campaign, or it is another's.
        CampaignStateError: it has ended, in a way that this cannot change.
    """
    demand_own(caller, handed_in_entry(store, name))
    return shown(store, store.queue.want(name, wanted))


def demand_own(caller: Caller, entry: CampaignEntry) -> None:
    """Let only admins change campaigns of others.

    Raises:
        Problem: it is another's.
    """
    if entry.order.handed_in_by != caller.name:
        demand(caller, AccessScope.ADMIN)


def handed_in_entry(store: Store, name: str) -> CampaignEntry:
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


def shown(store: Store, entry: CampaignEntry) -> HandedInModel:
    """Tell how a campaign stands, with its position in the queue."""
    if entry.state is not QueueState.QUEUED:
        return HandedInModel.of(entry, None)
    names = [waiting.name for waiting in in_order(store, store.queue.entries(OF_THE_QUEUE))]
    return HandedInModel.of(entry, names.index(entry.name) + 1 if entry.name in names else None)
