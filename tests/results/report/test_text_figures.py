"""Figures of a few characters, on a terminal that has them."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from results.report.model import Column, Figure, Report, Series, Table
from results.report.terminal import bar, print_report, text_lines

GROWN = Figure(
    "How the best rate grew",
    "minutes",
    "GFLOPS",
    (Series("best so far", (0.0, 1.0, 2.0, 3.0), (1.0, 1.0, 8.0, 8.0), line=True),),
    in_text=True,
)
TABLE = Table("Trials", (Column("#"), Column("result", words=True, bars=(1.0, None))), (("1", "80"), ("2", "killed")))


def printed(width: int = 120, *, terminal: bool = True, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    print_report(
        Console(file=file, force_terminal=terminal, width=width, no_color=True, highlight=False),
        Report("", (TABLE, GROWN)),
    )
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.fixture(autouse=True)
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_wide_terminal_shows_a_bar_before_each_rate_and_how_the_best_grew() -> None:
    shown = printed()
    assert "████████ 80" in shown
    assert "         killed" in shown
    assert "How the best rate grew: ▁▁██ 1 to 8 GFLOPS" in shown


def test_a_narrow_terminal_keeps_its_room_for_words() -> None:
    shown = printed(80)
    assert "████████" not in shown
    assert "▁▁██" in shown


@pytest.mark.parametrize(("terminal", "encoding"), [(False, "utf-8"), (True, "latin-1")])
def test_a_file_and_a_terminal_without_the_characters_get_words_only(*, terminal: bool, encoding: str) -> None:
    shown = printed(terminal=terminal, encoding=encoding)
    assert "killed" in shown
    assert "grew" not in shown
    assert "█" not in shown


def test_the_text_console_of_a_server_gets_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    assert "█" not in printed()


def test_a_line_shows_when_it_rose_and_not_only_how_often() -> None:
    late = replace(GROWN.series[0], x=(0.0, 1.0, 2.0, 100.0), y=(1.0, 2.0, 3.0, 8.0))
    assert text_lines(replace(GROWN, series=(late,))) == ["How the best rate grew: ▃▃▃█ 1 to 8 GFLOPS"]


def test_a_rate_that_never_grew_shows_neither_a_line_nor_its_runs_as_columns() -> None:
    best, runs = Series("best", (0.1, 0.2), (5.0, 5.0), line=True), Series("full runs", (0.1, 0.2), (5.0, 1.0))
    assert text_lines(replace(GROWN, series=(best, runs))) == []


@pytest.mark.parametrize(("part", "shown"), [(1.0, "████████"), (0.5, "████"), (0.03, "▎"), (0.0, ""), (None, "")])
def test_a_bar_counts_eighths_of_a_character(part: float | None, shown: str) -> None:
    assert bar(part) == shown


def test_columns_show_two_peaks_with_what_is_on_the_axes() -> None:
    columns = Series("nodes", ("2031", "2055", "2080", "2110", "2148"), (40.0, 80.0, 0.0, 1.0, 20.0))
    assert text_lines(Figure("STREAM", "MB/s", "nodes", (columns,), in_text=True)) == [
        "STREAM (nodes)",
        "80 │   ███",
        "   │   ███",
        "   │▄▄▄███",
        "   │██████      ▂▂▂",
        "   │██████   ▁▁▁███",
        " 0 └───────────────",
        "    2031  2080 2148  MB/s",
    ]


def test_nothing_to_count_is_no_figure() -> None:
    empty = Figure("STREAM", "MB/s", "nodes", (Series("nodes", ("1", "2"), (0.0, 0.0)),), in_text=True)
    assert text_lines(empty) == []
