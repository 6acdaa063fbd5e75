"""Figures as Vega-Lite specifications: plain dictionaries with their rows, which browsers and `picture` draw alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from .model import Drawable, Figure, Gantt, Lane, LaneGroup, Matrix, Series, Timeline

Spec = dict[str, Any]
"""A specification, or a part of one."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
COLOURS = ("#2f7ebc", "#c8641b", "#3f8f4f", "#a05fb4", "#8a7a1c", "#b8435a")
"""Of series, in their order: each has a contrast of at least 3 to 1 against a light and a dark page."""
GREY = "#7f8790"
"""Of what is drawn behind; its contrast is at least 3 to 1 against a light and a dark page."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
"""Of series, in their order, so that they differ without colours too."""
FILLED = ("#17263f", "#f6bd4f", "#8e3b6e", "#4a90c4", "#aab2bb")
"""Of the kinds of lanes, in their order. Their lightness is 15, 80, 38, 57 and 72 of 100: they differ in grey too."""
EMPTY = "#f0f2f4"
"""Of a lane where nothing is done. The other colours are seen against it, on a dark page too."""
BELOW = (3, 0, 2, 1, 4)
"""The order in which kinds stand on each other where a span has several, from below: computing first."""
PALE, DEEP = (232, 241, 250), (31, 90, 158)
"""The colours of the least and of the most in a heat map, of red, green and blue."""
DARK_FROM = 0.81
"""Part of that scale from which white letters are read better than black ones."""
WIDTH, HEIGHT = 528, 240
"""Of a diagram, with and without its axes, in pixels; who draws it may change the width."""
FITTED = {"type": "fit-x", "contains": "padding"}
"""How a single diagram takes the whole width together with its axes."""
ROWS = "rows"
"""The name of the data of a single diagram, so that a page can give it new rows in place."""
BESIDE, LETTER = 36, 6.6
"""What stands beside one of several diagrams, which cannot be fitted so: the title of an axis with spaces, a letter."""
ROW, HEAT_ROW, TIME_ROW = 22, 26, 80
"""How high a lying bar, a row of a heat map and one of a timeline are."""
MOST_LABELS = 12
"""Points whose labels still fit beside each other."""
ROOM = 62
"""Letters that have room beside each other in a page's figure: in a legend, with the signs before the names, and below
bars, which lie where there are more."""
MOST_CELLS_IN_A_ROW = 12
"""Of a heat map; where there are more, their numbers do not fit into them."""
MOST_NAMES = 16
"""Lanes of a group that all have their names beside them."""
LEAST_SPAN = 0.05
"""Part of its highest value that a row of a timeline shows at least: what hardly changes does not look as if it did."""
SIZES = ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))
BINARY = " : ".join(
    [*(f"datum.value >= {size} ? datum.value / {size} + ' {unit}'" for size, unit in SIZES), "datum.value"]
)
"""Writes a number as "512", "4 Ki" or "1 Mi"."""
ZOOM = {
    "name": "zoom",
    "select": {"type": "interval", "zoom": "wheel![event.ctrlKey || event.shiftKey]"},
    "bind": "scales",
}
"""A drag moves the axes, the wheel with Ctrl or Shift enlarges them, and a double click shows all again."""
SHOWN = {"name": "shown", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}
"""A click on a name of the legend shows what it names alone."""


@dataclass(frozen=True)
class Theme:
    """What a figure takes from where it stands.

    Attributes:
        ink, soft, line: colours of text, of what is less, and of the lines of axes.
        paper: what is behind all; None for what is there.
        font: its letters.
        letters: their size in pixels.
    """

    ink: str
    soft: str
    line: str
    paper: str | None = None
    font: str = "system-ui, DejaVu Sans, Arial, sans-serif"
    letters: float = 12.0

    def config(self) -> Spec:
        """Return the theme as Vega-Lite takes it."""
        words: Spec = {
            "labelColor": self.ink,
            "labelFontSize": self.letters,
            "titleColor": self.ink,
            "titleFontSize": self.letters,
            "titleFontWeight": "normal",
        }
        return {
            "background": self.paper,
            "aria": False,
            "font": self.font,
            "view": {"stroke": None},
            "axis": {
                **words,
                "domainColor": self.line,
                "tickColor": self.line,
                "gridColor": self.line,
                "gridWidth": 0.5,
                "labelLimit": 240,
                "labelOverlap": "greedy",
                "labelSeparation": 6,
            },
            "legend": {
                **words,
                "symbolStrokeWidth": 2,
                "symbolSize": 70,
                "labelLimit": 420,
                "orient": "top",
                "symbolLimit": 0,
                "symbolOpacity": 1,
            },
            "title": {
                "color": self.ink,
                "subtitleColor": self.soft,
                "fontSize": self.letters + 1,
                "subtitleFontSize": self.letters - 1,
                "anchor": "start",
                "frame": "group",
                "offset": 8,
            },
            "text": {"color": self.ink, "fontSize": self.letters - 1},
        }


OF_PAGES = Theme("currentColor", "currentColor", "var(--line)")
"""The page knows its colours, light or dark."""
OF_PAPER = Theme("#1c2128", "#57606a", "#c9d1d9", "white", "DejaVu Sans, Arial, sans-serif")


def specification(figure: Drawable, room: int = ROOM) -> Spec:
    """Return a figure without its title and its theme; numbers that are none are null.

    Args:
        room: letters that stand beside each other in it.
    """
    make = {Matrix: _heat_map, Timeline: _timeline, Gantt: _gantt, Figure: _diagram}[type(figure)]
    drawn: Spec = make(figure, room)  # type: ignore[operator]
    return {"$schema": SCHEMA, **drawn}


def _diagram(figure: Figure, room: int) -> Spec:
    """Draw points, lines and bars."""
    drawn = [one for one in figure.series if one.x]
    names = _names(figure)
    lying = _lying(figure, names, room)
    legend = _legend_of(figure, drawn, room - max(map(len, names)) if lying else room)
    values = [row for one in sorted(drawn, key=lambda one: not one.behind) for row in _rows(figure, one, drawn)]
    looks = {row["look"] for row in values}
    known = {row["look"] for row in values if row.get("low") is not None}
    across, up = ("y", "x") if lying else ("x", "y")
    encoding = {across: _across(figure, names, room, lying=lying), up: _up(figure, looks, lying=lying)}
    if len(drawn) > 1:
        encoding["color"] = _colour(drawn, legend)
    layers = [
        layer | {"transform": [{"filter": {"field": "look", "oneOf": list(of)}}, *layer.get("transform", ())]}
        for of, layer in _layers(figure, drawn, across, up, legend)
        if (known if "y2" in layer["encoding"] or "x2" in layer["encoding"] else looks) & set(of)
    ]
    params: list[Spec] = []
    if len(drawn) > 1:
        params.append(SHOWN)
        for layer in layers:
            layer["encoding"] = layer.get("encoding", {}) | {
                "opacity": {"condition": {"param": "shown", "value": layer["mark"].pop("opacity", 1)}, "value": 0.06}
            }
    if not names:
        params.append(ZOOM)
    if params:
        layers[0] = layers[0] | {"params": params}
    height = ROW * len(names) * _lanes(figure) if lying else HEIGHT
    size = {"width": WIDTH, "autosize": FITTED, "height": height}
    return {**size, "data": {"name": ROWS, "values": values}, "encoding": encoding, "layer": layers}


def _rows(figure: Figure, one: Series, drawn: Sequence[Series]) -> Iterator[Spec]:
    """Yield the points of a series, each with what it looks like."""
    few = len(one.labels) <= MOST_LABELS or _look(one) == "text"
    for place, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
        row: Spec = {
            "x": _plain(x),
            "y": _plain(y),
            "look": "hollow" if one.hollow and one.hollow[place] else _look(one),
        }
        if len(drawn) > 1:
            row["series"] = one.name
        if figure.stacked or one.line:
            row["n"] = drawn.index(one) if figure.stacked else place
        if one.low:
            row |= {"low": _plain(one.low[place]), "high": _plain(one.high[place])}
        if place < len(one.labels) and one.labels[place]:
            row |= {"label" if few else "note": one.labels[place]}
        row |= {name: told[place] for name, told in (("note", one.notes), ("link", one.links)) if told}
        yield row


def _look(one: Series) -> str:
    """Name how a series is drawn: as bars, lines with or without points, steps, points, short dashes or words alone."""
    if is_bars(one):
        return "bar"
    if one.steps or (one.bare and not one.line):
        return "step" if one.steps else "text"
    if one.line:
        return "bare" if one.bare else "line"
    return "dash" if one.dashes else "point"


def _plain(value: float | str) -> float | str | None:
    """Return a number with as many digits as anybody sees; None for what is none."""
    return value if isinstance(value, str) else float(f"{value:.7g}") if isfinite(value) else None


def _across(figure: Figure, names: Sequence[str], room: int, *, lying: bool) -> Spec:
    """Describe the axis of what was chosen: names, or numbers."""
    if names:
        turned = -40 if not lying and sum(map(len, names)) + 2 * len(names) > room else 0
        axis: Spec = {"grid": not figure.y_axis, "labelAngle": turned, "labelOverlap": False, "ticks": False}
        return {
            "field": "x",
            "type": "nominal",
            "sort": None,
            "title": figure.x_axis,
            "axis": axis | ({"labelPadding": 6} if lying else {}),
        }
    scale: Spec = {"zero": False, "nice": False, "padding": 8}
    axis = {"grid": False, "tickCount": 6}
    if figure.x_log:
        scale = {"type": "log", "base": 2, "nice": False, "padding": 8}
        axis |= {"labelExpr": BINARY}
    if figure.x_whole:
        axis |= {"tickMinStep": 1, "format": "d"}
        shown = sorted({x for one in figure.series for x in one.x if not isinstance(x, str)})
        axis |= {"values": shown} if len(shown) <= MOST_LABELS else {}
    return {"field": "x", "type": "quantitative", "title": figure.x_axis or None, "scale": scale, "axis": axis}


def _up(figure: Figure, looks: set[str], *, lying: bool) -> Spec:
    """Describe the axis of what was measured; there is none where places say nothing."""
    if not figure.y_axis:
        return {"field": "y", "type": "quantitative", "axis": None, "scale": {"zero": False, "padding": 12}}
    zero = figure.from_zero or "bar" in looks
    scale: Spec = {"zero": True} if zero else {"zero": False, "padding": 8}
    axis: Spec = {"tickCount": 6} | ({"titleAnchor": "end"} if lying else {})
    if figure.y_log:
        scale, axis = {"type": "log", "nice": False, "padding": 8}, axis | {"format": ",~r"}
    found: Spec = {"field": "y", "type": "quantitative", "title": figure.y_axis, "scale": scale, "axis": axis}
    return found | ({} if figure.stacked else {"stack": None})


def _colour(drawn: Sequence[Series], legend: Spec | None) -> Spec:
    """Give the series their colours, with a legend."""
    names = [one.name for one in drawn]
    colours = [GREY if one.behind else COLOURS[place % len(COLOURS)] for place, one in _numbered(drawn)]
    return {"field": "series", "type": "nominal", "scale": {"domain": names, "range": colours}, "legend": legend}


def _numbered(drawn: Sequence[Series]) -> Iterator[tuple[int, Series]]:
    """Count the series that have a colour and a shape of their own before those that are behind."""
    ordered = sorted(drawn, key=lambda one: one.behind)
    return ((ordered.index(one), one) for one in drawn)


def _legend_of(figure: Figure, drawn: Sequence[Series], room: int) -> Spec | None:
    """Describe the legend of a diagram, without what its caption tells: a grey line in steps, and words."""
    named = [one.name for one in drawn if not (one.steps and one.behind) and _look(one) != "text"]
    return {**_legend(named, room), "title": figure.legend or None, "values": named} if len(named) > 1 else None


def _legend(names: Sequence[str], room: int) -> Spec:
    """Describe a legend with as many columns as have room above a diagram."""
    columns = next((count for count in range(len(names), 1, -1) if _letters(names, count) <= room), 1)
    return {"title": None, "columns": columns}


def _letters(names: Sequence[str], columns: int) -> int:
    """Count the letters of a line of a legend, where each column is as wide as its longest name."""
    return sum(max(map(len, names[column::columns])) + 4 for column in range(columns))


def _layers(
    figure: Figure, drawn: Sequence[Series], across: str, up: str, legend: Spec | None
) -> Iterator[tuple[tuple[str, ...], Spec]]:
    """Yield what is drawn on each other, from behind, each with the looks of the rows that it is for."""
    ends = {up: {"field": "low", "type": "quantitative", "title": figure.y_axis}, f"{up}2": {"field": "high"}}
    known = [{"filter": "isValid(datum.low)"}]
    range_ = [
        "stroke" if one.dashes or one.bare or one.steps else SHAPES[place % len(SHAPES)]
        for place, one in _numbered(drawn)
    ]
    shapes = _by("series", "nominal", scale={"domain": [one.name for one in drawn], "range": range_}, legend=legend)
    beside: Spec = {}
    if _lanes(figure) > 1 and not figure.stacked:
        beside = {f"{across}Offset": {"field": "series", "sort": [one.name for one in drawn]}}
    uncertain = any(one.low for one in drawn)
    if uncertain:
        yield ("line", "bare"), {"mark": {"type": "area", "opacity": 0.25}, "encoding": ends, "transform": known}
    bar: Spec = {"type": "bar", "cornerRadiusEnd": 2}
    order: Spec = {"order": _by("n")}
    bars = {**beside, "tooltip": _tooltip(figure, drawn, "bar"), **(order if figure.stacked else {})}
    yield ("bar",), {"mark": bar | _single(drawn), "encoding": bars}
    if uncertain:
        whisker: Spec = {"type": "rule", "strokeWidth": 1.5}
        dark = ends | beside | {"color": {"value": "currentColor"}}
        yield ("bar",), {"mark": whisker, "encoding": dark, "transform": known}
        yield ("point", "dash"), {"mark": whisker | _single(drawn), "encoding": ends, "transform": known}
    line: Spec = {"type": "line", "strokeWidth": 1.8, **_single(drawn)}
    thin = {"strokeWidth": {"condition": {"test": "datum.look === 'bare'", "value": 1.1}, "value": 1.8}}
    yield ("line", "bare"), {"mark": line, "encoding": order | thin}
    yield ("step",), {"mark": line | {"interpolate": "step-after"}, "encoding": order}
    point: Spec = {"type": "point", "filled": True, "size": 45, "opacity": 0.85}
    shaped: Spec = {"shape": shapes} if len(drawn) > 1 else {}
    shaped |= {"tooltip": _tooltip(figure, drawn, "line", "point")}
    shaped |= {"href": {"field": "link"}} if any(one.links for one in drawn) else {}
    yield ("line", "point"), {"mark": point | _single(drawn), "encoding": shaped}
    yield ("hollow",), {"mark": point | _single(drawn) | {"filled": False, "strokeWidth": 1.8}, "encoding": shaped}
    dash: Spec = {"type": "point", "shape": "stroke", "filled": False, "size": 160, "strokeWidth": 2.5}
    yield ("dash",), {"mark": dash | _single(drawn), "encoding": {"tooltip": _tooltip(figure, drawn, "dash")}}
    written = (one for one in drawn if one.labels and (len(one.labels) <= MOST_LABELS or _look(one) == "text"))
    if any(written) and not any(is_bars(one) for one in drawn):
        words = {"text": {"field": "label"}, "color": {"value": "currentColor"}}
        mark = {"type": "text", "align": "left", "dx": 6, "dy": -6}
        known = [{"filter": "isValid(datum.label)"}]
        yield ("line", "point", "dash", "text"), {"mark": mark, "encoding": words, "transform": known}


def _single(drawn: Sequence[Series]) -> Spec:
    """Return the colour of a series that needs no legend."""
    return {} if len(drawn) > 1 else {"color": GREY if drawn and drawn[0].behind else COLOURS[0]}


def _tooltip(figure: Figure, drawn: Sequence[Series], *looks: str) -> list[Spec]:
    """List what somebody reads who points at a value of a series with one of these looks."""
    own = [one for one in drawn if _look(one) in looks]
    number = {"type": "quantitative", "format": ",.5~g"}
    fields = [{"field": "series", "type": "nominal", "title": figure.legend or "series"}] if len(drawn) > 1 else []
    keys = ["label" if len(one.labels) <= MOST_LABELS else "note" for one in own if one.labels]
    keys += ["note" for one in own if one.notes]
    fields += [{"field": key, "type": "nominal", "title": "about"} for key in dict.fromkeys(keys)]
    named = {"type": "nominal"} if _names(figure) else number
    fields += [{"field": "x", "title": figure.x_axis, **named}]
    fields += [{"field": "y", "title": figure.y_axis, **number}] if figure.y_axis else []
    ends = (("low", "lowest"), ("high", "highest")) if any(one.low for one in own) else ()
    return fields + [{"field": key, "title": title, **number} for key, title in ends]


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
    drawn = [one for one in figure.series if is_bars(one)]
    return len(drawn) if len(_names(figure)) < sum(len(set(one.x)) for one in drawn) else 1


def _lying(figure: Figure, names: Sequence[str], room: int) -> bool:
    """Whether bars lie, as they must where names are too long to stand beside each other."""
    if figure.lying and names:
        return True
    return sum(map(len, names)) + 2 * len(names) > room and not any(one.line for one in figure.series)


def _heat_map(figure: Matrix, room: int) -> Spec:
    """Draw a colour for each pair of values, with its number where there is room."""
    cells = [(i, j, cell) for i, row in enumerate(figure.cells) for j, cell in enumerate(row) if cell is not None]
    known = [cell for _, _, cell in cells if isfinite(cell)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    values = []
    for i, j, cell in cells:
        row: Spec = {"x": figure.columns[j], "y": figure.rows[i], "value": _plain(cell)}
        if figure.notes:
            row["note"] = figure.notes[i][j]
        guessed = bool(figure.guessed) and figure.guessed[i][j]
        row["text"] = f"({cell:.3g})" if guessed else f"{cell:.3g}"
        values.append(row | ({"guessed": True} if guessed else {}))
    told = [_by("y", "nominal", title=figure.y_axis), _by("x", "nominal", title=figure.x_axis)]
    told += [_by("value", title=figure.unit, format=",.4~g")]
    told += [_by("note", "nominal", title="about")] if figure.notes else []
    pale, deep = ("#{:02x}{:02x}{:02x}".format(*colour) for colour in (PALE, DEEP))
    scale = {"domain": [low, high if high > low else low + 1.0], "range": [pale, deep], "interpolate": "rgb"}
    axis = {"domain": False, "ticks": False, "grid": False, "labelOverlap": False}
    few = len(figure.columns) <= MOST_CELLS_IN_A_ROW
    turned = {"labelAngle": -90} if sum(map(len, figure.columns)) > room else {"labelAngle": 0}
    long = max(map(len, figure.rows), default=0)
    legend = {"title": figure.unit, "gradientLength": 3 * max(20, min(60, room - long)), "titleLimit": 420}
    painted = {
        "color": _by("value", scale=scale, legend=legend),
        "tooltip": told,
        "stroke": {"condition": {"test": "datum.guessed", "value": GREY}, "value": None},
    }
    white = f"datum.value > {low + DARK_FROM * (high - low):.7g}"
    ink = {"condition": {"test": white, "value": "white"}, "value": "black"}
    number: Spec = {"mark": {"type": "text"}, "encoding": {"text": {"field": "text"}, "color": ink}}
    return {
        "width": WIDTH,
        "autosize": FITTED,
        "height": HEAT_ROW * len(figure.rows),
        "data": {"name": ROWS, "values": values},
        "encoding": {
            "x": _by("x", "ordinal", sort=list(figure.columns), title=figure.x_axis, axis=axis | turned),
            "y": _by("y", "ordinal", sort=list(figure.rows), title=figure.y_axis, axis=axis),
        },
        "layer": [
            {"mark": {"type": "rect", "strokeDash": [3, 2]}, "encoding": painted},
            *([number] if few else []),
        ],
    }


def _by(field: str, kind: str = "quantitative", **more: Any) -> Spec:
    """Encode a field of the rows."""
    return {"field": field, "type": kind, **more}


def _timeline(figure: Timeline, _: int) -> Spec:
    """Draw rows below each other on one axis of time."""
    last = len(figure.rows) - 1
    rows = [_time_row(figure, row, first=number == 0, last=number == last) for number, row in enumerate(figure.rows)]
    return {"vconcat": rows, "spacing": 14, "resolve": {"scale": {"x": "shared"}}}


def _time_row(figure: Timeline, row: Figure, *, first: bool, last: bool) -> Spec:
    values = [value for one in row.series for value in _rows(row, one, row.series)]
    heights = [y for one in row.series for y in one.y]
    low, high = (0.0 if row.from_zero else min(heights)), max(heights)
    more = 0.0 if row.from_zero else max(0.0, LEAST_SPAN * abs(high) - (high - low)) / 2
    x = _by("x", title=figure.rows[0].x_axis if last else None)
    x |= {"scale": {"nice": False, "padding": 10, "zero": False}}
    x |= {"axis": {"grid": False, "labels": last, "ticks": last}}
    domain = [low - more, high + more if high + more > low else low + 1.0]
    y = _by("y", title=None, axis={"tickCount": 3}, scale={"domain": domain, "nice": True})
    told = [_by("x", title=row.x_axis, format=",.4~g"), _by("y", title=row.y_axis, format=",.5~g")]
    mark: Spec = {"type": "line", "color": COLOURS[0], "strokeWidth": 1.8}
    if not all(one.bare for one in row.series):
        mark["point"] = {"size": 14, "color": COLOURS[0]}
    line: Spec = {"mark": mark, "encoding": {"x": x, "y": y, "tooltip": told}}
    shade: Spec = {
        "data": {"values": [{"from": begin, "to": end} for begin, end in figure.shaded]},
        "mark": {"type": "rect", "color": GREY, "opacity": 0.25},
        "encoding": {"x": _by("from"), "x2": {"field": "to"}},
    }
    moment: Spec = {
        "data": {"values": [{"at": at, "name": name} for at, name in figure.moments]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
        "encoding": {"x": _by("at")},
    }
    middle = sum(at for at, _ in figure.moments) / max(1, len(figure.moments))
    names = [
        {
            "data": {"values": [{"at": at, "name": name}]},
            "mark": {"type": "text", "align": side, "dx": 4 if side == "left" else -4, "y": 6},
            "encoding": {"x": _by("at"), "text": {"field": "name"}},
        }
        for at, name in figure.moments
        for side in ("left" if at < middle else "right",)
    ]
    layers = [
        *([shade] if figure.shaded else []),
        *([moment] if figure.moments else []),
        line,
        *(names if first else []),
    ]
    title = {"text": f"{row.title} in {row.y_axis}", "fontWeight": "normal", "offset": 4}
    return {
        "title": title,
        "width": WIDTH - BESIDE - round(7 * LETTER),
        "height": TIME_ROW,
        "data": {"values": values},
        "layer": layers,
    }


def _gantt(figure: Gantt, room: int) -> Spec:
    """Draw lanes below each other, in groups on one axis of time."""
    groups = [
        _lane_group(figure, group, room, last=group is figure.groups[-1], first=group is figure.groups[0])
        for group in figure.groups
    ]
    return {"vconcat": groups, "spacing": 14, "resolve": {"scale": {"x": "shared", "color": "shared"}}}


def _lane_group(figure: Gantt, group: LaneGroup, room: int, *, first: bool, last: bool) -> Spec:
    idle, count = len(figure.kinds) - 1, len(group.lanes)
    names = [figure.kinds[kind] for kind in figure.seen]
    colours = [EMPTY if kind == idle else FILLED[kind] for kind in figure.seen]
    values = [row for place, lane in enumerate(group.lanes) for row in _lane_rows(figure, lane, place)]
    step = -(-count // MOST_NAMES)
    shown = list(range(0, count, step))
    axis = {"values": shown, "labelExpr": f"{[lane.name for lane in group.lanes]}[datum.value]", "grid": False}
    axis |= {"ticks": False, "domain": False, "labelOverlap": False, "tickCount": len(shown)}
    legend = {**_legend(names, room), "symbolStrokeColor": GREY, "symbolStrokeWidth": 1, "symbolType": "square"}
    scale = {"domain": [-0.75 if group.steps else -0.5, count - 0.5], "reverse": True, "nice": False, "zero": False}
    x: Spec = {"field": "at", "type": "quantitative", "title": figure.x_axis if last else None}
    x |= {
        "scale": {"domain": [figure.begin, figure.end], "nice": False, "zero": False},
        "axis": {"grid": False, "labels": last},
    }
    area: Spec = {
        "mark": {"type": "area", "line": False, "interpolate": "linear", "strokeWidth": 0},
        "encoding": {
            "x": x,
            "y": _by("low", title=figure.lane_axis, scale=scale, axis=axis, stack=None),
            "y2": {"field": "high"},
            "color": _by("kind", "nominal", scale={"domain": names, "range": colours}, legend=legend),
            "detail": {"field": "lane"},
            "tooltip": [
                {"field": "lane", "title": figure.lane_axis},
                {"field": "kind", "title": "does"},
                _by("part", title="of the time shown", format=".1%"),
            ],
            "opacity": {"condition": {"param": "shown", "value": 1}, "value": 0.15},
        },
    }
    if first:
        area["params"] = [{"name": "shown", "select": {"type": "point", "fields": ["kind"]}, "bind": "legend"}]
    area["transform"] = [{"flatten": ["at", "low", "high"]}]
    marks: Spec = {
        "data": {"values": [{"at": at} for at in group.steps]},
        "mark": {"type": "rule", "color": "currentColor", "strokeWidth": 0.8},
        "encoding": {"x": _by("at"), "y": {"datum": -0.75}, "y2": {"datum": -0.5}},
    }
    height = max(8, min(16, 250 / count)) * count
    title = {"text": group.title, "fontWeight": "normal", "offset": 4}
    width = WIDTH - BESIDE - round(LETTER * max(len(lane.name) for lane in group.lanes))
    return {
        "title": title,
        "width": width,
        "height": height,
        "data": {"values": values},
        "layer": [area, *([marks] if group.steps else [])],
    }


def _lane_rows(figure: Gantt, lane: Lane, place: int) -> Iterator[Spec]:
    """Yield the outline of each kind in a lane, as lists of its corners; the empty lane is behind all."""
    idle = len(figure.kinds) - 1
    if not lane.spans:
        return
    begin, end, bottom = lane.spans[0].begin, lane.spans[-1].end, place + LANE / 2
    for kind in (idle, *(kind for kind in BELOW if kind < idle)):
        used_s = sum(span.parts[kind] * (span.end - span.begin) for span in lane.spans)
        corners = [(begin, bottom, bottom - LANE), (end, bottom, bottom - LANE)]
        if kind != idle:
            corners = list(_corners(lane, kind, [one for one in BELOW[: BELOW.index(kind)] if one < idle], bottom))
        if used_s or kind == idle:
            at, low, high = (list(edge) for edge in zip(*corners, strict=True))
            told = {"lane": lane.name, "kind": figure.kinds[kind], "part": _plain(used_s / (end - begin))}
            yield {**told, "at": [float(f"{one:.5g}") for one in at], "low": low, "high": high}


def _corners(lane: Lane, kind: int, below: Sequence[int], bottom: float) -> Iterator[tuple[float, float, float]]:
    """Tell when a kind begins and ends in a lane and at which heights, to a fiftieth of the lane."""
    edges = []
    for span in lane.spans:
        start = sum(span.parts[one] for one in below)
        low, high = (round(bottom - LANE * round(50 * part) / 50, 3) for part in (start, start + span.parts[kind]))
        edges.append((span.begin, span.end, low, high) if low != high else (span.begin, span.end, bottom, bottom))
    for before, (begin, end, low, high), after in zip([None, *edges], edges, [*edges[1:], None], strict=False):
        if before is None or before[2:] != (low, high):
            yield begin, low, high
        if after is None or after[2:] != (low, high):
            yield end, low, high


LANE = 0.84
"""How much of its place a lane fills."""
