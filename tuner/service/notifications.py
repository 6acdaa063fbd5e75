"""Notifications: how what is told of the ends of campaigns is sent by Apprise in the background."""

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event

from results.store.service.campaign_entry import EndEvent
from results.store.store import Store
from runners.toml_file import ClusterFileError

from ..words import counted
from .background import BackgroundChild, Duty
from .config import NotifyTable, ServiceSettings

LOGGER = logging.getLogger("hpltune.notifications")
LOOK_S = 1.0
"""Seconds between two looks for campaigns that have ended."""
LONGEST_S = 60.0
"""Seconds that one attempt at all addresses may take."""
PAUSES_S = (10.0, 60.0)
"""Seconds before the second and the third attempt, which is the last."""
CLOSING_S = 2.0
"""Seconds that the end of the service waits for a notification under way."""


def check_addresses(settings: ServiceSettings, place: str) -> None:
    """Refuse addresses of notifications that Apprise does not take.

    Args:
        place: the database, with its password where it has one.

    Raises:
        ClusterFileError: it does not take one; the sentence has its number and scheme, because the rest is secret.
    """
    table = settings.config.notify
    if table is None:
        return
    key = f"{settings.config_file}: notify.urls_file"
    try:
        urls = table.urls()
    except ClusterFileError as error:
        raise ClusterFileError(f"{key}: {error}") from error
    for number in json.loads(BackgroundChild("addresses", place, LONGEST_S).compute("addresses", urls=urls)):
        begins = f"begins with {scheme}://" if (scheme := _scheme(urls[number])) else "begins with no scheme"
        raise ClusterFileError(
            f"{key}: Apprise does not take address {number + 1} of {table.urls_file}, which {begins}: "
            "the documentation of Apprise says how an address is written"
        )


@dataclass
class Notifier:
    """Tells of campaigns that have ended, one after the other.

    Attributes:
        table: where to, and of what; None tells nobody.
        public_url: where people open the service in a browser; None leaves links out.
        place: the database, with its password where it has one.
        pauses_s: seconds before each attempt after the first.
        duty: looks for campaigns that have ended, once it is started.
    """

    store: Store
    table: NotifyTable | None
    public_url: str | None
    place: str
    pauses_s: Sequence[float] = PAUSES_S
    duty: Duty = field(init=False)
    _child: BackgroundChild = field(init=False)
    _closed: Event = field(default_factory=Event, init=False)

    def __post_init__(self) -> None:
        """Make the duty, and what starts processes."""
        self._child = BackgroundChild("notifications", self.place, LONGEST_S)
        self.duty = Duty("what sends notifications", self._turn, LOOK_S, CLOSING_S)

    def close(self) -> None:
        """End an attempt under way; the next service that runs begins anew with that notification."""
        self._closed.set()
        self._child.close()

    def _turn(self) -> bool:
        taken = None if self._closed.is_set() else self.store.untold.take()
        if taken is None:
            return False
        name, event = taken
        if self.table is not None and self.table.wants(event) and not self._send(name, event):
            self.store.untold.give_back(name, event)
        return True

    def _send(self, name: str, event: EndEvent) -> bool:
        """Send to all addresses, and give up those that never take it; False where the service ends before that."""
        left: Sequence[int] | None = None
        for attempt, pause_s in enumerate((*self.pauses_s, 0.0), start=1):
            left, why = self._attempt(name, event, left)
            if self._closed.is_set():
                return False
            if not why:
                return True
            last = "; it is given up" if attempt > len(self.pauses_s) else ""
            LOGGER.warning("notification of campaign %s, attempt %s: %s%s", name, attempt, why, last)
            self._closed.wait(pause_s)
        return True

    def _attempt(self, name: str, event: EndEvent, left: Sequence[int] | None) -> tuple[Sequence[int] | None, str]:
        """Send once to the addresses that are left; None is all. Return those that did not take it, and why."""
        assert self.table is not None  # noqa: S101 - `_turn` looked
        try:
            urls = self.table.urls()
            asked = [number for number in range(len(urls)) if left is None or number in left]
            link, chosen = self.public_url, [urls[number] for number in asked]
            told = self._child.compute("notification", name=name, event=event, public_url=link, urls=chosen)
        except Exception as error:  # noqa: BLE001 - whatever it is, a notification stops nothing else
            return left, str(error) if isinstance(error, ClusterFileError) else "its process did not end in order"
        failed = [asked[place] for place in json.loads(told)]
        which = ", ".join(f"{number + 1} ({_scheme(urls[number])})" for number in failed)
        return failed, f"{counted(len(failed), 'address')} did not take it: {which}" if failed else ""


def _scheme(url: str) -> str:
    """How an address begins; the rest of it may be secret."""
    found = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]{0,30})://", url)
    return found[1] if found else ""
