"""The heat map of a campaign: the best rate of each NB and grid, as a table whose cells have colours."""

from dataclasses import dataclass

from results.metrics import rate_text

from .digest import Digest

SHADES = 9
"""Colours, which the style names heat-0 to heat-8."""
MOST_ROWS, MOST_COLUMNS = 40, 16
"""Of the map; where there are more, those with the best rates are shown."""


@dataclass(frozen=True)
class HeatCell:
    """One NB and grid; no text where no full run had them."""

    text: str = ""
    shade: int = 0
    runs: int = 0


@dataclass(frozen=True)
class HeatMap:
    """A table for a template.

    Attributes:
        columns: grids, from flat to square and beyond.
        rows: each NB with a cell for each grid.
        left_out: some are not shown.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[HeatCell, ...]], ...]
    low: str
    high: str
    left_out: bool


def heat_map(digest: Digest) -> HeatMap | None:
    """Make the heat map of a campaign; None before the first full run."""
    cells = digest.cells
    if not cells:
        return None
    by_best = sorted(cells, key=lambda key: -cells[key].best_gflops)
    sizes, grids = list(dict.fromkeys(NB for NB, _ in by_best)), list(dict.fromkeys(grid for _, grid in by_best))
    rows, columns = sorted(sizes[:MOST_ROWS]), sorted(grids[:MOST_COLUMNS])
    rates = [cell.best_gflops for cell in cells.values()]
    low, high = min(rates), max(rates)

    def of(NB: int, grid: tuple[int, int]) -> HeatCell:
        cell = cells.get((NB, grid))
        if cell is None:
            return HeatCell()
        part = (cell.best_gflops - low) / (high - low) if high > low else 1.0
        return HeatCell(rate_text(cell.best_gflops), min(SHADES - 1, int(part * SHADES)), cell.runs)

    return HeatMap(
        columns=tuple(f"{P} x {Q}" for P, Q in columns),
        rows=tuple((NB, tuple(of(NB, grid) for grid in columns)) for NB in rows),
        low=rate_text(low),
        high=rate_text(high),
        left_out=len(sizes) > len(rows) or len(grids) > len(columns),
    )
