"""A figure as data for Plotly: what a page shows with JavaScript."""

from ..model import Figure
from .svg import COLOURS


def plotly_spec(figure: Figure) -> dict[str, object]:
    """Return the traces and axes of a figure; the page's script adds the colours of the page."""
    traces = []
    for number, one in enumerate(figure.series):
        names = any(isinstance(x, str) for x in one.x)
        trace: dict[str, object] = {
            "type": "bar" if names and not one.line else "scatter",
            "name": one.name,
            "x": list(one.x),
            "y": list(one.y),
            "marker": {"color": COLOURS[number % len(COLOURS)]},
        }
        if trace["type"] == "scatter":
            trace["mode"] = "lines+markers" if one.line else "markers"
        if one.labels:
            trace["text"] = list(one.labels)
        traces.append(trace)
    layout = {"xaxis": {"title": {"text": figure.x_axis}}, "yaxis": {"title": {"text": figure.y_axis}}}
    return {"data": traces, "layout": layout}
