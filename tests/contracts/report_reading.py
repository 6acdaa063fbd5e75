"""Reads a report as people on a terminal and as scripts do."""

import io
import json
from typing import Any

from results.report.model import Report
from results.report.terminal import print_report
from results.report.text_forms import to_json
from tuner.console import Terminal


def printed(report: Report, width: int = 200) -> str:
    text = io.StringIO()
    print_report(Terminal(file=text, width=width), report)
    return text.getvalue()


def as_json(report: Report) -> Any:
    return json.loads(to_json(report))
