"""Addresses of campaigns that were handed in: their page before their study begins, and what people want of them."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from results.errors import CampaignStateError
from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.store import Store

from ....messages.plain_paths import without_paths
from ...api.desk import Runner, Starting, ask_of, handed_in_entry
from ...campaigns.dispatcher import Dispatcher
from ...campaigns.logs import last_lines, log_file
from ...identity.caller import caller_of, needs
from ...identity.forms import Form, csrf_field
from ...opened import CampaignName, OpenStore
from ...problems import Problem
from ..filled import FILLED_HEADERS, rendered
from ..frames import address_of
from .actions import WANTED, buttons_of, like, may_change
from .standing import standing_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
LOOK_S = 2
"""Seconds after which the page of a campaign that has not begun looks again."""
LOG_LINES = 30


@dataclass(frozen=True)
class StandingPart:
    """The part of a page that tells how a campaign stands.

    Attributes:
        mark: a hash of what it says.
        goes_on: it may change by itself.
    """

    html: str
    mark: str
    goes_on: bool


@router.get("/campaigns/{name}/waiting", dependencies=[needs("read")])
def waiting_part(
    request: Request,
    store: OpenStore,
    starting: Starting,
    name: CampaignName,
    seen: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Send how a campaign stands where that has changed, and the page of its study once that is there."""
    if store.queue.is_study(name) or check_address(store, name) is not None:
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    part = _part(request, store, handed_in_entry(store, name), starting)
    return Response(status_code=204) if part.mark == seen else HTMLResponse(part.html, headers=FILLED_HEADERS)


@router.post("/campaigns/{name}/do")
def do(store: OpenStore, starting: Starting, caller: Runner, name: CampaignName, sent: Form) -> Response:
    """Pause, resume or cancel a campaign; its page then tells how it stands."""
    wanted = WANTED.get(sent.get("do", ""))
    if wanted is None:
        raise Problem(422, f"do: choose one of {', '.join(WANTED)}.")
    with suppress(CampaignStateError):  # it ended meanwhile
        ask_of(store, caller, name, wanted)
        starting.wake()
    return RedirectResponse(address_of(name), 303)


def check_address(store: Store, name: str) -> str | None:
    """The address of the check of nodes that a campaign makes or made; None where there is none."""
    made = store.node_checks.lines(count=1, campaign=name)
    return f"/node-checks/{made[0].number}" if made else None


def waiting_page(request: Request, store: Store, name: str, starting: Dispatcher) -> HTMLResponse:
    """The page of a campaign that has no study yet.

    Raises:
        Problem: nobody handed in a campaign of this name.
    """
    entry = handed_in_entry(store, name)
    part = _part(request, store, entry, starting)
    values = {"name": name, "part": part, "address": address_of(name), "look_s": LOOK_S}
    return HTMLResponse(rendered("queue/page.html.j2", **values), headers=FILLED_HEADERS)


def _part(request: Request, store: Store, entry: CampaignEntry, starting: Dispatcher) -> StandingPart:
    log = _log(store, entry, starting) if entry.state is QueueState.FAILED else ()
    standing = standing_of(store, entry)
    values = {
        "standing": standing,
        "buttons": buttons_of(entry),
        "may_change": may_change(entry, caller_of(request)),
        "like": like(entry, caller_of(request)),
        "address": address_of(entry.name),
        "log": [without_paths(line) for line in log],
    }
    mark = sha256(repr(values).encode()).hexdigest()[:12]
    html = rendered("queue/standing.html.j2", **values, csrf=csrf_field(request), mark=mark)
    return StandingPart(html, mark, standing.goes_on)


def _log(store: Store, entry: CampaignEntry, starting: Dispatcher) -> list[str]:
    return list(last_lines(log_file(store, starting.user_dirs, entry.name), LOG_LINES))
