"""Figures of a check of nodes: a grid of all nodes, histograms and quantiles."""

import math
from itertools import pairwise
from statistics import median

from results.report.model import Drawable, Figure, Matrix, Series
from results.stats.nodes.check import BENCHMARKS
from results.stats.nodes.shape import FEWEST_FOR_SHAPE, histogram, normal_quantiles
from results.stats.nodes.verdict import ReadinessVerdict


def node_grid(verdict: ReadinessVerdict) -> Matrix:
    """Draw a grid of all nodes: how far the worst benchmark of each is below the median, in percent."""
    check, scores = verdict.check, _scores(verdict)
    wide = max(1, math.isqrt(len(check.nodes) - 1) + 1)
    rows = [check.nodes[first : first + wide] for first in range(0, len(check.nodes), wide)]
    cells = tuple(tuple(scores.get(node) for node in row) + (None,) * (wide - len(row)) for row in rows)
    notes = tuple(tuple(_note(node, verdict) for node in row) + ("",) * (wide - len(row)) for row in rows)
    columns = tuple(str(number + 1) for number in range(wide))
    names = tuple(row[0] for row in rows)
    title = "All nodes: how far the worst benchmark of each is from the median"
    return Matrix(title, "place in the row", "row that begins with", columns, names, cells, "%", notes)


def _scores(verdict: ReadinessVerdict) -> dict[str, float]:
    """The distance of each node's worst benchmark from the median, in percent; below 0 it is slower."""
    scores: dict[str, float] = {}
    for values in verdict.results.values():
        if values:
            middle = median(values.values())
            for node, value in values.items():
                scores[node] = min(scores.get(node, math.inf), 100.0 * (value / middle - 1.0))
    return scores


def _note(node: str, verdict: ReadinessVerdict) -> str:
    if node in verdict.out:
        return f"{node}: out"
    return f"{node}: slow" if node in verdict.slow else node


def benchmark_figures(verdict: ReadinessVerdict) -> list[Drawable]:
    """Draw a histogram and a quantile plot of each benchmark."""
    drawn: list[Drawable] = []
    for name, measured in verdict.results.items():
        benchmark, values = BENCHMARKS[name], list(measured.values())
        if len(values) < FEWEST_FOR_SHAPE:
            continue
        axis = f"{benchmark.title}, {benchmark.unit}"
        edges, counts = histogram(values)
        middles = tuple(f"{(low + high) / 2:.4g}" for low, high in pairwise(edges))
        bars = Series("nodes", middles, tuple(map(float, counts)))
        drawn.append(Figure(f"{benchmark.title}: histogram", axis, "nodes", (bars,)))
        quantiles = normal_quantiles(values)
        points = Series("nodes", tuple(x for x, _ in quantiles), tuple(y for _, y in quantiles))
        drawn.append(Figure(f"{benchmark.title}: quantiles", "quantile of a normal distribution", axis, (points,)))
    return drawn
