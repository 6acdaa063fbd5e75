"""Renders a report as JSON for scripts, as Markdown, and as JUnit for CI services."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

from .model import Copied, Folded, Heading, Report, Rows, Sentence, Table, inner_parts


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


def to_markdown(report: Report) -> str:
    """Render the sentences and tables of a report as Markdown; figures are left out."""
    parts = [f"# {report.title}"] if report.title else []
    for part in inner_parts(report.parts):
        if isinstance(part, Heading):
            parts.append(f"## {part.text}")
        elif isinstance(part, Copied):
            parts.append(f"```text\n{part.text}\n```")
        elif isinstance(part, Sentence | Folded):
            parts.append(part.text if isinstance(part, Sentence) else part.title)
        elif isinstance(part, Table):
            parts += [f"**{part.title}**"] if part.title else []
            parts.append(table_lines(part))
            parts += [part.caption] if part.caption else []
    return "\n\n".join(parts) + "\n"


def table_lines(table: Table) -> str:
    """Render a table as Markdown, with all its columns."""
    rows = (
        [(f"[{row[0]}]({link})", *row[1:]) for row, link in zip(table.rows, table.links, strict=True)]
        if table.links
        else table.rows
    )
    return "\n".join([_line(one.name for one in table.columns), "|" + "---|" * len(table.columns), *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


@dataclass(frozen=True)
class JUnitCase:
    """One test.

    Attributes:
        suite: name of the suite that holds it.
        problem: what JUnit calls its outcome; None if it passed.
        message: one sentence on the problem.
        text: all that was found.
        time_s: how long it took.
    """

    suite: str
    name: str
    problem: Literal["failure", "error", "skipped"] | None
    message: str
    text: str
    time_s: float


def to_junit(case: JUnitCase) -> str:
    """Write a file with one suite that holds one test."""
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    figures = {"tests": "1", **{name: str(int(case.problem == problem)) for name, problem in counts.items()}}
    time = {"time": f"{case.time_s:.3f}"}
    suites = ET.Element("testsuites", {**figures, **time})
    suite = ET.SubElement(suites, "testsuite", {"name": _legal(case.suite), **figures, **time})
    test = ET.SubElement(suite, "testcase", {"classname": _legal(case.suite), "name": _legal(case.name), **time})
    if case.problem is None:
        ET.SubElement(test, "system-out").text = _legal(case.text)
    else:
        ET.SubElement(test, case.problem, {"message": _legal(case.message)}).text = _legal(case.text)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    """Replace what XML cannot hold, such as control characters in what a program printed."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in text)
