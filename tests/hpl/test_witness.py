import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hpl.witness import (
    MOST_NUMBER,
    RANK_FIGURES,
    WHOLE,
    NodeSeries,
    PowerSeries,
    RankSolve,
    of_run,
    parse_conditions,
    parse_panels,
    parse_power,
    parse_reports,
    parse_sights,
    parse_transports,
)

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


SAW = (
    'hpltune-saw {"rank": 1, "host": "n2", "cpus": "0-1,5", "variables": {"OMP_NUM_THREADS": "2"}}\n'
    'hpltune-saw {"rank": 0, "host": "n1", "cpus": "", "variables": {"UCX_TLS": "rc,\\u001b[31m"}}\n'
    'hpltune-saw {"rank": 1, "host": "n2", "cpus": "0-1,5", "variables": {"UCX_TLS": "tcp"}}\n'
    'hpltune-moves {"rank": 0, "host": "n1", "parts": "mca_pml_ob1 mca_btl_tcp mca_btl_tcp"}\n'
)


def test_what_reached_each_rank_is_read_from_all_its_lines() -> None:
    first, second = parse_sights(SAW)
    assert (first.host, first.cpus, first.variables) == ("n1", frozenset(), {"UCX_TLS": "rc,[31m"})
    assert second.cpus == {0, 1, 5}
    assert second.variables == {"OMP_NUM_THREADS": "2", "UCX_TLS": "tcp"}
    assert parse_transports(SAW) == ("mca_pml_ob1", "mca_btl_tcp")


@given(st.text() | st.from_regex(r"\A[0-9,-]{0,12}\Z"), st.integers(0, 330))
def test_damaged_lines_of_what_reached_a_rank_are_passed_over(noise: str, place: int) -> None:
    parse_sights(SAW[:place] + noise + SAW[place:])
    parse_transports(SAW[:place] + noise + SAW[place:])
    for sight in parse_sights(SAW.replace("0-1,5", json.dumps(noise)[1:-1])):
        assert all(0 <= cpu < 10**5 for cpu in sight.cpus)


@given(st.text(), st.integers(0, 600))
def test_damaged_lines_are_passed_over(noise: str, place: int) -> None:
    parse_reports(REAL[:place] + noise + REAL[place:])
    parse_panels(f'hpltune-panel {{"N": 1{noise}\nhpltune-panel []')


SOLVES = (Path(__file__).with_name("data") / "solves-openmpi.stderr.txt").read_text()
"""Two solves of two ranks, beside two programs that computed, too; by Open MPI 4.1."""


def test_what_real_ranks_told_of_each_solve_is_read() -> None:
    told = parse_conditions(SOLVES)
    assert list(told) == [0, 1]
    for solve in told.values():
        assert [(rank.rank, rank.figures["of"]) for rank in solve.ranks] == [(0, 2), (1, 2)]
        (node,) = solve.nodes
        assert node.figures["ranks"] == 2
        assert node.figures["busy_s"] > node.figures["ranks_cpu_s"] > 0
        assert "python3" in node.programs
        names = [series.name for series in solve.series]
        assert {"busy_s", "steal_s", "ranks_cpu_s"} <= set(names)
        for series in solve.series:
            assert series.times_s[0] == 0.0
            assert series.times_s[-1] == node.end_s - node.begin_s
            assert sorted(series.values) == series.values


def test_a_run_of_several_keeps_only_its_own_lines() -> None:
    for number in (0, 1):
        assert list(parse_conditions(of_run(SOLVES, number))) == [number]
    whole = SOLVES.replace('"solve": 0', f'"solve": {WHOLE}')
    assert list(parse_conditions(of_run(whole, 0))) == [WHOLE], "it is of all runs"


figures = st.dictionaries(st.sampled_from(RANK_FIGURES), st.floats(0, MOST_NUMBER))
moments = st.floats(0, 1e9)


@given(st.integers(0, 9), moments, st.floats(1e-3, 1e6), figures)
def test_what_a_rank_tells_is_read_back(number: int, begin_s: float, solve_s: float, told: dict[str, float]) -> None:
    rank = RankSolve(3, "n1", begin_s, begin_s + solve_s, told)
    line = {"rank": 3, "host": "n1", "solve": number, "begin_s": begin_s, "end_s": begin_s + solve_s, **told}
    (found,) = parse_conditions(f"hpltune-solve {json.dumps(line)}\n")[number].ranks
    assert found == rank


@given(st.dictionaries(moments, st.floats(-MOST_NUMBER, MOST_NUMBER), min_size=1), st.integers(1, 5))
def test_samples_are_read_back_from_several_lines_cut_to_the_solve(samples: dict[float, float], size: int) -> None:
    lines = ['hpltune-node {"host": "n1", "solve": 0, "begin_s": 5.0, "end_s": 1e8}']
    every = list(samples.items())
    for first in range(0, len(every), size):
        times, values = zip(*every[first : first + size], strict=True)
        told = {"host": "n1", "solve": 0, "name": "/sys/x", "times_s": times, "values": values}
        lines.append(f"hpltune-samples {json.dumps(told)}")
    kept = {time: samples[time] for time in sorted(samples) if 5.0 <= time <= 1e8}
    series = [NodeSeries("n1", "/sys/x", [time - 5.0 for time in kept], list(kept.values()))] if kept else []
    assert parse_conditions("\n".join(lines))[0].series == series


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
names = st.sampled_from(
    ["rank", "host", "solve", "begin_s", "end_s", "cpu_s", "programs", "name", "times_s", "values", "busy_s", "of"]
)


@given(st.sampled_from(["solve", "node", "samples"]), st.dictionaries(names, json_values))
def test_no_line_of_a_stranger_is_a_mistake(kind: str, told: dict[str, object]) -> None:
    line = {"rank": 0, "host": "n1", "solve": 0, "begin_s": 1.0, "end_s": 2.0, "name": "x", **told}
    node = 'hpltune-node {"host": "n1", "solve": 0, "begin_s": 1.0, "end_s": 2.0}'
    parse_conditions(f"{node}\nhpltune-{kind} {json.dumps(line)}")


@given(st.text(), st.integers(0, len(SOLVES)))
def test_a_damaged_text_of_solves_is_passed_over(noise: str, place: int) -> None:
    parse_conditions(SOLVES[:place] + noise + SOLVES[place:])


def test_names_of_strangers_are_printable_ascii_and_bounded() -> None:
    programs = {"a:b\u001b[31m": 1.0, "x" * 1000: 2.0, "": 3.0, "ok": -1}
    line = {"host": "n1", "solve": 0, "begin_s": 1.0, "end_s": 2.0, "programs": programs}
    (node,) = parse_conditions(f"hpltune-node {json.dumps(line)}")[0].nodes
    assert node.programs == {"ab[31m": 1.0}


watts = st.floats(0, 1e9).map(lambda value: round(value, 2))


@given(st.integers(0, 9), st.dictionaries(watts, watts, min_size=1, max_size=20))
def test_the_power_of_a_solve_is_read_back(number: int, told: dict[float, float]) -> None:
    series = PowerSeries(number, "rapl", tuple(sorted(told)), tuple(told[time] for time in sorted(told)))
    assert parse_power(f"noise\n{series.line()}") == (series,)


def test_a_run_of_several_keeps_only_its_own_power() -> None:
    first, second = (PowerSeries(number, "meter", (0.5,), (100.0 + number,)) for number in (0, 1))
    text = SOLVES + first.line() + second.line()
    assert parse_power(of_run(text, 0)) == (first,)
    assert parse_power(of_run(text, 1)) == (second,)


@given(st.dictionaries(st.sampled_from(["solve", "source", "times_s", "watts"]), json_values))
def test_no_line_of_power_is_a_mistake(told: dict[str, object]) -> None:
    line = {"solve": 0, "source": "rapl", "times_s": [1.0], "watts": [2.0], **told}
    parse_power(f"hpltune-power {json.dumps(line)}")
