"""Kinds of answers, and the names under which browsers save them."""

from urllib.parse import quote

from fastapi.responses import Response, StreamingResponse

CSV, JSON_LINES, PLAIN = "text/csv; charset=utf-8", "application/jsonl", "text/plain; charset=utf-8"
PARQUET, SCRIPT = "application/vnd.apache.parquet", "text/x-shellscript; charset=utf-8"


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


def as_json(body: bytes) -> Response:
    """Answer with JSON that is made already."""
    return Response(body, media_type="application/json")


def as_text(text: str) -> bytes:
    """Write what a program printed, which may have bytes that are no text."""
    return text.encode("utf-8", "backslashreplace")


def saved(name: str) -> dict[str, str]:
    """Let a browser save an answer under a name; it comes whole, whatever range was asked for."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}", "Accept-Ranges": "none"}
