"""A request that was answered, and its log line on standard error: plain for people, or JSON for programs."""

import json
import logging
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from starlette.types import Scope

from .callers import Caller
from .config import LogKind
from .hardening import READING
from .proxy_headers import RequestSource

NO_ROUTE = "unmatched"
METHODS = READING | {"POST", "PUT", "PATCH", "DELETE"}
PREVIEW = "/new/preview"
"""Takes the form of a new campaign, and tells what would come of it."""
CHANGES_NOTHING = frozenset({"/api/v1/previews", PREVIEW})
"""Addresses that take a document or a form with POST and change nothing."""
REFUSED = frozenset({401, 403, 421, 429})
_TOKEN = re.compile(r"hpltune_[\w-]+")
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Addresses that programs ask all the time; they are told only where they fail."""
_LOGGER = logging.getLogger("hpltune.service")


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
    caller, source = state.get("caller"), state.get("source")
    named = str(scope.get("path_params", {}).get("name") or state.get("target", ""))
    made = location.rpartition("/")[2] if status < HTTPStatus.MULTIPLE_CHOICES else ""
    return SeenRequest(
        id=id_,
        who=caller.name if isinstance(caller, Caller) else str(state.get("who", "")),
        address=source.address if isinstance(source, RequestSource) else "",
        method=scope["method"] if scope["method"] in METHODS else "OTHER",
        path=masked(scope.get("raw_path", b"").decode("ascii", "backslashreplace").partition("?")[0]),
        route=getattr(scope.get("route"), "path", NO_ROUTE),
        target=masked(named or made),
        status=status,
        ms=ms,
    )


def masked(text: str) -> str:
    """Return a text without what looks like a token."""
    return _TOKEN.sub("hpltune_…", text)


class PlainLogLines(logging.Formatter):
    """What changed something, was refused or failed, as a line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        request = getattr(record, "request", None)
        if not isinstance(request, SeenRequest):
            return super().format(record)
        who = " ".join(part for part in (request.who, request.address) if part)
        time = f"{datetime.fromtimestamp(record.created):%H:%M:%S}"
        return f"{time} {who} {request.method} {request.path} {request.status} ({request.ms:.0f} ms)"


class JsonLogLines(logging.Formatter):
    """Every request as one object of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        request = getattr(record, "request", None)
        if isinstance(request, SeenRequest):
            line |= {**asdict(request), "ms": round(request.ms, 1)}
        else:
            line["said"] = super().format(record)
        return json.dumps(line, ensure_ascii=False)


class ForPeople(logging.Filter):
    """Leaves out requests that only looked, and were answered."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        request = getattr(record, "request", None)
        return not isinstance(request, SeenRequest) or request.changes or request.status >= 400


def tell(request: SeenRequest) -> None:
    """Log a request."""
    if request.status < 400 and (request.route in QUIET or request.path.startswith("/assets/")):
        return
    _LOGGER.log(logging.ERROR if request.status >= 500 else logging.INFO, "request", extra={"request": request})


def log_config(kind: LogKind) -> dict[str, Any]:
    """Make the configuration of logging, as `logging.config.dictConfig` takes it."""
    handler = {"class": "logging.StreamHandler", "formatter": kind, "filters": ["people"] if kind == "plain" else []}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"people": {"()": ForPeople}},
        "formatters": {"plain": {"()": PlainLogLines}, "json": {"()": JsonLogLines}},
        "handlers": {"stderr": handler},
        "loggers": {
            "hpltune": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }
