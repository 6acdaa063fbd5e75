from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hpl.witness import parse_panels, parse_reports

REAL = (Path(__file__).with_name("data") / "need-4.stderr.txt").read_text()


def test_the_reports_of_real_ranks_are_read_in_order() -> None:
    reports = parse_reports(REAL)
    assert [report.rank for report in reports] == [0, 1]
    assert str(reports[0].library).endswith(".so")
    assert reports[0].version.startswith("OpenBLAS 0.3")
    assert reports[0].threads == 1


def test_a_library_that_does_not_tell_its_threads_has_none() -> None:
    line = REAL.splitlines()[0].replace('"threads": 1', '"threads": -1').replace("/usr/", "")
    assert parse_reports(line)[0].threads is None


def test_panels_tell_how_much_of_the_work_is_done() -> None:
    text = 'noise\nhpltune-panel {"N": 1000, "column": 500, "time_s": 1.5}\n'
    panel = parse_panels(text)[0]
    assert (panel.N, panel.column, panel.time_s, panel.fraction) == (1000, 500, 1.5, 0.875)


@given(st.text(), st.integers(0, 600))
def test_damaged_lines_are_passed_over(noise: str, place: int) -> None:
    parse_reports(REAL[:place] + noise + REAL[place:])
    parse_panels(f'hpltune-panel {{"N": 1{noise}\nhpltune-panel []')
