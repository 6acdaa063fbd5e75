"""Leaves out points of a figure that would cover each other."""

from dataclasses import replace
from typing import Any

from .model import Drawable, Figure, Gantt, Matrix, Series, Timeline

MOST = 1_500
"""Points of a series that a figure shows."""


def thinned(figure: Drawable) -> Drawable:
    """Return the figure with at most about `MOST` points a series; a series that lost points says so in its name.

    A heat map and lanes stay as they are.
    """
    if isinstance(figure, Matrix | Gantt):
        return figure
    if isinstance(figure, Timeline):
        return replace(figure, rows=tuple(_thin(row) for row in figure.rows))
    return _thin(figure)


def _thin(figure: Figure) -> Figure:
    return replace(figure, series=tuple(_thinned(one) for one in figure.series))


def _thinned(series: Series) -> Series:
    """Keep the corners of a line, or every k-th point, and the ends, the highest and the lowest always."""
    count = len(series.x)
    if count <= MOST and not series.steps:
        return series
    y = series.y
    kept = [place for place in range(count) if place in {0, count - 1} or not series.line or _corner(y, place)]
    step = -(-len(kept) // MOST)
    chosen = {*kept[::step], kept[-1], y.index(max(y)), y.index(min(y))}
    named = series.name if step == 1 else f"{series.name} (1 of {step})"
    return _only(replace(series, name=named), sorted(chosen))


def _corner(y: tuple[float, ...], place: int) -> bool:
    """Whether a line changes its height at a point."""
    return y[place] not in {y[place - 1], y[place + 1]} or y[place - 1] != y[place + 1]


def _only(series: Series, places: list[int]) -> Series:
    """Return the series with some of its points."""
    kept: dict[str, Any] = {
        name: tuple(values[place] for place in places)
        for name in ("x", "y", "low", "high", "labels", "notes", "hollow", "links")
        if (values := getattr(series, name))
    }
    return replace(series, **kept)
