"""Posts a message to a webhook: signed, without following redirects, and for some seconds only."""

import hashlib
import hmac
from datetime import datetime, timedelta
from http.client import HTTPException, HTTPMessage
from importlib.metadata import version
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from results.store.service.deliveries import Delivery
from runners.toml_file import ClusterFileError

from .table import WebhookTable

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
    digest = hmac.new(secret, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


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
