"""A report as JSON, for scripts."""

import json

from .model import Report


def to_json(report: Report) -> str:
    """The facts of a report as JSON, a key a line."""
    return json.dumps(report.facts, indent=1)
