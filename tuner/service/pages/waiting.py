"""The page of a campaign that was handed in and has no study of its name, and the buttons of every campaign's page."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from results.errors import CampaignStateError, ResultsError
from results.report.model import Part, Sentence, Table
from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.service.tokens import AccessScope
from results.store.store import Store

from ...errors import TunerError
from ...messages.documents import document_of
from ...messages.plain_paths import without_paths
from ..api.queue_access import Runner, ask_of, handed_in_entry
from ..authentication import demand, needs
from ..callers import caller_of
from ..campaigns.kinds.registry import kind_of
from ..campaigns.logs import last_lines, log_file
from ..forms import Form, csrf_field
from ..parts import CampaignName, Parts, ServiceParts
from ..problems import Problem
from .frames import address_of
from .queue import GOES_ON, buttons_of, like, may_change, standing_of
from .rendering import FILLED_HEADERS, rendered
from .site import page

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
LOOK_S = 2
"""Seconds after which the page of a campaign that has not begun looks again."""
LOG_LINES = 30
WANTED: Mapping[str, WantedState] = {
    "pause": WantedState.PAUSE,
    "resume": WantedState.RUN,
    "cancel": WantedState.CANCEL,
}
"""What the buttons of a campaign's page ask for."""
DEAD = "declare-dead"
"""What the button of admins says: the process of the campaign is dead."""


@router.get("/campaigns/{name}/waiting", dependencies=[needs("read")])
def waiting_part(
    request: Request,
    parts: Parts,
    name: CampaignName,
    seen: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Send how a campaign stands where that has changed, and the page of its study once that is there."""
    store = parts.store
    if store.queue.is_study(name) or check_address(store, name) is not None:
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    html, mark = _part(request, parts, handed_in_entry(store, name))
    return Response(status_code=204) if mark == seen else HTMLResponse(html, headers=FILLED_HEADERS)


@router.post("/campaigns/{name}/do")
def do(parts: Parts, caller: Runner, name: CampaignName, sent: Form) -> Response:
    """Pause, resume or cancel a campaign, or declare its process dead; its page then tells how it stands."""
    store, asked = parts.store, sent.get("do", "")
    wanted = WANTED.get(asked)
    if wanted is None and asked != DEAD:
        raise Problem(422, f"do: choose one of {', '.join((*WANTED, DEAD))}.")
    with suppress(CampaignStateError):  # it ended meanwhile
        if wanted is None:
            demand(caller, AccessScope.ADMIN)
            parts.dispatcher.declare_dead(handed_in_entry(store, name).name)
        else:
            ask_of(store, caller, name, wanted)
            parts.dispatcher.wake()
    return RedirectResponse(address_of(name), 303)


def check_address(store: Store, name: str) -> str | None:
    """The address of the check of nodes that a campaign makes or made; None where there is none."""
    made = store.node_checks.lines(count=1, campaign=name)
    return f"/node-checks/{made[0].number}" if made else None


def waiting_page(request: Request, parts: ServiceParts, name: str) -> HTMLResponse:
    """The page of a campaign that has no study yet.

    Raises:
        Problem: nobody handed in a campaign of this name.
    """
    entry = handed_in_entry(parts.store, name)
    html, _ = _part(request, parts, entry)
    told: dict[str, Any] = {"part": html, "goes_on": entry.state in GOES_ON, "look_s": LOOK_S}
    return page(request, "queue/page.html.j2", name=name, address=address_of(name), **told)


def _part(request: Request, parts: ServiceParts, entry: CampaignEntry) -> tuple[str, str]:
    """The part of a page that tells how a campaign stands, and a hash of what it says."""
    store = parts.store
    log: Sequence[str] = ()
    if entry.state is QueueState.FAILED:
        log = last_lines(log_file(store, parts.dispatcher.user_dirs, entry.name), LOG_LINES)
    found = _found(parts, entry)
    values = {
        **standing_of(store, entry, parts.offered.starts),
        "buttons": buttons_of(entry),
        "may_change": may_change(entry, caller_of(request)),
        "admin": caller_of(request).scope.covers(AccessScope.ADMIN),
        "like": like(entry, caller_of(request)),
        "address": address_of(entry.name),
        "log": [without_paths(line) for line in log],
        "tables": [one for one in found if isinstance(one, Table)],
        "sentences": [without_paths(one.text) for one in found if isinstance(one, Sentence)],
    }
    mark = sha256(repr(values).encode()).hexdigest()[:12]
    return rendered("queue/standing.html.j2", **values, csrf=csrf_field(request), mark=mark), mark


def _found(parts: ServiceParts, entry: CampaignEntry) -> Sequence[Part]:
    """What a campaign of several studies has found so far; nothing where it has not begun."""
    if entry.started_at is None:
        return ()
    try:
        kind = kind_of(entry.order.kind)
        document = document_of(kind.name).model_validate(entry.order.document)
        return kind.report(document, entry.name, parts.store, parts.offered).parts
    except (TunerError, ResultsError):
        return ()
