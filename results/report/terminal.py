"""Prints a report on a terminal, without cutting off tables on a narrow one."""

from dataclasses import replace

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable

from .model import Copied, Figure, Heading, Report, Sentence, Table, Tone, Wrap
from .text_figures import BAR, bar, can_draw, text_lines

WIDEST = 1_000
"""Characters that no table needs."""
STYLES = {Tone.PLAIN: None, Tone.GOOD: "green", Tone.BAD: "red", Tone.CAUTION: "yellow"}
ROOM_FOR_BARS = 100
"""Characters of a terminal from which a table has room for bars."""
BORDER = 3
"""Characters that a column takes beside its cells."""


def print_report(console: Console, report: Report) -> None:
    """Print the sentences and tables of a report; of figures only those that a few characters can show."""
    for part in report.parts:
        if isinstance(part, Heading):
            console.print(f"\n{part.text}", style="bold")
        elif isinstance(part, Copied):
            console.print(part.text, soft_wrap=True)
        elif isinstance(part, Sentence):
            console.print(part.text, soft_wrap=part.unbroken, style=STYLES[part.tone])
        elif isinstance(part, Table):
            print_table(console, part)
        elif isinstance(part, Figure) and part.in_text and can_draw(console):
            for line in text_lines(part):
                console.print(line)


def print_table(console: Console, table: Table) -> None:
    """Print a table whole, or, where it is too wide, only its main columns or in pieces."""
    if can_draw(console) and console.width >= ROOM_FOR_BARS:
        table = _with_bars(table)
    if table.narrow is None and not table.in_pieces:
        console.print(_rich(table))
    elif table.in_pieces:
        for piece in _pieces(table, console.width):
            console.print(_rich(piece))
    elif Measurement.get(console, console.options.update_width(WIDEST), _rich(table)).maximum <= console.width:
        console.print(_rich(table))
    else:
        console.print(_rich(table.only(table.narrow or ())))
        for line in table.below:
            console.print(line)


def _with_bars(table: Table) -> Table:
    """Put bars before the cells of the columns that have some."""
    bars = {number: column.bars for number, column in enumerate(table.columns) if column.bars}
    rows = (
        tuple(
            f"{bar(bars[number][place]):<{BAR}} {cell}" if number in bars else cell for number, cell in enumerate(row)
        )
        for place, row in enumerate(table.rows)
    )
    return replace(table, rows=tuple(rows)) if bars else table


def _pieces(table: Table, width: int) -> list[Table]:
    """Split a table into several, each with its first column and as many other columns as fit the width."""
    lines = [tuple(column.name for column in table.columns), *table.rows]
    left = width - 1 - BORDER - max(len(line[0]) for line in lines)
    most = max(1, left // (BORDER + max(len(cell) for line in lines for cell in line[1:])))
    found = []
    for first in range(1, len(table.columns), most):
        cut = slice(first, first + most)
        found.append(
            Table(
                table.title if first == 1 else "",
                (table.columns[0], *table.columns[cut]),
                tuple((row[0], *row[cut]) for row in table.rows),
                bold=table.bold,
                total=table.total,
            )
        )
    return found


def _rich(table: Table) -> RichTable:
    shown = RichTable(title=table.title or None, title_justify="left", show_header=not table.headless)
    shown.caption, shown.caption_justify = table.caption or None, "left"
    for column in table.columns:
        shown.add_column(
            column.name if column.short is None else column.short,
            justify="left" if column.words else "right",
            overflow="fold" if column.wrap is Wrap.ANYWHERE else "ellipsis",
            no_wrap=column.wrap is Wrap.NEVER,
        )
    last = len(table.rows) - 2
    for number, row in enumerate(table.rows):
        style = "bold" if number in table.bold else ""
        shown.add_row(*row, style=style, end_section=table.total and number == last)
    return shown
