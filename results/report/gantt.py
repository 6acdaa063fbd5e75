"""Draws lanes: what several did at the same time, each kind in a colour that grey print tells apart as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .drawing import GREY, DrawnValue, legend_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from .model import Gantt, Lane, LaneGroup

FILLED = ("#17263f", "#f6bd4f", "#8e3b6e", "#4a90c4", "#aab2bb")
"""Of kinds, in their order. Their lightness is 15, 80, 38, 57 and 72 of 100: they differ without colours too."""
EMPTY = "#f0f2f4"
"""Of a lane where nothing is done. The other colours are seen against it, on a dark page too."""
BELOW = (3, 0, 2, 1, 4)
"""The order in which kinds stand on each other where a span has several, from below: computing first."""
LANE = 0.84
"""How much of its place a lane fills."""
MOST_NAMES = 16
"""Lanes of a group that all have their names beside them."""
POINTED = 30
"""Places of a lane whose values a page shows."""
TITLE_PT = 20
"""How high the title of the first group is, above which the legend stands."""
SIGN_EDGE_PT = 1.2
"""Width of the edge of a sign in the legend, without which a dark one is not seen on a dark page."""
SEAM_PT = 0.2
"""Width of the edge of a filled part, in its own colour, so that parts side by side leave no light line."""


def draw_lanes(figure: Gantt, canvas: FigureBase, width_inches: float) -> list[DrawnValue]:
    """Draw the groups of lanes below each other, on an empty canvas. `drawing.STYLE` must be set.

    Returns:
        What each lane did at some times; `row` is the place of its group in `canvas.axes`.
    """
    ratios = [len(group.lanes) for group in figure.groups]
    rows: list[Axes] = list(
        canvas.subplots(len(ratios), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": ratios})[:, 0]
    )
    for group, axes in zip(figure.groups, rows, strict=True):
        _draw_group(figure, group, axes)
    rows[-1].set_xlabel(figure.x_axis)
    for axes in rows[:-1]:
        axes.tick_params(labelbottom=False)
    _legend(figure, rows[0], width_inches)
    return [
        DrawnValue(figure.seen.index(kind), at, place, text, row)
        for row, group in enumerate(figure.groups)
        for place, lane in enumerate(group.lanes)
        for kind, at, text in _values(figure, lane)
    ]


def _draw_group(figure: Gantt, group: LaneGroup, axes: Axes) -> None:
    """Draw the lanes of a group on their axes, the first one at the top."""
    from matplotlib import rcParams  # noqa: PLC0415 - only a drawing needs it
    from matplotlib.patches import PathPatch  # noqa: PLC0415
    from matplotlib.path import Path  # noqa: PLC0415

    count, idle, seen = len(group.lanes), len(figure.kinds) - 1, figure.seen
    boxes: dict[int, list[tuple[float, float, float, float]]] = {kind: [] for kind in range(idle + 1)}
    for place, lane in enumerate(group.lanes):
        if lane.spans:
            boxes[idle].append((lane.spans[0].begin, place - LANE / 2, lane.spans[-1].end, place + LANE / 2))
        for kind, box in _boxes(lane, place, idle):
            boxes[kind].append(box)
    for kind in (idle, *seen[:-1]):
        if boxes[kind]:
            corners = ([(x, y), (right, y), (right, top), (x, top), (x, y)] for x, y, right, top in boxes[kind])
            outline = Path.make_compound_path(*(Path(each, closed=True) for each in corners))
            outline.should_simplify = False  # else corners of neighbours become one
            colour = EMPTY if kind == idle else FILLED[kind]
            patch = PathPatch(outline, facecolor=colour, edgecolor=colour, linewidth=SEAM_PT, zorder=2 + (kind != idle))
            axes.add_artist(patch).set_gid(f"series-{seen.index(kind)}")
    axes.set_xlim(figure.begin, figure.end)
    axes.set_ylim(count - 0.5, -0.5 - 0.25 * bool(group.steps))
    if group.steps:
        axes.vlines(group.steps, -0.75, -0.5, color=rcParams["text.color"], linewidth=0.8)
    step = -(-count // MOST_NAMES)
    axes.set_yticks(range(0, count, step), [lane.name for lane in group.lanes[::step]], fontsize="small")
    axes.set_ylabel(figure.lane_axis, fontsize="small")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(group.title, loc="left", fontsize="medium", pad=3)


def _boxes(lane: Lane, place: int, idle: int) -> list[tuple[int, tuple[float, float, float, float]]]:
    """Return the filled parts of a lane, each with its kind; those that go on at the same height are one."""
    found: list[tuple[int, tuple[float, float, float, float]]] = []
    last: dict[int, int] = {}
    for span in lane.spans:
        low = 0.0
        for kind in (kind for kind in BELOW if kind < idle and span.parts[kind] > 0):
            high = low + span.parts[kind]
            box = (span.begin, place + LANE / 2 - LANE * high, span.end, place + LANE / 2 - LANE * low)
            before = found[last[kind]][1] if kind in last else None
            if before is not None and before[2] == span.begin and before[1] == box[1] and before[3] == box[3]:
                found[last[kind]] = (kind, (before[0], box[1], box[2], box[3]))
            else:
                last[kind] = len(found)
                found.append((kind, box))
            low = high
    return found


def _legend(figure: Gantt, axes: Axes, width_inches: float) -> None:
    """Name the kinds above all groups."""
    from matplotlib import rcParams  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415

    colours, names = (*FILLED[: len(figure.kinds) - 1], EMPTY), [figure.kinds[kind] for kind in figure.seen]
    signs = [
        Patch(facecolor=colours[kind], edgecolor=GREY, linewidth=SIGN_EDGE_PT, label=name)
        for kind, name in zip(figure.seen, names, strict=True)
    ]
    columns = legend_columns(names, width_inches, float(rcParams["font.size"]))
    above = axes.transAxes + ScaledTranslation(0.0, TITLE_PT / 72, axes.figure.dpi_scale_trans)
    where: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "bbox_transform": above, "ncols": columns}
    where |= {"borderaxespad": 0.0, "borderpad": 0.0}
    legend = axes.legend(handles=signs, frameon=False, fontsize="medium", handlelength=1.4, columnspacing=1.2, **where)
    for number, (text, handle) in enumerate(zip(legend.get_texts(), legend.legend_handles, strict=True)):
        text.set_gid(f"legend-{number}")
        if handle is not None:
            handle.set_gid(f"legend-{number}-sign")


def _values(figure: Gantt, lane: Lane) -> list[tuple[int, float, str]]:
    """Say what a lane did at some times: the kind that took most of the span there."""
    found, width = [], (figure.end - figure.begin) / POINTED
    for number in range(POINTED):
        at = figure.begin + (number + 0.5) * width
        span = next((span for span in lane.spans if span.begin <= at < span.end), None)
        if span is not None:
            kind = max(range(len(figure.kinds)), key=lambda one: span.parts[one])
            found.append((kind, at, f"{lane.name}, {span.begin:,.4g} to {span.end:,.4g} s: {figure.kinds[kind]}"))
    return found
