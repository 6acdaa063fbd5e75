"""Duties of the service that deliver messages to webhooks, one for each, so that a slow receiver delays no other."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from results.store.store import Store

from ..background import Duty
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
    duties: Sequence[Duty] = field(init=False)
    _cleaned: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Make a duty for each webhook."""
        self._cleaned = self.now()
        self.duties = [
            Duty(f"the courier of webhook {name}", partial(self._turn, name), LOOK_S, CLOSING_S)
            for name in self.webhooks
        ]

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

    def _turn(self, name: str) -> bool:
        more = self.deliver(name)
        if self.now() - self._cleaned > timedelta(hours=1):
            self.store.deliveries.forget(self.now() - REMEMBERED)
            self._cleaned = self.now()
        return more
