"""The table of a ranking, as Markdown and on a terminal of any width."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from record_builders import DISTURBED, QUIET, finished
from rich.console import Console

from results.report.model import Column, Table
from results.report.ranking_table import NOTHING, ranking_table
from results.report.terminal import print_table
from results.report.text_forms import table_lines
from results.stats.ranking import Ranked, rank, varying

RANKING = [
    Ranked("a", {"NB": 192, "grid": "1x2", "blas": "openblas", "N": 6000}, (80.0, 81.0, 82.0), 1),
    Ranked("b", {"NB": 128, "grid": "1x2", "blas": "bl|is", "N": 6000}, (70.0,), 2),
]


def markdown(ranking: Sequence[Ranked], more: Mapping[str, Sequence[str]] = NOTHING) -> str:
    return table_lines(ranking_table("", ranking, more))


def test_a_markdown_table_has_only_the_parameters_that_differ() -> None:
    assert varying(RANKING) == ["blas", "NB"]
    assert markdown(RANKING).splitlines() == [
        "| rank | median GFLOPS | runs | slowest to fastest | blas | NB |",
        "|---|---|---|---|---|---|",
        "| 1 | 81.00 | 3 | 80.00-82.00 | openblas | 192 |",
        "| 2 | 70.00 | 1 |  | bl\\|is | 128 |",
    ]


ESTIMATED = [replace(RANKING[0], believed_gflops=80.8), replace(RANKING[1], believed_gflops=69.1)]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_numbers_are_whole_on_a_terminal_of_any_width(width: int) -> None:
    large = [replace(entry, gflops=tuple(1e4 * rate for rate in entry.gflops)) for entry in ESTIMATED]
    stream = io.StringIO()
    table = ranking_table("Best", large, {"% of peak": ["50.00", "43.20"]}, [(795123.25, 821456.75), None])
    print_table(Console(file=stream, width=width, markup=False), table)
    shown = stream.getvalue()
    assert "…" not in shown
    for whole in ("810000.00", "800000.00-820000.00", "80.80", "795123.25-821456.75", "50.00"):
        assert whole in shown


def test_a_markdown_table_of_nothing_is_a_head() -> None:
    assert len(markdown([]).splitlines()) == 2


def printed(width: int, *, short: bool = False) -> str:
    stream, more = io.StringIO(), {"% of peak": ["5", "4"]}
    print_table(Console(file=stream, width=width, markup=False), ranking_table("Best", RANKING, more, short=short))
    return stream.getvalue()


def test_facts_are_whole_lines_in_a_pipe_and_a_table_on_a_terminal() -> None:
    long = " ".join(["word"] * 60)
    rows = (("cores", "2"), ("Rpeak", f"a clock\n{long}"))
    facts = Table("vm", (Column("", words=True), Column("", words=True)), rows, headless=True)

    def shown(*, terminal: bool) -> list[str]:
        stream = io.StringIO()
        print_table(Console(file=stream, width=80, markup=False, force_terminal=terminal), facts)
        return stream.getvalue().splitlines()

    assert shown(terminal=False) == ["vm", "cores: 2", "Rpeak: a clock", f"  {long}"]
    assert max(map(len, shown(terminal=True)[1:])) <= 80
    assert any("│ cores" in line for line in shown(terminal=True))


def test_a_short_table_has_what_varies_in_one_column_and_of_others_only_what_differs_from_the_first() -> None:
    shown = printed(50, short=True)
    assert max(map(len, shown.splitlines())) <= 50
    assert "blas=openblas NB=192" in " ".join(shown.replace("│", " ").split())
    assert " ".join(shown.split()).endswith("Below no. 1 stands what differs from it.")


def test_of_runs_of_which_nothing_is_known_the_table_does_not_say_that_nothing_disturbed_them() -> None:
    unknown = finished(1, 80.0, key="a", measurements={})
    runs = [unknown, finished(2, 70.0, key="b", measurements=DISTURBED), finished(3, 60.0, key="c", measurements=QUIET)]
    assert [row[-1] for row in ranking_table("", rank(runs)).rows] == ["not known", "all", ""]
    more = [*runs, finished(4, 59.0, key="c", measurements={}), finished(5, 58.0, key="c", measurements=DISTURBED)]
    assert "1 more, 1 more not known" in ranking_table("", rank(more)).rows[-1]
    columns = ranking_table("", rank([unknown])).columns
    assert "disturbed" not in [column.name for column in columns], "where nothing was disturbed there is no such column"
