"""What a figure shows as CSV, for who wants to draw it anew."""

import csv
import io
from collections.abc import Iterator, Sequence
from functools import singledispatch
from math import isnan

from .model import Drawable, Figure, Gantt, Matrix, Timeline

Cells = Iterator[Sequence[str]]
"""Lines of a table; the first has the names of its columns."""


def figure_data(figure: Drawable) -> str:
    """Write what a figure shows as CSV, with a line for each value; columns without any value are left out.

    Those of a heat map are named after its axes, those of lanes after what they can do. Elsewhere, lowest and highest
    are the ends of the interval of y.
    """
    names, *lines = _cells(figure)
    used = [place for place in range(len(names)) if any(line[place] for line in lines)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([one[place] for place in used] for one in (names, *lines))
    return text.getvalue()


@singledispatch
def _cells(figure: Drawable) -> Cells:
    """Yield the names of the columns, then a line for each value."""
    raise NotImplementedError(type(figure))


@_cells.register
def _of_matrix(figure: Matrix) -> Cells:
    yield [figure.y_axis, figure.x_axis, figure.unit, "note", "measured"]
    for i, row in enumerate(figure.rows):
        for j, column in enumerate(figure.columns):
            if figure.cells[i][j] is not None:
                note = figure.notes[i][j] if figure.notes else ""
                measured = ("no" if figure.guessed[i][j] else "yes") if figure.guessed else ""
                yield [row, column, _number(figure.cells[i][j]), note, measured]


@_cells.register
def _of_lanes(figure: Gantt) -> Cells:
    yield ["group", figure.lane_axis, "from", "until", *figure.kinds]
    for group in figure.groups:
        title = group.title if len(figure.groups) > 1 else ""
        for lane in group.lanes:
            for span in lane.spans:
                parts = (_number(part) if part else "" for part in span.parts)
                yield [title, lane.name, _number(span.begin), _number(span.end), *parts]


@_cells.register
def _of_diagram(figure: Figure) -> Cells:
    yield ["series", figure.x_axis, figure.y_axis, "lowest", "highest", "label"]
    for series in figure.series:
        for i, x in enumerate(series.x):
            low, high = (_number(ends[i]) if ends else "" for ends in (series.low, series.high))
            label = series.labels[i] if i < len(series.labels) else ""
            yield [series.name, x if isinstance(x, str) else _number(x), _number(series.y[i]), low, high, label]


@_cells.register
def _of_timeline(figure: Timeline) -> Cells:
    names, *_ = _of_diagram(figure.rows[0])
    yield ["figure", *names[:2], "value", *names[3:]]
    for diagram in figure.rows:
        _, *lines = _of_diagram(diagram)
        yield from ([diagram.title, *line] for line in lines)


def _number(value: float | None) -> str:
    """Write a number with as many digits as a reader of a figure can use; nothing for what is none."""
    return "" if value is None or isnan(value) else f"{value:.7g}"
