"""Renders a report as JSON, for scripts."""

import json
from collections.abc import Iterator

from .model import Report, Rows


def to_json(report: Report) -> str:
    """Render the facts of a report as JSON, with a key or a row per line."""
    return "".join(json_parts(report))


def json_parts(report: Report) -> Iterator[str]:
    """Write the facts of a report in parts: a long list has one for each row."""
    if not isinstance(report.facts, Rows):
        yield json.dumps(report.facts, indent=1)
        return
    between = "[\n"
    for row in report.facts.read():
        yield between + json.dumps(row)
        between = ",\n"
    yield "\n]" if between != "[\n" else "[]"
