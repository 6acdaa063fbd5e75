"""What may be done with a campaign that was handed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from results.store.service.access import AccessScope
from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState

from ...identity.caller import Caller

WANTED: Mapping[str, WantedState] = {
    "pause": WantedState.PAUSE,
    "resume": WantedState.RUN,
    "cancel": WantedState.CANCEL,
}
"""What the buttons of a campaign's page ask for."""
_POSSIBLE: Mapping[QueueState, tuple[str, ...]] = {
    QueueState.QUEUED: ("pause", "cancel"),
    QueueState.RUNNING: ("pause", "cancel"),
    QueueState.PAUSED: ("resume", "cancel"),
    QueueState.FAILED: ("resume",),
    QueueState.CANCELLED: ("resume",),
    QueueState.DONE: (),
}
_ASKED: Mapping[WantedState, str] = {
    WantedState.RUN: "",
    WantedState.PAUSE: "It pauses when its running trial has ended.",
    WantedState.CANCEL: "It is being cancelled: its running trial ends now.",
}


@dataclass(frozen=True)
class Buttons:
    """Buttons of a campaign's page.

    Attributes:
        shown: what each sends, and what stands on it.
        asked: what was asked and is not done yet, in a sentence; "" for nothing.
    """

    shown: tuple[tuple[str, str], ...] = ()
    asked: str = ""


def buttons_of(entry: CampaignEntry) -> Buttons:
    """The buttons that change a campaign now."""
    possible, asked = _POSSIBLE[entry.state], ""
    if entry.state is QueueState.RUNNING and entry.wanted is not WantedState.RUN:
        possible = ("resume", "cancel") if entry.wanted is WantedState.PAUSE else ()
        asked = _ASKED[entry.wanted]
    return Buttons(tuple((do, do.capitalize()) for do in possible), asked)


def may_change(entry: CampaignEntry, caller: Caller) -> bool:
    """Whether somebody may press them."""
    own = entry.order.handed_in_by == caller.name
    return caller.scope.covers(AccessScope.RUN if own else AccessScope.ADMIN)


def like(entry: CampaignEntry, caller: Caller) -> str | None:
    """The address of the form filled in as a campaign was; None where it cannot be, or not by this person."""
    copies = entry.order.kind == "tune" and caller.scope.covers(AccessScope.RUN)
    return f"/new?from={quote(entry.name, safe='')}" if copies else None
