"""Figures that a page draws from a report: they hold the same data as its tables."""

import json
import math
from dataclasses import asdict, replace
from statistics import fmean

import pytest
from engine_contract import space_of
from explain_builders import SWAPPING, records, searched, simulated, trap
from record_builders import a_study

from results.report.model import Figure, Matrix, Part, Report, Sentence, Table
from results.report.text_forms import to_markdown
from results.stats.ranking import Ranked
from tuner.explain.taught_study import TaughtStudy
from tuner.reports.explanation import explanation_parts
from tuner.reports.figures.effects import values
from tuner.reports.pairs import crossing_parts, strongest_pairs, upright
from tuner.reports.summary import StudySummary

RANKING = [
    Ranked("a", {"layout": "8x1", "NB": 192}, (80.0, 81.0), 1),
    Ranked("b", {"layout": "4x1", "NB": 128}, (60.0,), 2),
]


def figure(parts: list[Part]) -> Figure:
    [found] = [part for part in parts if isinstance(part, Figure)]
    return found


def test_a_ranking_is_drawn_with_every_single_run() -> None:
    drawn = figure(StudySummary.of(a_study(), [replace(RANKING[0], believed_gflops=80.6), RANKING[1]]).parts(5))
    expected, runs = drawn.series
    assert (expected.x, expected.y) == ((1, 2), (80.6, 60.0))
    assert (runs.x, runs.y) == ((1.0, 1.0, 2.0), (80.0, 81.0, 60.0))


def test_a_ranking_has_no_expected_runs_in_its_legend_where_only_the_runs_tell_them() -> None:
    [runs] = figure(StudySummary.of(a_study(), RANKING).parts(5)).series
    assert (runs.name, runs.y) == ("runs", (80.0, 81.0, 60.0))


def test_a_front_is_drawn_against_the_other_figure_of_merit() -> None:
    study = a_study(host={"nodes": 8, "physical_cores": 8}, versions={"simulator": "SimGrid 3.32"})
    summary = StudySummary.of(study, RANKING, "usd-per-gflops")
    drawn = figure(summary.parts(5))
    assert (drawn.x_axis, drawn.y_axis) == ("$/GFLOPS", "GFLOPS")
    [front] = drawn.series
    assert front.y == tuple(entry.expected_gflops for entry in summary.front)


@pytest.fixture(scope="module")
def taught() -> TaughtStudy:
    space = space_of(SWAPPING)
    return TaughtStudy(space, simulated(records(space, trap, 80)))


def test_shares_and_pairs_are_drawn_and_markdown_leaves_them_out(taught: TaughtStudy) -> None:
    found = taught.explanation
    parts = explanation_parts(searched("default"), found)
    explained, _ = (part for part in parts if isinstance(part, Figure))
    for series, told in zip(explained.series, ("share", "total"), strict=True):
        expected = {effect.name: 100 * getattr(effect, told) for effect in found.effects}
        assert dict(zip(series.x, series.y, strict=True)) == pytest.approx(expected)
        assert all(low <= y <= high for low, y, high in zip(series.low, series.y, series.high, strict=True))
    crossing = taught.crossing(("NB", "BCAST"))
    [matrix] = [part for part in crossing_parts(searched("default"), crossing) if isinstance(part, Matrix)]
    assert matrix.cells == upright(crossing).percent
    assert "what matters, from 80 runs" in to_markdown(Report("", tuple(parts)))


def test_what_stands_behind_a_plus_minus_is_what_the_bars_of_the_figures_are_and_is_named(taught: TaughtStudy) -> None:
    parts = [
        *explanation_parts(searched("default"), taught.explanation, strongest_pairs(taught, 1)),
        *crossing_parts(searched("default"), taught.crossing(("NB", "BCAST"))),
    ]
    table = next(part for part in parts if isinstance(part, Table))
    alone = figure([next(part for part in parts if isinstance(part, Figure))]).series[0]
    for name, cell in ((row[0], row[1]) for row in table.rows):
        middle, half = (float(part) for part in cell.removesuffix(" %").split(" ± "))
        place = alone.x.index(name)
        assert alone.high[place] == pytest.approx(min(100.0, middle + half), abs=1.0)
    told = [part for part in parts if "±" in json.dumps(asdict(part), default=str, ensure_ascii=False)]
    assert {type(part) for part in told} >= {Table, Matrix, Sentence}
    for part in told:
        where = part.caption if isinstance(part, Table) else part
        assert "95 %" in json.dumps(
            where if isinstance(where, str) else asdict(where), default=str, ensure_ascii=False
        ), part


def test_each_value_is_drawn_behind_the_best_of_its_parameter_with_an_interval(taught: TaughtStudy) -> None:
    drawn = values(taught.explanation.effects)
    assert drawn is not None
    of_nb = next(series for series in drawn.series if series.name == "NB")
    behind = dict(zip(of_nb.x, zip(of_nb.low, of_nb.y, of_nb.high, strict=True), strict=True))
    assert behind["NB 64"] == (0.0, 0.0, 0.0)
    logs = {
        NB: fmean(math.log(trap(point)) for point in taught.space if point["NB"] == NB)
        for NB in taught.space.varying["NB"].values
    }
    low, middle, high = behind["NB 192"]
    assert low < 100 * (1 - math.exp(logs[192] - logs[64])) < high
    assert low < middle < high < 20


def test_the_strongest_pair_is_found_without_being_asked_for(taught: TaughtStudy) -> None:
    (matrix,) = strongest_pairs(taught, 1)
    assert {matrix.x_axis, matrix.y_axis} == {"NB", "BCAST"}
    best = [
        note
        for row, notes in zip(matrix.cells, matrix.notes, strict=True)
        for cell, note in zip(row, notes, strict=True)
        if cell == 0
    ]
    runs = [run for run in records(taught.space, trap, 80) if (run.params["NB"], run.params["BCAST"]) == (64, "LnM")]
    assert best == [f"95 % interval ± 0.0, {len(runs)} runs"]
