"""Figures that a page draws from a report: they hold the same data as its tables."""

import pytest
from engine_contract import space_of
from explain_builders import SWAPPING, records, searched, trap
from record_builders import a_study

from results.report.markdown import to_markdown
from results.report.model import Figure, Matrix, Part, Report
from results.stats.ranking import Ranked
from tuner.engines.perf.probes import Probes
from tuner.explain.explanation import explain
from tuner.explain.pairs import explain_pair
from tuner.reports.explanation import explanation_parts
from tuner.reports.pairs import crossing_parts
from tuner.reports.summary import StudySummary

RANKING = [
    Ranked("a", {"layout": "8x1", "NB": 192}, (80.0, 81.0), 1),
    Ranked("b", {"layout": "4x1", "NB": 128}, (60.0,), 2),
]


def figure(parts: list[Part]) -> Figure:
    [found] = [part for part in parts if isinstance(part, Figure)]
    return found


def test_a_ranking_is_drawn_with_every_single_run() -> None:
    drawn = figure(StudySummary.of(a_study(), RANKING).parts(5))
    expected, runs = drawn.series
    assert (expected.x, expected.y) == ((1, 2), (80.5, 60.0))
    assert (runs.x, runs.y) == ((1.0, 1.0, 2.0), (80.0, 81.0, 60.0))


def test_a_front_is_drawn_against_the_other_figure_of_merit() -> None:
    study = a_study(host={"nodes": 8, "physical_cores": 8}, versions={"simulator": "SimGrid 3.32"})
    summary = StudySummary.of(study, RANKING, "usd-per-gflops")
    drawn = figure(summary.parts(5))
    assert (drawn.x_axis, drawn.y_axis) == ("$/GFLOPS", "GFLOPS")
    [front] = drawn.series
    assert front.y == tuple(entry.expected_gflops for entry in summary.front)


def test_shares_and_pairs_are_drawn_and_markdown_leaves_them_out() -> None:
    space = space_of(SWAPPING)
    runs = records(space, trap, 80)
    found = explain(space, runs)
    parts = explanation_parts(searched("default"), found)
    alone, _ = figure(parts).series
    assert dict(zip(alone.x, alone.y, strict=True)) == pytest.approx(
        {effect.name: 100 * effect.share for effect in found.effects}
    )
    crossing = explain_pair(space, runs, ("NB", "BCAST"), Probes())
    [matrix] = [part for part in crossing_parts(searched("default"), crossing) if isinstance(part, Matrix)]
    upright = (
        crossing.percent if len(crossing.ones) >= len(crossing.others) else tuple(zip(*crossing.percent, strict=True))
    )
    assert matrix.cells == upright
    assert "what matters, from 80 runs" in to_markdown(Report("", tuple(parts)))
