"""Draws a figure with matplotlib: the same for a page and for a picture in a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from .model import Drawable, Gantt, Matrix, Series, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .model import Figure


MOST = 1_500
"""Points of a series that a figure shows; more of them cover each other."""


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
    kept: dict[str, Any] = {
        name: tuple(values[place] for place in places)
        for name in ("x", "y", "low", "high", "labels")
        if (values := getattr(series, name))
    }
    return replace(series, **kept)


COLOURS = ("#2f7ebc", "#c8641b", "#3f8f4f", "#a05fb4", "#8a7a1c", "#b8435a")
"""Of series, in their order: each has a contrast of at least 3 to 1 against a light and a dark page."""
GREY = "#7f8790"
"""Of what is drawn behind; its contrast is at least 3 to 1 against a light and a dark page."""
DASH_PT = 16
"""Length of a dash, which is seen on both sides of a marker."""
ABOVE = 0.05
"""Part of the highest value that stays free above it, where an axis begins at 0."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
"""Of series, in their order, so that they differ without colours too."""
HATCHES = ("", "///", "...", "xxx", "++", "ooo")
"""Of bars, in the order of their series, so that they differ in grey print too."""
MOST_LABELS = 12
"""Points whose labels still fit beside each other."""
MOST_LETTERS = 44
"""Of names below bars; where there are more, the bars lie so that each name has a line of its own."""
LEGEND_LINE = 1.35
"""How much higher a figure is for each line of its legend, in sizes of its letters; it never stands on points."""
LEGEND_SIGN = 5
"""Letters that the sign before a name in a legend takes the room of."""
LEFT_INCHES = 0.7
"""Of a figure that a legend leaves free, below which the y axis has its numbers."""
LETTER = 0.55
"""How wide a letter is on average, in sizes of letters."""
MOST_CELLS_IN_A_ROW = 12
"""Of a heat map; where there are more, their numbers do not fit into them."""
DARKEST = 0.75
"""Part of the scale of colours that heat maps use; what is darker cannot be seen on a dark page."""
MIDDLE = 0.179
"""Luminance on which black and white have the same contrast, 4.6 to 1."""
SIZE_INCHES = (5.6, 3.5)
"""Of a figure whose letters are readable on a telephone and on a desk."""
LOWEST_INCHES = 2.2
"""Of a figure with few rows."""
ROW_INCHES, TIME_INCHES = 1.15, 0.45
"""How high a row of a timeline is, and its axis of time below all rows."""
GROUP_INCHES = 0.3
"""How high the title of a group of lanes is, with the space above it."""
LETTERS_PT = 10.5
"""Size of the letters of a figure on a page."""
POINTS_PER_INCH = 72
"""The unit of length in matplotlib's SVG is a point."""
STYLE: dict[str, Any] = {"font.family": "sans-serif", "font.size": LETTERS_PT, "text.parse_math": False}
"""matplotlib's settings while a figure is drawn: a name may hold dollar signs."""


@dataclass(frozen=True)
class DrawnValue:
    """A value that was drawn.

    Attributes:
        series: number of its series, from 0.
        x, y: where it is, in the axes' own numbers.
        text: what it shows.
        row: number of the axes that it is in, from 0.
    """

    series: int
    x: float
    y: float
    text: str
    row: int = 0


def height_inches(figure: Drawable, width_inches: float = SIZE_INCHES[0], letters_pt: float = LETTERS_PT) -> float:
    """How high a figure should be, in inches, for its number of rows and its legend."""
    least = max(0.75, width_inches / SIZE_INCHES[0])
    if isinstance(figure, Gantt):
        names = [figure.kinds[kind] for kind in figure.seen]
        lines = -(-len(names) // legend_columns(names, width_inches, letters_pt))
        legend = LEGEND_LINE * letters_pt / POINTS_PER_INCH * lines
        counts = [len(group.lanes) for group in figure.groups]
        # How high a lane is, with the space to the next one: the more there are, the less.
        return TIME_INCHES + legend + sum(GROUP_INCHES + max(0.1, min(0.21, 3.2 / count)) * count for count in counts)
    if isinstance(figure, Timeline):
        return TIME_INCHES + ROW_INCHES * len(figure.rows)
    if isinstance(figure, Matrix):
        return least * min(12.0, max(LOWEST_INCHES, 1.2 + 0.3 * len(figure.rows)))
    columns, names = _legend(figure, width_inches, letters_pt)
    lines = sum(max(name.count("\n") + 1 for name in names[at : at + columns]) for at in range(0, len(names), columns))
    legend = LEGEND_LINE * letters_pt / POINTS_PER_INCH * lines
    if not _lying(figure):
        return least * SIZE_INCHES[1] + max(0.0, legend - LEGEND_LINE * letters_pt / POINTS_PER_INCH)
    return least * max(LOWEST_INCHES, 1.2 + 0.24 * len(_names(figure)) * max(1, _lanes(figure))) + legend


def _legend(figure: Figure, width_inches: float, letters_pt: float) -> tuple[int, list[str]]:
    """Return how many columns the legend of a figure has, and the names in it; none where one series needs no name."""
    names = [one.name for one in figure.series if one.x]
    if len(names) < 2:
        return 1, []
    whole = int((width_inches - LEFT_INCHES) * POINTS_PER_INCH / (LETTER * letters_pt))
    columns = 2 if max(map(len, names)) <= whole // 2 - LEGEND_SIGN else 1
    return columns, ["\n".join(wrap(name, max(10, whole // columns - LEGEND_SIGN))) for name in names]


def legend_columns(names: Sequence[str], width_inches: float, letters_pt: float) -> int:
    """How many columns a legend of few short names has: all of them, or as many as fill whole lines."""
    whole = int((width_inches - LEFT_INCHES) * POINTS_PER_INCH / (LETTER * letters_pt))
    if sum(map(len, names)) + LEGEND_SIGN * len(names) <= whole:
        return len(names)
    most = whole // (max(map(len, names)) + LEGEND_SIGN)
    return next((columns for columns in range(most, 1, -1) if len(names) % columns == 0), 1)


def marker(number: int) -> str:
    """Return the marker of a series by its number: with the colour of that number, no other of the first 72 has it."""
    return MARKERS[(number + number // len(MARKERS)) % len(MARKERS)]


def draw(figure: Figure | Matrix, axes: Axes, width_inches: float = SIZE_INCHES[0]) -> list[DrawnValue]:
    """Draw a figure without its title, in the colours of text and lines that matplotlib was given.

    `STYLE` must be set, as with `rc_context`.

    Args:
        width_inches: of the whole figure, which is the room of a legend.

    Each series is a group "series-0", "series-1" and so on of an SVG file.

    Returns:
        Where each value is, so that a page can show it.
    """
    from matplotlib import rcParams  # noqa: PLC0415 - only a drawing needs it

    if isinstance(figure, Matrix):
        return _matrix(figure, axes)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    marks = _bars_lying(figure, axes) if _lying(figure) else _diagram(figure, axes)
    columns, names = _legend(figure, width_inches, float(rcParams["font.size"]))
    if names:
        wrapped = dict(zip((one.name for one in figure.series if one.x), names, strict=True))
        signs, labels = axes.get_legend_handles_labels()
        where: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns}
        legend = axes.legend(
            signs, [wrapped.get(label, label) for label in labels], frameon=False, fontsize="medium", **where
        )
        for number, (text, handle) in enumerate(zip(legend.get_texts(), legend.legend_handles, strict=True)):
            text.set_gid(f"legend-{number}")
            if handle is not None:
                handle.set_gid(f"legend-{number}-sign")
    return marks


def _diagram(figure: Figure, axes: Axes) -> list[DrawnValue]:
    """Draw points, lines and standing bars."""
    names, marks, lanes = _names(figure), [], _lanes(figure)
    drawn = [one for one in figure.series if one.x]
    barred = [one for one in drawn if is_bars(one)]
    heights = [0.0] * len(names)
    for number, one in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        places = [float(names.index(x)) if isinstance(x, str) else float(x) for x in one.x]
        if is_bars(one) and figure.stacked:
            below = [heights[round(place)] for place in places]
            _group(number, axes.bar(places, one.y, bottom=below, width=0.6, label=one.name, **_filled(number)).patches)
            for place, y in zip(places, one.y, strict=True):
                heights[round(place)] += y
        elif is_bars(one):
            width = 0.8 / len(barred) if lanes > 1 else 0.6
            shift = (barred.index(one) - (len(barred) - 1) / 2) * width if lanes > 1 else 0.0
            places = [place + shift for place in places]
            _group(number, axes.bar(places, one.y, width=width, label=one.name, **_filled(number)).patches)
        else:
            look: Any = {"color": colour, "marker": marker(number), "markersize": 4.5}
            look |= {"linestyle": "-"} if one.line else {"linestyle": "none", "alpha": 0.8}
            look |= {"color": GREY, "zorder": 1.5, "alpha": 1.0} if one.behind else {}
            look |= {"linewidth": 0.7} if one.behind and one.bare else {}
            look |= {"marker": "_", "markersize": DASH_PT, "markeredgewidth": 2.0} if one.dashes else {}
            if one.bare or (len(places) > MOST_LABELS * 20 and one.line):
                look["marker"] = ""
            _group(number, axes.plot(places, one.y, label=one.name, **look))
            _labels(one, places, axes)
        _interval(number, one, places, axes)
        tops = [heights[round(place)] for place in places] if figure.stacked else one.y
        marks += [
            DrawnValue(number, place, y, _words(figure, one, point, drawn))
            for point, (place, y) in enumerate(zip(places, tops, strict=True))
        ]
    _logarithms(figure, axes)
    if figure.x_whole:
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - only a drawing needs it

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if figure.from_zero:
        axes.set_ylim(0.0, (1.0 + ABOVE) * (axes.dataLim.y1 or 1.0))
    if names:
        axes.set_xticks(range(len(names)), names)
    if names and all(one.points for one in drawn):
        axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_xlabel(figure.x_axis)
    axes.set_ylabel(figure.y_axis)
    axes.grid(axis="y", linewidth=0.5)
    return marks


def _logarithms(figure: Figure, axes: Axes) -> None:
    """Give axes steps of the same factor; their numbers are plain text, because no text of a figure is a formula."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 - only a drawing needs it

    if figure.x_log:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=7))
        axes.xaxis.set_major_formatter(lambda value, _: _binary(value))
    if figure.y_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def _binary(value: float) -> str:
    """Write a number as "512", "4 Ki" or "1 Mi"."""
    for size, letters in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if value >= size:
            return f"{value / size:g} {letters}"
    return f"{value:g}"


def _bars_lying(figure: Figure, axes: Axes) -> list[DrawnValue]:
    """Draw bars or points with a line for each name."""
    names, marks, lanes = _names(figure), list[DrawnValue](), _lanes(figure)
    drawn = [one for one in figure.series if one.x]
    for number, one in enumerate(drawn):
        colour, width = COLOURS[number % len(COLOURS)], 0.8 / lanes
        shift = (number - (lanes - 1) / 2) * width if is_bars(one) and lanes > 1 else 0.0
        places = [names.index(str(x)) + shift for x in one.x]
        if is_bars(one):
            _group(
                number,
                axes.barh(places, one.y, height=width, label=one.name, **_filled(number, plain=lanes == 1)).patches,
            )
        else:
            _group(number, axes.plot(one.y, places, marker(number), color=colour, label=one.name, markersize=4.5))
        if one.low:
            _group(number, axes.errorbar(one.y, places, xerr=_sides(one), **_whiskers(one, colour)).get_children())
        marks += [
            DrawnValue(number, y, place, _words(figure, one, point, drawn))
            for point, (place, y) in enumerate(zip(places, one.y, strict=True))
        ]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set(xlabel=figure.y_axis, ylabel=figure.x_axis)
    axes.grid(axis="x", linewidth=0.5)
    return marks


def _filled(number: int, *, plain: bool = False) -> dict[str, Any]:
    """Return how the bars of a series look.

    Args:
        plain: their names tell them apart, so that they need no hatches, which make a page large.
    """
    colour, hatch = COLOURS[number % len(COLOURS)], "" if plain else HATCHES[number % len(HATCHES)]
    return {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _interval(number: int, one: Series, places: list[float], axes: Axes) -> None:
    """Draw how uncertain points are: a band along a line, or a whisker at each bar or point."""
    if not one.low:
        return
    colour = COLOURS[number % len(COLOURS)]
    if one.line:
        _group(number, [axes.fill_between(places, one.low, one.high, color=colour, alpha=0.25, linewidth=0)])
        return
    _group(number, axes.errorbar(places, one.y, yerr=_sides(one), **_whiskers(one, colour)).get_children())


def _sides(one: Series) -> list[list[float]]:
    """How far an interval goes below and above each point; NaN where there is none."""
    below = [max(y - low, 0.0) for y, low in zip(one.y, one.low, strict=True)]
    return [below, [max(high - y, 0.0) for y, high in zip(one.y, one.high, strict=True)]]


def _whiskers(one: Series, colour: str) -> dict[str, Any]:
    from matplotlib import rcParams  # noqa: PLC0415

    seen = rcParams["text.color"] if is_bars(one) else colour
    return {"fmt": "none", "ecolor": seen, "capsize": 3, "linewidth": 1.2}


def _labels(one: Series, places: list[float], axes: Axes) -> None:
    """Write the names of points beside them, where there is room for all."""
    if len(one.labels) <= MOST_LABELS:
        for x, y, label in zip(places, one.y, one.labels, strict=False):
            axes.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)


def _matrix(figure: Matrix, axes: Axes) -> list[DrawnValue]:
    """Draw a heat map with the numbers in its cells, black or white, whichever is more readable."""
    import numpy as np  # noqa: PLC0415 - only a drawing needs it
    from matplotlib import colormaps  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    cells = np.array([[np.nan if one is None else one for one in row] for row in figure.cells], dtype=float)
    known = cells[np.isfinite(cells)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    scale, colours = Normalize(low, low + (high - low or 1.0) / DARKEST), colormaps["YlGnBu"]
    mesh = axes.pcolormesh(cells, cmap=colours, norm=scale, edgecolors="face", linewidth=0.5)
    axes.set_xticks([number + 0.5 for number in range(len(figure.columns))], figure.columns)
    axes.set_yticks([number + 0.5 for number in range(len(figure.rows))], figure.rows)
    if sum(map(len, figure.columns)) > MOST_LETTERS:
        axes.tick_params(axis="x", labelrotation=90)
    axes.tick_params(length=0)
    axes.set_xlabel(figure.x_axis)
    axes.set_ylabel(figure.y_axis)
    axes.spines[:].set_visible(False)
    axes.invert_yaxis()
    axes.set_title(figure.unit, fontsize=9, loc="left")
    room = len(figure.columns) <= MOST_CELLS_IN_A_ROW
    if not room and axes.figure is not None:
        axes.figure.colorbar(mesh, ax=axes)
    marks = []
    for row, column in zip(*np.nonzero(np.isfinite(cells)), strict=True):
        value = float(cells[row, column])
        x, y = column + 0.5, row + 0.5
        where = f"{figure.y_axis} {figure.rows[row]}, {figure.x_axis} {figure.columns[column]}"
        note = f" ({figure.notes[row][column]})" if figure.notes else ""
        marks.append(DrawnValue(0, x, y, f"{where}: {value:.4g} {figure.unit}{note}"))
        guessed = bool(figure.guessed) and figure.guessed[row][column]
        if guessed:
            axes.add_patch(Rectangle((column, row), 1, 1, fill=False, hatch="///", linewidth=0, edgecolor=GREY))
        if room:
            ink = "black" if luminance(colours(scale(value))) > MIDDLE else "white"
            text = f"({value:.3g})" if guessed else f"{value:.3g}"
            axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=9)
    return marks


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance of a colour by WCAG 2."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def is_bars(one: Series) -> bool:
    """Whether a series has one value for each of some names, as bars show."""
    return (
        bool(one.x) and not one.line and not one.points and isinstance(one.x[0], str) and len(set(one.x)) == len(one.x)
    )


def _names(figure: Figure) -> list[str]:
    """Return the names of an axis of names, in the order of the series."""
    return list(dict.fromkeys(x for one in figure.series for x in one.x if isinstance(x, str)))


def _lanes(figure: Figure) -> int:
    """How many bars lie side by side at one name: one of each series, unless each series has names of its own."""
    drawn = [one for one in figure.series if one.x]
    return len(drawn) if len(_names(figure)) < sum(len(set(one.x)) for one in drawn) else 1


def _lying(figure: Figure) -> bool:
    """Whether bars lie, as they must where names are too long to stand beside each other."""
    names = _names(figure)
    if figure.lying and names:
        return True
    return sum(map(len, names)) + 2 * len(names) > MOST_LETTERS and not any(one.line for one in figure.series)


def _group(number: int, artists: Any) -> None:
    """Mark artists as parts of a series."""
    for artist in artists:
        artist.set_gid(f"series-{number}")


def _words(figure: Figure, one: Series, point: int, drawn: list[Series]) -> str:
    """Say what a point shows."""
    x = one.x[point]
    where = x if isinstance(x, str) else f"{figure.x_axis} {x:,.6g}"
    known = bool(one.low) and not math.isnan(one.low[point])
    interval = f" ({one.low[point]:.4g} to {one.high[point]:.4g})" if known else ""
    said = f"{where}: {figure.y_axis} {one.y[point]:,.5g}{interval}"
    label = f"{one.labels[point]}, " if point < len(one.labels) else ""
    return f"{one.name}, {label}{said}" if len(drawn) > 1 else f"{label}{said}"
