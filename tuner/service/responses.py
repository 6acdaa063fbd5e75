"""Kinds of answers, and the names under which browsers save them."""

import json
from typing import Any
from urllib.parse import quote

from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel

from ..messages.plain_paths import facts_without_paths

CSV, JSON_LINES, PLAIN = "text/csv; charset=utf-8", "application/jsonl", "text/plain; charset=utf-8"
PARQUET, SCRIPT = "application/vnd.apache.parquet", "text/x-shellscript; charset=utf-8"

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Keep browsers careful; a page with a style or a script of its own has another policy."""


class CsvResponse(StreamingResponse):
    """Comma-separated values."""

    media_type = CSV


class JsonLinesResponse(StreamingResponse):
    """A JSON object on each line."""

    media_type = JSON_LINES


class PlainResponse(Response):
    """Text."""

    media_type = PLAIN


class ScriptResponse(Response):
    """A script of a shell."""

    media_type = SCRIPT


class ParquetResponse(Response):
    """A table with types."""

    media_type = PARQUET


class PlainPathsResponse(JSONResponse):
    """JSON in which paths are only the names of their files: nobody elsewhere reads folders of this machine."""

    def render(self, content: Any) -> bytes:
        """Write the content."""
        return super().render(facts_without_paths(content))


def without_folders(made: BaseModel) -> bytes:
    """Write the same of a model, for an answer that is kept."""
    return bytes(PlainPathsResponse(json.loads(made.model_dump_json())).body)


def as_json(body: bytes) -> Response:
    """Answer with JSON that is made already."""
    return Response(body, media_type="application/json")


def as_text(text: str) -> bytes:
    """Write what a program printed, which may have bytes that are no text."""
    return text.encode("utf-8", "backslashreplace")


def saved(name: str, *, shown: bool = False) -> dict[str, str]:
    """Let a browser save an answer under a name; it comes whole, whatever range was asked for.

    Args:
        shown: the browser shows it first.
    """
    how = "inline" if shown else "attachment"
    return {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(name, safe='')}", "Accept-Ranges": "none"}
