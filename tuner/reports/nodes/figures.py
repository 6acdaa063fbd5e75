"""Figures of a check of nodes: a grid of all nodes, histograms and quantiles."""

import math
from itertools import pairwise
from statistics import median

from results.report.model import Drawable, Figure, Matrix, Series
from results.stats.nodes.check import BENCHMARKS
from results.stats.nodes.shape import FEWEST_FOR_SHAPE, histogram, normal_quantiles, shape_of
from results.stats.nodes.verdict import ReadinessVerdict

ODD_P = 0.001
"""Probability below which results are not those of one bell."""
MOST_ODD = 2
"""Histograms in a terminal."""


def node_grid(verdict: ReadinessVerdict) -> Matrix:
    """Draw a grid of all nodes: how far the worst benchmark of each is below the median, in percent."""
    check, scores = verdict.check, node_scores(verdict)
    wide = max(1, math.isqrt(len(check.nodes) - 1) + 1)
    rows = [check.nodes[first : first + wide] for first in range(0, len(check.nodes), wide)]
    cells = tuple(tuple(scores.get(node) for node in row) + (None,) * (wide - len(row)) for row in rows)
    notes = tuple(tuple(_note(node, verdict) for node in row) + ("",) * (wide - len(row)) for row in rows)
    columns = tuple(str(number + 1) for number in range(wide))
    names = tuple(row[0] for row in rows)
    title = "All nodes: how far the worst benchmark of each is from the median"
    return Matrix(title, "place in the row", "row that begins with", columns, names, cells, "%", notes)


def node_scores(verdict: ReadinessVerdict) -> dict[str, float]:
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


def odd_histograms(verdict: ReadinessVerdict) -> list[Figure]:
    """Draw histograms of benchmarks whose results do not form one bell: a low spread hides that.

    Two populations come first. Benchmarks that go together show the same, so few are enough.
    """
    two = [(name, "two populations") for name in verdict.groups]
    skewed = [
        (name, "not one bell")
        for name, measured in verdict.results.items()
        if name not in verdict.groups and _is_odd(list(measured.values()))
    ]
    return [
        _histogram(name, list(verdict.results[name].values()), f"{BENCHMARKS[name].title}: {words}", in_text=True)
        for name, words in (*two, *skewed)[:MOST_ODD]
    ]


def _is_odd(values: list[float]) -> bool:
    normal_p = shape_of(values).normal_p if values else None
    return normal_p is not None and normal_p < ODD_P


def _histogram(name: str, values: list[float], title: str, *, in_text: bool = False) -> Figure:
    edges, counts = histogram(values)
    middles = tuple(f"{(low + high) / 2:.4g}" for low, high in pairwise(edges))
    bars = Series("nodes", middles, tuple(map(float, counts)))
    benchmark = BENCHMARKS[name]
    axis = benchmark.unit if in_text else f"{benchmark.title}, {benchmark.unit}"
    return Figure(title, axis, "nodes", (bars,), in_text=in_text)


def benchmark_figures(verdict: ReadinessVerdict) -> list[Drawable]:
    """Draw a histogram and a quantile plot of each benchmark."""
    drawn: list[Drawable] = []
    for name, measured in verdict.results.items():
        benchmark, values = BENCHMARKS[name], list(measured.values())
        if len(values) < FEWEST_FOR_SHAPE:
            continue
        axis = f"{benchmark.title}, {benchmark.unit}"
        drawn.append(_histogram(name, values, f"{benchmark.title}: histogram"))
        quantiles = normal_quantiles(values)
        points = Series("nodes", tuple(x for x, _ in quantiles), tuple(y for _, y in quantiles))
        drawn.append(Figure(f"{benchmark.title}: quantiles", "quantile of a normal distribution", axis, (points,)))
    return drawn
