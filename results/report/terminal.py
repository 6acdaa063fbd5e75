"""Prints a report on a terminal: tables that no narrow terminal cuts off, and figures of a few characters."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from .model import Copied, Figure, Heading, Report, Sentence, Table, Tone, Wrap

STYLES = {Tone.PLAIN: None, Tone.GOOD: "green", Tone.BAD: "red", Tone.CAUTION: "yellow"}
ROOM_FOR_BARS = 100
"""Characters of a terminal from which a table has room for bars."""
BORDER = 3
"""Characters that a column takes beside its cells."""
FOLDED = 12
"""Characters that are enough for a column whose cells may be broken anywhere."""

LEVELS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"
MOST = 40
"""Characters of a line."""
BAR = 8
"""Characters of a bar."""
HIGH = 5
"""Lines of the highest column of a histogram."""
WIDE, WIDEST_COLUMN = 60, 3
"""Characters of all columns of a histogram, and of one at most."""
_UNBROKEN = re.compile(r"\s*(?:[^\s`]*`[^`]*`\S*|(?<=: )(?:\./)?hpltune .*|\S+)")
"""A word, or a command to copy, which stays on one line; with the blanks before it."""
PLAIN = frozenset({"linux", "dumb"})
"""Kinds of terminals (TERM) whose fonts do not have these characters."""


def print_report(console: Console, report: Report) -> None:
    """Print the sentences and tables of a report; of figures only those that a few characters can show."""
    for part in report.parts:
        if isinstance(part, Heading):
            console.print(part.text if part is report.parts[0] else f"\n{part.text}", style="bold")
        elif isinstance(part, Copied):
            console.print(part.text, soft_wrap=True)
        elif isinstance(part, Sentence):
            say(console, part.text, STYLES[part.tone])
        elif isinstance(part, Table):
            print_table(console, part)
        elif isinstance(part, Figure) and part.in_text and can_draw(console):
            for line in text_lines(part):
                console.print(line)


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a sentence: on a terminal broken between words only, elsewhere on one line.

    A command in backticks or after a colon, and a line that begins with blanks, are never broken by us: they can be
    copied as they are.
    """
    if console.is_terminal:
        text = "\n".join(wrapped(console.render_str(text, markup=False, emoji=False).plain, console.width))
    console.print(text, soft_wrap=True, style=style)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines between words; a word or command that is wider than a line has one of its own."""
    lines = []
    for paragraph in text.split("\n"):
        if paragraph.startswith(" ") or cell_len(paragraph) <= width:
            lines.append(paragraph)
            continue
        line = ""
        for word in _UNBROKEN.findall(paragraph):
            if line and cell_len(line + word) > width:
                lines.append(line)
                line = word.lstrip()
            else:
                line += word
        lines.append(line)
    return lines


def print_table(console: Console, table: Table) -> None:
    """Print a table whole, or, where it is too wide, only its main columns or in pieces.

    Facts, which have two columns without heads, are lines where no terminal draws them, as sentences are.
    """
    if table.headless and len(table.columns) == 2 and not console.is_terminal:
        facts = (f"{name}: {text}".replace("\n", "\n  ") for name, text in table.rows)
        for line in filter(None, (table.title, *facts)):
            console.print(line, soft_wrap=True)
        return
    if can_draw(console) and console.width >= ROOM_FOR_BARS:
        table = _with_bars(table)
    narrow = table.narrow is not None and not _fits(table, console.width)
    for piece in _pieces(table.only(table.narrow or ()) if narrow else table, console.width):
        console.print(_rich(piece, console.width))
    head = "" if table.columns[0].words else table.columns[0].name
    for first, *others in table.rows if narrow and table.below else ():
        beside = zip(table.columns[1:], others, strict=True)
        told = [f"{one.name} {cell}".strip() for one, cell in beside if cell and one.name not in (table.narrow or ())]
        say(console, f"{head} {first}: {', '.join(told)}".lstrip())


def _fits(table: Table, width: int) -> bool:
    """Whether a line has room for the longest cells of all columns."""
    return sum(most for _, most in _lengths(table)) <= _room(table, width)


def _room(table: Table, width: int) -> int:
    """Count the characters that the cells of a row share."""
    return width - 1 - BORDER * len(table.columns)


def _lengths(table: Table) -> Iterator[tuple[int, int]]:
    """Count, for each column, the fewest characters that it needs, and those of its longest cell."""
    for number, column in enumerate(table.columns):
        texts = (column.short or column.name, *(row[number] for row in table.rows))
        most = max(cell_len(line) for text in texts for line in text.split("\n"))
        word = max((cell_len(word) for text in texts for word in text.split()), default=0)
        yield {Wrap.NEVER: most, Wrap.ANYWHERE: min(word, FOLDED)}.get(column.wrap or Wrap.AT_WORDS, word), most


def _widths(table: Table, width: int) -> list[int] | None:
    """Characters of each column where the widest ones break their cells; None where words have no room."""
    lengths, room = list(_lengths(table)), _room(table, width)
    if sum(least for least, _ in lengths) > room:
        return None
    level = room
    while sum(min(most, max(least, level)) for least, most in lengths) > room:
        level -= 1
    return [min(most, max(least, level)) for least, most in lengths]


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
    """Split a table that is too wide into several, each with its first column and as many others as fit a line."""
    if _fits(table, width) or (not table.in_pieces and _widths(table, width)):
        return [table]
    (_, name), *others = _lengths(table)
    whole = width - 1 - BORDER - name
    starts, left = [1], whole
    for number, (_, most) in enumerate(others, 1):
        if BORDER + most > left and number > starts[-1]:
            starts.append(number)
            left = whole
        left -= BORDER + most
    return [_piece(table, first, last) for first, last in pairwise([*starts, len(table.columns)])]


def _piece(table: Table, first: int, last: int) -> Table:
    """Return the first column and those from `first` up to `last`; the title is above the first piece."""
    return replace(
        table,
        title=table.title if first == 1 else "",
        columns=(table.columns[0], *table.columns[first:last]),
        rows=tuple((row[0], *row[first:last]) for row in table.rows),
        caption=table.caption if last == len(table.columns) else "",
        links=(),
    )


def _rich(table: Table, width: int) -> RichTable:
    shown = RichTable(title=table.title or None, title_justify="left", show_header=not table.headless)
    shown.caption, shown.caption_justify = table.caption or None, "left"
    widths = None if _fits(table, width) else _widths(table, width)
    for number, column in enumerate(table.columns):
        shown.add_column(
            column.short or column.name,
            justify="left" if column.words else "right",
            overflow="fold",
            no_wrap=column.wrap is Wrap.NEVER,
            width=widths[number] if widths else None,
        )
    last = len(table.rows) - 2
    for number, row in enumerate(table.rows):
        shown.add_row(*row, style="bold" if number in table.bold else "", end_section=table.total and number == last)
    return shown


def can_draw(console: Console) -> bool:
    """Whether somebody reads this on a terminal that has the characters; a file or a program gets words only."""
    unicode = console.encoding.lower().replace("-", "").startswith("utf")
    return console.is_terminal and unicode and os.environ.get("TERM") not in PLAIN


def text_lines(figure: Figure) -> list[str]:
    """Write a figure in characters: its first line in small blocks, with its ends, or without lines its first columns.

    There is nothing where it has neither, and where the line does not change.
    """
    line = next((one for one in figure.series if one.line), None)
    if line is None:
        return _histogram(figure)
    drawn = f"{blocks(_evenly(line.x, line.y), line.y)} {line.y[0]:.4g} to {line.y[-1]:.4g} {figure.y_axis}"
    return [f"{figure.title}: {drawn}"] if len(set(line.y)) > 1 else []


def _histogram(figure: Figure) -> list[str]:
    """Write columns above an axis that names the first, the middle and the last of them."""
    columns = next((one for one in figure.series if any(one.y)), None)
    if columns is None:
        return []
    most, count = max(columns.y), len(columns.y)
    wide = max(1, min(WIDEST_COLUMN, WIDE // count))
    margin = len(f"{most:.4g}")
    lines = [f"{figure.title} ({figure.y_axis})"]
    for row in reversed(range(HIGH)):
        named = f"{most:.4g}" if row == HIGH - 1 else ""
        blocks = "".join(wide * _part_of_column(y / most, row) for y in columns.y)
        lines.append(f"{named:>{margin}} │{blocks}".rstrip())
    lines.append(f"{'0':>{margin}} └{'─' * (wide * count)}")
    first, middle, last = (str(columns.x[place]) for place in (0, count // 2, -1))
    named = f"{first:<{wide * (count // 2)}}{middle}"
    lines.append(f"{'':>{margin}}  {named:<{max(len(named) + 1, wide * count - len(last))}}{last}  {figure.x_axis}")
    return lines


def _part_of_column(part: float, row: int) -> str:
    """Return the block of a column in a line, counted from below; a column above 0 shows an eighth at least."""
    eighths = max(1, round(8 * HIGH * part)) if part > 0.0 else 0
    return f" {LEVELS}"[min(8, max(0, eighths - 8 * row))]


def bar(part: float | None) -> str:
    """Write a part of 1 as a bar of at most BAR characters; "" for None."""
    if part is None:
        return ""
    eighths = round(8 * BAR * min(1.0, max(0.0, part)))
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def _evenly(x: Sequence[float | str], y: Sequence[float]) -> list[float]:
    """Return what a line had reached at some places with the same distance on the axis."""
    places = [float(place) for place in x]
    first, last, count = places[0], places[-1], min(MOST, len(y))
    found, at = [], 0
    for step in range(1, count + 1):
        end = first + (last - first) * step / count
        while at + 1 < len(places) and places[at + 1] <= end:
            at += 1
        found.append(y[at])
    return found


def blocks(values: Sequence[float], of: Sequence[float]) -> str:
    """Write values as small blocks: the least of `of` as the lowest one, the most as the highest."""
    least, most, steps = min(of), max(of), len(LEVELS) - 1
    wide = (most - least) or 1.0
    return "".join(LEVELS[round(steps * (one - least) / wide) if most > least else steps // 2] for one in values)
