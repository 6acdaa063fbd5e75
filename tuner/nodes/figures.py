"""Figures of a check of nodes: a grid of all nodes, histograms, quantiles; and the list of kept checks."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from results.node_check import BENCHMARKS
from results.report.model import Drawable, Figure, Matrix, Report, Sentence, Series, Table, columns
from results.store.node_checks import NodeCheckLine, NodeCheckState

from .statistics.odd_nodes import FEWEST_FOR_SHAPE, histogram, normal_quantiles
from .statistics.verdict import ReadinessVerdict

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
    """Draw histograms of benchmarks that show two populations; those that go together show the same, so few do."""
    return [
        _histogram(
            name, list(verdict.results[name].values()), f"{BENCHMARKS[name].title}: two populations", in_text=True
        )
        for name in list(verdict.groups)[:MOST_ODD]
    ]


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


NARROW = ("check", "cluster", "nodes", "verdict")
STANDING = {NodeCheckState.RUNNING: "running", NodeCheckState.INTERRUPTED: "stopped"}


def standing(line: NodeCheckLine) -> str:
    """Say in a few words what a check came to."""
    if line.state is not NodeCheckState.COMPLETE:
        return STANDING[line.state]
    if not line.ready:
        return "not ready"
    return "ready" if line.alike else "ready, not alike"


def moment(at: datetime) -> str:
    """Write when a check was made, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def kept_list_report(lines: Sequence[NodeCheckLine]) -> Report:
    """Make the list, newest first."""
    facts: list[object] = [line_facts(line) for line in lines]
    if not lines:
        return Report(
            "Checks of nodes", (Sentence("No check of nodes is kept: `hpltune nodes check` makes one."),), facts
        )
    heads = columns("check", "UTC", "cluster", "nodes", "verdict", "mark", words={"UTC", "cluster", "verdict", "mark"})
    rows = tuple(
        (str(line.number), moment(line.checked_at), line.cluster, str(line.nodes), standing(line), _mark(line))
        for line in lines
    )
    return Report("Checks of nodes", (Table("Checks of nodes", heads, rows, narrow=NARROW),), facts)


def line_facts(line: NodeCheckLine) -> dict[str, object]:
    """Tell a line to scripts."""
    return {
        "number": line.number,
        "cluster": line.cluster,
        "checked_at": line.checked_at.isoformat(timespec="seconds"),
        "state": line.state.value,
        "nodes": line.nodes,
        "ready": line.ready,
        "alike": line.alike,
        "findings": list(line.findings),
        "virtual": line.virtual,
        "baseline": line.baseline,
        "campaign": line.campaign,
    }


def _mark(line: NodeCheckLine) -> str:
    marks = [word for word, is_so in (("baseline", line.baseline), ("virtual", line.virtual)) if is_so]
    return ", ".join(marks)
