"""Renders a report as Markdown, for a wiki or a notebook."""

from collections.abc import Iterable

from .model import Copied, Heading, Report, Sentence, Table


def to_markdown(report: Report) -> str:
    """Render the sentences and tables of a report as Markdown; figures are left out."""
    parts = [f"# {report.title}"] if report.title else []
    for part in report.parts:
        if isinstance(part, Heading):
            parts.append(f"## {part.text}")
        elif isinstance(part, Copied):
            parts.append(f"```text\n{part.text}\n```")
        elif isinstance(part, Sentence):
            parts.append(part.text)
        elif isinstance(part, Table):
            parts += [f"**{part.title}**"] if part.title else []
            parts.append(table_lines(part))
            parts += [part.caption] if part.caption else []
    return "\n\n".join(parts) + "\n"


def table_lines(table: Table) -> str:
    """Render a table as Markdown, with all its columns."""
    heads = [column.name for column in table.columns]
    marks = ["---" for _ in heads]
    rows = (
        [(f"[{row[0]}]({link})", *row[1:]) for row, link in zip(table.rows, table.links, strict=True)]
        if table.links
        else table.rows
    )
    return "\n".join([_line(heads), "|" + "".join(f"{mark}|" for mark in marks), *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
