"""Draws any figure on a canvas of its own: one diagram, the rows of a timeline below each other, or lanes."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from .drawing import GREY, DrawnValue, draw
from .gantt import draw_lanes
from .model import Drawable, Figure, Gantt, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

SHADE = 0.25
"""How dense a shaded stretch is, so that what is before it stays readable on a light and on a dark page."""
BESIDE = 0.02
"""Part of the time that stays free before the first moment and after the last."""
ABOVE, FOR_NAMES = 0.12, 0.4
"""Part of its values' span that stays free above the highest of a row, and of the first one, which has names there."""
LEAST_SPAN = 0.05
"""Part of its highest value that a row shows at least, so that what hardly changes does not look as if it did."""
MARKER_PT = 2.5
"""Size of the markers, which show when something was measured."""
FEW_NUMBERS = 4
"""Numbers at most beside a row."""
SMALL = "small"
"""Size of the letters of a moment's name."""


def draw_on(figure: Drawable, canvas: FigureBase, width_inches: float) -> list[DrawnValue]:
    """Draw a figure without its title on an empty canvas.

    Args:
        canvas: a figure of matplotlib, or a part of one. `drawing.STYLE` must be set.

    Returns:
        Where each value is; `row` is the place of its axes in `canvas.axes`.
    """
    if isinstance(figure, Gantt):
        return draw_lanes(figure, canvas, width_inches)
    if not isinstance(figure, Timeline):
        return draw(figure, canvas.subplots(), width_inches)
    all_axes: list[Axes] = list(canvas.subplots(len(figure.rows), 1, sharex=True, squeeze=False)[:, 0])
    marks: list[DrawnValue] = []
    for number, (row, axes) in enumerate(zip(figure.rows, all_axes, strict=True)):
        last = number == len(figure.rows) - 1
        draw(replace(row, x_axis=figure.rows[0].x_axis if last else "", y_axis=""), axes, width_inches)
        axes.set_title(f"{row.title} in {row.y_axis}", loc="left", fontsize="medium", pad=3)
        _scale(row, axes, ABOVE if number or not figure.moments else FOR_NAMES)
        _mark_time(figure, axes)
        marks += [replace(mark, row=number) for mark in _values(row)]
    _name_moments(figure, all_axes[0])
    return marks


def _values(row: Figure) -> list[DrawnValue]:
    """Say what each point of a row is."""
    return [
        DrawnValue(0, float(x), y, f"{float(x):,.4g} {row.x_axis}: {y:,.4g} {row.y_axis}")
        for one in row.series
        for x, y in zip(one.x, one.y, strict=True)
    ]


def _scale(row: Figure, axes: Axes, free: float) -> None:
    """Give a row small markers, few numbers, written in full, and a free part above its highest value."""
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)
    axes.locator_params(axis="y", nbins=FEW_NUMBERS, min_n_ticks=2)
    for line in axes.lines:
        line.set_markersize(MARKER_PT)
    values = [y for one in row.series for y in one.y]
    low, high = (0.0 if row.from_zero else min(values)), max(values)
    more = max(0.0, LEAST_SPAN * abs(high) - (high - low)) / 2
    low, high = (low, high) if row.from_zero else (low - more, high + more)
    span = high - low or 1.0
    axes.set_ylim(low if row.from_zero else low - ABOVE * span, high + free * span)


def _mark_time(figure: Timeline, axes: Axes) -> None:
    """Shade stretches of time in a row, and draw its moments."""
    for begin, end in figure.shaded:
        axes.axvspan(begin, end, color=GREY, alpha=SHADE, linewidth=0)
    times = [at for at, _ in figure.moments]
    for at in times:
        axes.axvline(at, color=GREY, linewidth=1.0, linestyle="--", zorder=1.0)
    if times:
        free = BESIDE * (max(times) - min(times))
        axes.set_xlim(min(times) - free, max(times) + free)


def _name_moments(figure: Timeline, axes: Axes) -> None:
    """Write the names of moments at the top of the first row, each on the inner side of its line."""
    middle = fmean(at for at, _ in figure.moments) if figure.moments else 0.0
    for at, name in figure.moments:
        side = "left" if at < middle else "right"
        axes.annotate(
            name,
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3 if side == "left" else -3, -2),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=SMALL,
        )
