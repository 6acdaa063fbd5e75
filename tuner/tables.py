"""Tables of which nothing is cut off, however narrow the terminal is."""

from collections.abc import Iterable

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
