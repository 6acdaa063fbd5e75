"""`hpltune known`: published results, filtered, sorted, and whole on a narrow terminal."""

from io import StringIO

import pytest
from rich.console import Console

from results.report.model import Table
from results.report.terminal import print_report
from tuner.commands.known import ORDERS, known_words, list_known, published_machines


def names(*words: str, by: str = "machine") -> list[str]:
    return [machine.machine for machine in published_machines(words, by)]


def test_all_are_listed_by_their_names() -> None:
    found = names()
    assert len(found) > 100
    assert found == sorted(found, key=str.casefold)


def test_every_word_must_fit_whatever_its_case() -> None:
    assert names("LUMI", "epyc") == ["LUMI-C"]
    assert names("epyc 7763") == names("EPYC", "7763")
    assert names("kronos") == ["Kronos"]


@pytest.mark.parametrize("by", [name for name, figure in ORDERS.items() if figure])
def test_the_largest_figure_comes_first_and_unknown_ones_last(by: str) -> None:
    figure = ORDERS[by]
    assert figure is not None
    figures = [figure(machine) for machine in published_machines(by=by)]
    known = [value for value in figures if value is not None]
    assert figures == [*sorted(known, reverse=True), *([None] * (len(figures) - len(known)))]


def test_results_of_one_cpu_stand_together_by_cpu() -> None:
    cpus = [machine.cpu.casefold() for machine in published_machines(by="cpu")]
    assert cpus == sorted(cpus)


def test_watts_are_told_where_they_are_sorted_by() -> None:
    heads = {
        by: [column.name for part in list_known(by=by).parts if isinstance(part, Table)
             for column in part.columns]
        for by in ("machine", "mflops-per-watt")
    }  # fmt: skip
    assert "MFLOPS/W" not in heads["machine"]
    assert "MFLOPS/W" in heads["mflops-per-watt"]


@pytest.mark.parametrize("by", ["machine", "mflops-per-watt"])
def test_a_narrow_terminal_shows_the_table_whole(by: str) -> None:
    said = StringIO()
    print_report(Console(width=80, file=said), list_known(by=by))
    text = said.getvalue()
    assert "…" not in text
    assert "7,630,848" in text
    assert "442,010,000" in text
    assert max(map(len, text.splitlines())) <= 80


def test_tab_completes_words_of_machines_and_cpus() -> None:
    assert "EPYC" in known_words("ep")
    assert "Raspberry" in known_words("rasp")
    assert known_words("zzz") == []
