"""A report is shown whole on a terminal of any width, as Markdown and as JSON."""

import io
import json
from collections.abc import Iterator

import pytest
from rich.console import Console

from results.report.model import Column, Figure, Report, Rows, Sentence, Series, Table, Tone
from results.report.terminal import print_report
from results.report.text_forms import json_parts, to_json, to_markdown

TABLE = Table(
    "Designs",
    (Column("design", words=True), Column("Rmax GFLOPS"), Column("NB"), Column("grid", words=True)),
    (("as it is", "14.47", "192", "2x4"), ("sixteen | nodes", "27.95", "128", "4x4")),
    bold=frozenset({1}),
    narrow=("design", "Rmax GFLOPS"),
    below=True,
)
MATRIX = Table(
    "NB by grid",
    (Column("NB", words=True), *(Column(f"1x{number}") for number in range(1, 13))),
    tuple((f"{NB}", *("12.5 ± 0.1" for _ in range(12))) for NB in (64, 128)),
    in_pieces=True,
)
WORDY = Table(
    "",
    (*(Column(name, words=True) for name in ("study", "when", "state", "configuration")), Column("GFLOPS")),
    (("default-1", "2026-11-28 12:54", "complete", "blas=openblas kernel=Cooperlake layout=1x2", "36.43"),),
)
FIGURE = Figure("Rate", "N", "GFLOPS", (Series("runs", (1000.0,), (3.5,)),))
REPORT = Report(
    "Two designs",
    (TABLE, Sentence("The second one is faster."), FIGURE),
    {"designs": [{"name": "as it is", "gflops": 14.47}]},
)


def printed(report: Report, width: int) -> str:
    stream = io.StringIO()
    print_report(Console(file=stream, width=width, markup=False, highlight=False), report)
    return stream.getvalue()


def test_a_narrow_terminal_shows_the_main_columns_and_the_rest_below() -> None:
    said = printed(REPORT, 40)
    assert "│ as it is" in said
    assert "sixteen | nodes: NB 128, grid 4x4" in said


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_a_matrix_in_pieces_keeps_every_cell_at_any_width(width: int) -> None:
    said = printed(Report("", (MATRIX,)), width)
    assert said.count("12.5 ± 0.1") == 24
    assert all(len(line) <= max(width, 22) for line in said.splitlines())


@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_terminal_breaks_cells_between_words_and_keeps_every_column(width: int) -> None:
    said = printed(Report("", (WORDY,)), width)
    assert all(len(line) <= width for line in said.splitlines())
    for word in ("default-1", "2026-11-28", "complete", "kernel=Cooperlake", "layout=1x2", "36.43"):
        assert f" {word} " in said, f"{word} is broken or left out"


def test_a_sentence_with_a_command_is_not_broken() -> None:
    command = "hpltune tune --resume --study default-1 --budget 20m"
    assert command in printed(Report("", (Sentence(command, unbroken=True),)), 20)


def test_a_caption_stands_below_its_table() -> None:
    table = Table("", (Column("space", words=True),), (("quick",),), caption="Counted here.")
    report = Report("", (table,))
    assert " ".join(printed(report, 40).split()).endswith("Counted here.")
    assert to_markdown(report).splitlines()[-1] == "Counted here."


def test_bad_news_is_coloured_where_a_terminal_has_colours() -> None:
    stream = io.StringIO()
    print_report(Console(file=stream, force_terminal=True), Report("", (Sentence("Missing: MPI", tone=Tone.BAD),)))
    assert "\x1b[31mMissing: MPI" in stream.getvalue()


def test_a_long_list_of_facts_is_read_row_by_row_and_has_one_a_line() -> None:
    read = []

    def rows() -> Iterator[dict[str, object]]:
        for number in range(3):
            read.append(number)
            yield {"trial": number, "params": {"NB": 64}}

    report = Report("", facts=Rows(rows))
    parts = json_parts(report)
    assert next(parts) == '[\n{"trial": 0, "params": {"NB": 64}}'
    assert read == [0]
    assert to_json(report).count("\n") == 4
    assert json.loads(to_json(report)) == list(rows())


def test_a_long_list_without_a_row_is_an_empty_list() -> None:
    assert to_json(Report("", facts=Rows(lambda: iter(())))) == "[]"


def test_a_row_with_too_few_cells_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="has 1 cells for 2 columns"):
        Table("T", (Column("a"), Column("b")), (("1",),))
