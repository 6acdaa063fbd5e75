"""Webhooks: what they are told about the end of a campaign, and how messages are signed, sent and repeated."""

import hashlib
import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPException, HTTPMessage
from importlib.metadata import version
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from results.stats.headline import NO_RATES
from results.store.service.campaign_entry import CampaignEntry, QueueState, WantedState
from results.store.service.deliveries import Delivery, OutgoingMessage
from results.store.store import Store
from runners.toml_file import ClusterFileError

from ..commands.stored.show import rates_of
from ..messages.plain_paths import without_paths
from .background import Duty
from .config import EventName, ServiceConfig, WebhookTable

TEST = "test"
"""The event of a message that somebody asks for, to try a webhook."""


@dataclass(frozen=True)
class Announcer:
    """Makes messages for the webhooks that want them.

    Attributes:
        webhooks: by their names.
        public_url: where people open the service in a browser, for links; None leaves links out.
    """

    webhooks: Mapping[str, WebhookTable] = field(default_factory=dict)
    public_url: str | None = None

    def ended(self, store: Store, entry: CampaignEntry, *, slower: bool = False) -> Sequence[OutgoingMessage]:
        """The messages about a campaign that has ended; none where it only waits again.

        Args:
            slower: it is a check that found its machine slower than the baseline.
        """
        events = _events(entry, slower=slower)
        wanted = [(name, event) for name, table in self.webhooks.items() for event in events if event in table.events]
        if not wanted:
            return []
        study = store.study(entry.name) if store.queue.is_study(entry.name) else None
        rates = rates_of(store, study) if study else None
        facts = {
            "campaign": entry.name,
            "kind": entry.order.kind,
            "state": entry.state,
            "rates": study.how if study else None,
            **(rates.to_json() if rates else NO_RATES),
            "reason": without_paths(entry.reason),
            "ended_at": None if entry.ended_at is None else entry.ended_at.isoformat(),
            "link": self.public_url and f"{self.public_url}/campaigns/{quote(entry.name, safe='')}",
        }
        return [OutgoingMessage(name, event, {"event": event, **facts}) for name, event in wanted]

    def trial(self, webhook: str, asked_by: str) -> OutgoingMessage:
        """A message that only shows that messages arrive."""
        told = {"event": TEST, "campaign": None, "reason": f"{asked_by} tries this webhook", "link": self.public_url}
        return OutgoingMessage(webhook, TEST, told)


def announcer_of(config: ServiceConfig) -> Announcer:
    """The announcer of a service."""
    return Announcer(config.webhooks, config.listen.public_url)


def _events(entry: CampaignEntry, *, slower: bool) -> Sequence[EventName]:
    waits = entry.state is QueueState.PAUSED and entry.wanted is WantedState.RUN  # its processes died, nobody asked
    if entry.state is QueueState.FAILED or waits:
        return ["failed"]
    if entry.state is not QueueState.DONE:
        return []
    return ["done", "slower"] if slower else ["done"]


TIMEOUT_S = 10.0
"""Seconds for the connection, and for each part of the answer."""
SIGNATURE = "X-Hpltune-Signature"
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
KEPT_FOR = timedelta(days=1)
"""A message is given up after attempts for so long, not counting the time when no service runs."""


class _StayHere(HTTPRedirectHandler):
    """Follows no redirect: a message goes only where the operator said."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Make no request."""
        del req, fp, code, msg, headers, newurl


_OPENER = build_opener(_StayHere)


def send(webhook: WebhookTable, message: Delivery, now: datetime) -> str:
    """Post a message once.

    Returns:
        "" where the receiver took it; else why not, in a few words.
    """
    body = message.body.encode()
    try:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"hpltune/{version('hpltune')}",
            "X-Hpltune-Event": message.event,
            "X-Hpltune-Delivery": message.number,
            SIGNATURE: signature(webhook.secret(), now, body),
        }
        request = Request(webhook.url, body, headers, method="POST")  # noqa: S310 - the configuration takes HTTP only
        with _OPENER.open(request, timeout=TIMEOUT_S):
            return ""  # 2xx; what else the answer says does not matter, so it is not read
    except HTTPError as error:
        error.close()
        return f"the receiver answered {error.code}" + (", a redirect" if 300 <= error.code < 400 else "")
    except ClusterFileError:
        return "its secret cannot be read"
    except (OSError, HTTPException, ValueError) as error:
        return _why(error)


def signature(secret: bytes, now: datetime, body: bytes) -> str:
    """The header that proves who sent a message and when: HMAC-SHA256 over the seconds, a dot and the body."""
    seconds = str(int(now.timestamp()))
    return f"t={seconds},v1={hmac.new(secret, seconds.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def wait_after(attempts: int) -> timedelta | None:
    """How long to wait after so many attempts that failed; None gives up."""
    waits = [min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(number, 20)) for number in range(attempts)]
    return waits[-1] if sum(waits, timedelta()) <= KEPT_FOR else None


def _why(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    if isinstance(cause, TimeoutError):
        return f"the receiver did not answer in {TIMEOUT_S:g} s"
    if isinstance(cause, OSError) and not isinstance(cause, HTTPException):
        return f"the receiver cannot be reached: {cause.strerror or type(cause).__name__}"
    return "the receiver's answer is not HTTP"


LOOK_S = 1.0
"""Seconds between two looks for messages."""
CLAIMED_FOR = timedelta(minutes=1)
"""A message is sent again, perhaps by another service, when nobody has told how an attempt went for so long."""
REMEMBERED = timedelta(days=30)
"""Messages that wait no longer are removed after so long."""
CLOSING_S = 2.0
"""Seconds that the end of the service waits for a message under way; it is sent again when a service runs."""
LOGGER = logging.getLogger("hpltune.webhooks")


@dataclass
class WebhookSender:
    """Deliver what is due until they are closed.

    Attributes:
        now: tells the time.
    """

    store: Store
    webhooks: Mapping[str, WebhookTable]
    now: Callable[[], datetime] = field(default=partial(datetime.now, UTC))
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
