"""Keeps figures of large studies small: a page needs no point for each of 100,000 trials."""

from dataclasses import replace
from typing import TypeVar

from .model import Drawable, Matrix, Series

Value = TypeVar("Value")
MOST = 1_500
"""Points of a series that a figure shows; more of them cover each other."""


def thinned(figure: Drawable) -> Drawable:
    """Return the figure with at most about `MOST` points a series; a series that lost points says so in its name.

    A heat map stays as it is.
    """
    if isinstance(figure, Matrix):
        return figure
    return replace(figure, series=tuple(_thinned(one) for one in figure.series))


def _thinned(series: Series) -> Series:
    """Keep the corners of a line, or every k-th point, and the ends, the highest and the lowest always."""
    count = len(series.x)
    if count <= MOST:
        return series
    y = series.y
    kept = [place for place in range(count) if place in {0, count - 1} or not series.line or _corner(y, place)]
    step = -(-len(kept) // MOST)
    chosen = {*kept[::step], kept[-1], y.index(max(y)), y.index(min(y))}
    named = series.name if step == 1 else f"{series.name} (every {_ordinal(step)})"
    return _only(replace(series, name=named), sorted(chosen))


def _ordinal(number: int) -> str:
    """Write a number as "2nd", "3rd", "4th", "11th", "21st"."""
    teens = 10 < number % 100 < 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _corner(y: tuple[float, ...], place: int) -> bool:
    """Whether a line changes its height at a point."""
    return y[place] not in {y[place - 1], y[place + 1]} or y[place - 1] != y[place + 1]


def _only(series: Series, places: list[int]) -> Series:
    """Return the series with some of its points."""
    return replace(
        series,
        x=_at(series.x, places),
        y=_at(series.y, places),
        low=_at(series.low, places),
        high=_at(series.high, places),
        labels=_at(series.labels, places),
    )


def _at(values: tuple[Value, ...], places: list[int]) -> tuple[Value, ...]:
    """Return some of the values; none where there are none."""
    return tuple(values[place] for place in places) if values else ()
