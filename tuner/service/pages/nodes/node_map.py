"""The map of the nodes of a check: a cell for each node, coloured by how far its worst benchmark is from the median."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from results.stats.nodes.verdict import ReadinessVerdict

from ....reports.nodes.figures import node_scores

SHADES = 9
"""Colours, from the worst to the best."""
LEAST_SPREAD = 5.0
"""A node that is so many percent below the median has the lightest colour, unless another one is worse."""
WIDEST, NAMED = 24, 64
"""Nodes in a row at most; the largest cluster whose cells show names."""


@dataclass(frozen=True)
class NodeCell:
    """A node of the map.

    Attributes:
        text: how far it is from the median in percent, or what else is known.
        shade: of its colour; None for none.
        words: all in words.
    """

    node: str
    text: str
    shade: int | None
    words: str


@dataclass(frozen=True)
class NodeMap:
    """All nodes in their order, a row after the other.

    Attributes:
        low: percent from the median that has the lightest colour.
        named: names are seen in the cells.
    """

    rows: tuple[tuple[NodeCell, ...], ...]
    low: str
    named: bool


def node_map(verdict: ReadinessVerdict) -> NodeMap:
    """Draw all nodes of a check."""
    nodes, scores = verdict.check.nodes, node_scores(verdict)
    low = min([-LEAST_SPREAD, *(score for score in scores.values())])
    cells = [_cell(node, verdict, scores, low) for node in nodes]
    wide = min(WIDEST, max(1, math.isqrt(len(nodes) - 1) + 1)) if nodes else 1
    rows = tuple(tuple(cells[first : first + wide]) for first in range(0, len(cells), wide))
    return NodeMap(rows, _percent(low), len(nodes) <= NAMED)


def _cell(node: str, verdict: ReadinessVerdict, scores: Mapping[str, float], low: float) -> NodeCell:
    score = scores.get(node)
    if node in verdict.out or node in verdict.check.silent:
        return NodeCell(node, "out", None, f"{node}: out")
    if score is None:
        return NodeCell(node, "…", None, f"{node}: not measured yet")
    shade = min(SHADES - 1, int(max(0.0, 1.0 - score / low) * SHADES))
    slow = ", slow" if node in verdict.slow else ""
    return NodeCell(node, _percent(score), shade, f"{node}: {_percent(score)} % from the median{slow}")


def _percent(value: float) -> str:
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}") if abs(value) >= 0.05 else "0"
