"""Log lines on standard error: plain ones for people, or JSON for programs."""

import json
import logging
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ..settings import LogKind
from .seen import SeenRequest

QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Addresses that programs ask all the time; they are told only where they fail."""
_logger = logging.getLogger("hpltune.service")


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
    _logger.log(logging.ERROR if request.status >= 500 else logging.INFO, "request", extra={"request": request})


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
    }
