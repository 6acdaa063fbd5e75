"""The live events of a campaign, also over connections that are lost: the stream goes on where it was."""

import time
from collections.abc import Callable, Iterator

from httpx2 import EventSource
from pydantic import ValidationError

from ..messages.live import CampaignEvent, Event, LiveEvent
from .connection import Connection
from .problems import NoAnswerError, not_a_service

EVERYTHING = "0"
"""In place of the id of an event: a stream that tells all from the begin."""
NAMES = frozenset(
    {"campaign", "campaign-began", "campaign-changed", "campaign-ended", "trial-begun", "trial-ended", "progress"}
)
AGAIN_S, LONGEST_S = 0.5, 10.0
"""Seconds until a lost connection is tried again: at first, and after many tries."""
NOTHING_FOLLOWS = 204


class LiveStream:
    """Reads the events of one campaign.

    Args:
        address: of the events.
        after: id of the last event that is known, or EVERYTHING; None begins with how the campaign stands.
        notice: told in a sentence that the connection was lost, and that it is back.
    """

    def __init__(
        self,
        connection: Connection,
        address: str,
        after: str | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._connection = connection
        self._address = address
        self._known = after
        self._notice = notice or (lambda _sentence: None)
        self._lost = False
        self._known_all = False

    def events(self) -> Iterator[Event]:
        """Give each event once, until the campaign ends.

        Raises:
            TunerError: the service does not answer at the begin, or it refuses.
        """
        answered, wait_s = False, AGAIN_S
        while True:
            try:
                for event in self._of_one_connection():
                    answered, wait_s = True, AGAIN_S
                    yield event
                    if isinstance(event, CampaignEvent) and event.event == "campaign-ended":
                        return
                if self._known_all:
                    return
            except NoAnswerError as error:
                if not answered:
                    raise
                self._tell_lost(error)
            time.sleep(wait_s)
            wait_s = min(LONGEST_S, wait_s * 1.5)

    def _of_one_connection(self) -> Iterator[Event]:
        headers = {} if self._known is None else {"Last-Event-ID": self._known}
        with self._connection.stream(self._address, headers) as response:
            if self._lost:
                self._lost = False
                self._notice("The service answers again.")
            if response.status_code == NOTHING_FOLLOWS:
                self._known_all = True
                return
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise not_a_service(self._connection.server.url)
            for told in EventSource(response):
                self._known = told.id or self._known
                if told.event in NAMES:
                    yield self._read(told.data)

    def _read(self, text: str) -> Event:
        try:
            return LiveEvent.model_validate_json(text).root
        except ValidationError as error:
            raise not_a_service(self._connection.server.url) from error

    def _tell_lost(self, error: NoAnswerError) -> None:
        if not self._lost:
            self._lost = True
            self._notice(f"The connection is lost ({error}). The campaign goes on there; trying again …")
