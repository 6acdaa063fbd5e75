"""A request that was answered, as logs, metrics and the audit log tell of it."""

import re
from dataclasses import dataclass

from starlette.types import Scope

from ..identity.arrival import Arrival
from ..identity.caller import Caller
from ..safety import READING

NO_ROUTE = "unmatched"
METHODS = READING | {"POST", "PUT", "PATCH", "DELETE"}
CHANGES_NOTHING = frozenset({"/api/v1/previews"})
"""Addresses that take a document with POST and change nothing."""
REFUSED = frozenset({401, 403, 421, 429})
_TOKEN = re.compile(r"hpltune_[\w-]+")


@dataclass(frozen=True)
class SeenRequest:
    """A request that was answered.

    Attributes:
        id: of this request, which the answer has in X-Request-ID.
        who: the caller's name; "" where nobody was asked.
        path: as it was sent, without its query and without anything that looks like a token.
        route: the path as handlers know it, with names in place of values.
        target: what it was about, as the name of a campaign.
        ms: until the answer was complete; of a stream until it began.
    """

    id: str
    who: str
    address: str
    method: str
    path: str
    route: str
    target: str
    status: int
    ms: float

    @property
    def changes(self) -> bool:
        """Whether it asked to change something."""
        return self.method not in READING and self.route not in CHANGES_NOTHING


def seen(scope: Scope, id_: str, status: int, location: str, ms: float) -> SeenRequest:
    """Tell of a request.

    Args:
        location: the address of what was made; "" where nothing was.
    """
    state = scope.get("state", {})
    caller, arrival = state.get("caller"), state.get("arrival")
    named = str(scope.get("path_params", {}).get("name", ""))
    return SeenRequest(
        id=id_,
        who=caller.name if isinstance(caller, Caller) else str(state.get("who", "")),
        address=arrival.address if isinstance(arrival, Arrival) else "",
        method=scope["method"] if scope["method"] in METHODS else "OTHER",
        path=masked(scope.get("raw_path", b"").decode("ascii", "backslashreplace").partition("?")[0]),
        route=getattr(scope.get("route"), "path", NO_ROUTE),
        target=masked(named or location.rstrip("/").rpartition("/")[2]),
        status=status,
        ms=ms,
    )


def masked(text: str) -> str:
    """Return a text without what looks like a token."""
    return _TOKEN.sub("hpltune_…", text)
