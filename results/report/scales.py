"""Tells what the axes of a drawn figure are, so that a page can write them anew where a part of it is enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .drawing import POINTS_PER_INCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Scale = dict[str, Any]
"""What a page must know of one diagram."""


def scales(diagrams: Sequence[Axes], height_inches: float) -> list[Scale]:
    """Return where each diagram is in the SVG's own units, and what its axes show from end to end.

    Args:
        diagrams: drawn already, for only then their places are known.
    """
    height = height_inches * POINTS_PER_INCH
    return [
        {
            "box": [round(float(side), 1) for side in (box.x0, height - box.y1, box.x1, height - box.y0)],
            "x": _axis(axes.xaxis, axes.get_xlim(), axes.get_xlabel() or diagrams[-1].get_xlabel()),
            "y": _axis(axes.yaxis, axes.get_ylim()[::-1], axes.get_ylabel() or axes.get_title(loc="left")),
        }
        for axes in diagrams
        for box in [axes.bbox]
    ]


def _axis(axis: Axis, ends: Sequence[float], label: str) -> Scale:
    """Say what an axis shows from left to right, or from the top to the bottom; names stand at their places."""
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415 - only a drawing needs it

    told: Scale = {"ends": [float(f"{end:.7g}") for end in ends], "label": label, "log": axis.get_scale() == "log"}
    if isinstance(axis.get_major_locator(), FixedLocator):
        texts = [label.get_text() for label in axis.get_ticklabels()]
        told["names"] = [[round(float(at), 3), text] for at, text in zip(axis.get_ticklocs(), texts, strict=True)]
    return told
