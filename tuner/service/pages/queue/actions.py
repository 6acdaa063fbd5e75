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
class Actions:
    """What somebody may do with a campaign.

    Attributes:
        buttons: what they send, and what stands on them.
        asked: what was asked and is not done yet, in a sentence; "" for nothing.
        like: address of the form filled in as this campaign was; None where the form cannot make such a
            campaign, or not for this person.
    """

    buttons: tuple[tuple[str, str], ...]
    asked: str
    like: str | None


def actions_of(entry: CampaignEntry, caller: Caller) -> Actions:
    """Tell what somebody may do with a campaign."""
    possible, asked = _POSSIBLE[entry.state], ""
    if entry.state is QueueState.RUNNING and entry.wanted is not WantedState.RUN:
        possible = ("resume", "cancel") if entry.wanted is WantedState.PAUSE else ()
        asked = _ASKED[entry.wanted]
    own = entry.order.handed_in_by == caller.name
    if not caller.scope.covers(AccessScope.RUN if own else AccessScope.ADMIN):
        possible = ()
    copies = entry.order.kind == "tune" and caller.scope.covers(AccessScope.RUN)
    like = f"/new?from={quote(entry.name, safe='')}" if copies else None
    return Actions(tuple((do, do.capitalize()) for do in possible), asked, like)
