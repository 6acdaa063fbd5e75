"""Threads of the service that deliver messages to webhooks, one for each, so that a slow receiver delays no other."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from results.errors import ResultsError
from results.store.store import Store

from .sending import send, wait_after
from .table import WebhookTable

LOOK_S = 1.0
"""Seconds between two looks for messages."""
CLAIMED_FOR = timedelta(minutes=1)
"""A message is sent again, perhaps by another service, when nobody has told how an attempt went for so long."""
REMEMBERED = timedelta(days=30)
"""Messages that wait no longer are removed after so long."""
CLOSING_S = 2.0
"""Seconds that the end of the service waits for a message under way; it is sent again when a service runs."""
LOGGER = logging.getLogger("hpltune.webhooks")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Couriers:
    """Deliver what is due until they are closed.

    Attributes:
        now: tells the time.
    """

    store: Store
    webhooks: Mapping[str, WebhookTable]
    now: Callable[[], datetime] = _utc_now
    _closed: threading.Event = field(default_factory=threading.Event, init=False)
    _threads: list[threading.Thread] = field(default_factory=list, init=False)

    def start(self) -> None:
        """Begin to deliver."""
        self._threads = [
            threading.Thread(target=self._work, args=(name,), name=f"webhook {name}", daemon=True)
            for name in self.webhooks
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Deliver no more."""
        self._closed.set()
        for thread in self._threads:
            thread.join(CLOSING_S)

    def deliver(self, name: str) -> bool:
        """Send the message to a webhook that is due longest; tell whether there was one.

        Raises:
            ResultsError: the database cannot be used.
        """
        now = self.now()
        message = self.store.deliveries.claim(name, now, now + CLAIMED_FOR)
        if message is None:
            return False
        reason = send(self.webhooks[name], message, now)
        if not reason:
            self.store.deliveries.delivered(message.number, self.now())
            return True
        wait = wait_after(message.attempts)
        self.store.deliveries.failed(message.number, reason, None if wait is None else self.now() + wait)
        LOGGER.warning("webhook %s, attempt %s: %s", name, message.attempts, reason)
        return True

    def _work(self, name: str) -> None:
        failing = ""
        cleaned = self.now()
        while not self._closed.wait(LOOK_S):
            try:
                while not self._closed.is_set() and self.deliver(name):
                    pass
                failing = ""
                if self.now() - cleaned > timedelta(hours=1):
                    self.store.deliveries.forget(self.now() - REMEMBERED)
                    cleaned = self.now()
            except ResultsError as error:
                if str(error) != failing:
                    failing = str(error)
                    LOGGER.warning("messages to webhook %s cannot be read: %s", name, failing)
