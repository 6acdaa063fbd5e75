"""Tables of which nothing is cut off, however narrow the terminal is."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 1_000
"""Characters that no table needs."""


def print_fitting(console: Console, wide: Table, narrow: Table, below: Iterable[str]) -> None:
    """Print a table where it fits, else a narrower one with lines below that say the rest."""
    if Measurement.get(console, console.options.update_width(WIDEST), wide).maximum <= console.width:
        console.print(wide)
        return
    console.print(narrow)
    for line in below:
        console.print(line)


def of_cells(
    title: str,
    rows: Sequence[Mapping[str, str]],
    names: Iterable[str],
    left: Collection[str],
    styles: Sequence[str] = (),
) -> Table:
    """A table of some columns of rows; what does not fit into a cell goes on in its next line.

    Args:
        left: columns of words; the others hold figures.
        styles: of the rows; none of its own without.
    """
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        table.add_row(*(row[name] for name in names), style=style)
    return table
