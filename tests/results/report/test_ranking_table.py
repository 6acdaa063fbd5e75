"""The table of a ranking, as Markdown and on a terminal of any width."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Console

from results.report.markdown import table_lines
from results.report.ranking_table import NOTHING, ranking_table
from results.report.terminal import print_table
from results.stats.ranking import Ranked, varying

RANKING = [
    Ranked("a", {"NB": 192, "grid": "1x2", "blas": "openblas", "N": 6000}, (80.0, 81.0, 82.0), 1),
    Ranked("b", {"NB": 128, "grid": "1x2", "blas": "bl|is", "N": 6000}, (70.0,), 2),
]


def markdown(ranking: Sequence[Ranked], more: Mapping[str, Sequence[str]] = NOTHING) -> str:
    return table_lines(ranking_table("", ranking, more))


def test_a_markdown_table_has_only_the_parameters_that_differ() -> None:
    assert varying(RANKING) == ["blas", "NB"]
    assert markdown(RANKING).splitlines() == [
        "| rank | GFLOPS | spread % | runs | blas | NB |",
        "|---|---|---|---|---|---|",
        "| 1 | 81.00 | 1.2 | 3 | openblas | 192 |",
        "| 2 | 70.00 |  | 1 | bl\\|is | 128 |",
    ]


def test_a_markdown_table_has_the_figures_of_merit_that_are_known() -> None:
    merits = {"% of peak": ["50.00", "43.20"], "USD/GFLOPS": ["30.74", "35.60"]}
    head, _, first, _ = markdown(RANKING, merits).splitlines()
    assert head == "| rank | GFLOPS | spread % | runs | % of peak | USD/GFLOPS | blas | NB |"
    assert first == "| 1 | 81.00 | 1.2 | 3 | 50.00 | 30.74 | openblas | 192 |"


def test_a_markdown_table_says_how_often_configurations_failed_where_any_did() -> None:
    head, _, first, second = markdown([RANKING[0], replace(RANKING[1], failed_runs=2)]).splitlines()
    assert head == "| rank | GFLOPS | spread % | runs | failed | blas | NB |"
    assert first == "| 1 | 81.00 | 1.2 | 3 | 0 | openblas | 192 |"
    assert second == "| 2 | 70.00 |  | 1 | 2 | bl\\|is | 128 |"


def test_a_markdown_table_of_nothing_is_a_head() -> None:
    assert len(markdown([]).splitlines()) == 2


def printed(width: int) -> str:
    stream = io.StringIO()
    print_table(
        Console(file=stream, width=width, markup=False), ranking_table("Best", RANKING, {"% of peak": ["5", "4"]})
    )
    return stream.getvalue()


def test_a_wide_terminal_has_a_column_for_each_parameter_that_differs() -> None:
    assert [word.strip() for word in printed(100).splitlines()[2].split("┃")[1:-1]] == [
        "", "GFLOPS", "±%", "runs", "% of peak", "blas", "NB",
    ]  # fmt: skip


def test_a_narrow_terminal_has_the_parameters_of_each_configuration_below_the_table() -> None:
    lines = printed(50).splitlines()
    assert "blas" not in lines[2]
    assert lines[-2:] == ["1  blas=openblas  NB=192", "2  blas=bl|is  NB=128"]
