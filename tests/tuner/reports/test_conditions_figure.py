"""What the machine did over the time of a run: from what ranks and meters told to rows of a figure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from record_builders import DISTURBED, QUIET, a_study, begun, finished

from hpl.sizing import flop_count, fraction_done
from hpl.witness import PowerSeries, of_run
from results.record import Kind, TrialRecord
from results.report.model import Figure, Sentence, Timeline, inner_parts
from results.report.picture import PictureSize
from results.store.store import Store
from tuner.commands.stored.plot import plot
from tuner.commands.stored.report import page_of
from tuner.errors import TunerError
from tuner.reports.figures.conditions import MOST_RUNS, conditions, most_disturbed

REAL = of_run((Path(__file__).parents[2] / "hpl/data/solves-openmpi.stderr.txt").read_text(), 0)
"""What two real ranks and their node told of a solve of 6.08 s, beside two programs that computed."""
MEASURED = {**DISTURBED, "solve_s": 6.0752, "foreign_cpu_s": 8.8, "foreign_for_s": 6.08}
RATES, OTHERS = "Rate of panels", "CPU time that others took"


def run(errors_text: str = REAL, measurements: Mapping[str, float] = MEASURED) -> TrialRecord:
    return finished(1, 13.7, errors_text=errors_text, measurements=measurements)


def drawn(errors_text: str = REAL, measurements: Mapping[str, float] = MEASURED) -> Timeline:
    found = conditions(run(errors_text, measurements))
    assert found is not None
    return found


def rows(timeline: Timeline) -> dict[str, Figure]:
    return {row.title: row for row in timeline.rows}


def samples(name: str, *values: float) -> str:
    times = [3761.240415 + 1.5 * place for place in range(len(values))]
    told = {"host": "node-1", "solve": 0, "name": name, "times_s": times, "values": values}
    return f"hpltune-samples {json.dumps(told)}\n"


def test_the_rate_of_panels_stands_above_what_others_took() -> None:
    found = drawn()
    assert [row.title for row in found.rows] == [RATES, OTHERS]
    rates, others = (row.series[0] for row in found.rows)
    assert all(0 < float(at) < 6.0752 for at in rates.x)
    assert all(0 < rate < 60 for rate in rates.y), "in GFLOPS of two cores"
    assert all(0 <= taken <= 2 for taken in others.y)
    assert found.shaded
    assert found.moments == ((0.0, "begin"), (6.0752, "end"))
    assert "Disturbed: others took" in found.caption


def test_a_steady_rate_is_a_level_line() -> None:
    panels = [(column, 6.0 * fraction_done(5000, column)) for column in range(0, 5000, 250)]
    steady = "".join(f'hpltune-panel {{"N": 5000, "column": {at}, "time_s": {time_s}}}\n' for at, time_s in panels)
    told = "".join(line for line in REAL.splitlines(keepends=True) if "hpltune-panel" not in line)
    rates = rows(drawn(steady + told))[RATES].series[0].y
    assert rates == pytest.approx([1e-9 * flop_count(5000) / 6.0] * len(rates))


def test_clock_temperature_and_power_have_rows_where_something_told_them() -> None:
    sensors = samples("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", 3e6, 2e6, 2.5e6)
    sensors += samples("/sys/class/thermal/thermal_zone0/temp", 61000, 85500, 80000)
    power = PowerSeries(0, "rapl", (0.5, 1.5, 99.0), (101.0, 95.5, 7.0)).line()
    found = rows(drawn(REAL + sensors + power))
    assert list(found) == [RATES, "Mean clock of all CPUs", "Highest temperature", "Power by rapl", OTHERS]
    assert found["Mean clock of all CPUs"].series[0].y == (3000.0, 2000.0, 2500.0)
    assert found["Highest temperature"].series[0].y == (61.0, 85.5, 80.0)
    watts = found["Power by rapl"]
    assert (watts.y_axis, watts.series[0].x, watts.series[0].y) == ("W", (0.5, 1.5), (101.0, 95.5)), "cut to the solve"


def test_of_many_sources_of_power_those_nearest_to_the_wall_are_drawn() -> None:
    told = "".join(PowerSeries(0, name, (0.5, 1.5), (9.0, 9.0)).line() for name in ("meter", "ipmi", "rapl"))
    assert [title for title in rows(drawn(REAL + told)) if "Power" in title] == ["Power by meter", "Power by ipmi"]


def test_a_run_that_was_not_watched_is_not_drawn() -> None:
    assert conditions(run("", {})) is None
    assert conditions(run(REAL, {})) is None
    only_panels = "".join(line for line in REAL.splitlines(keepends=True) if "hpltune-samples" not in line)
    assert conditions(run(only_panels)) is None, "a rate alone tells nothing of the machine"


@pytest.mark.parametrize("damage", ["{", "hpltune-panel {}", "\x00", '"column": 1e99', '"time_s": -5'])
def test_damaged_lines_leave_what_is_whole(damage: str) -> None:
    lines = REAL.splitlines()
    lines[5] = lines[5][:20] + damage
    assert RATES in rows(drawn("\n".join(lines)))


def test_what_others_took_reaches_the_end_though_the_last_samples_were_lost() -> None:
    lines = REAL.splitlines(keepends=True)
    cut = "".join(f"{line[:80]}\n" if '"ranks_cpu_s", "times_s"' in line else line for line in lines)
    early = '"times_s": [3761.240415, 3763.516085], "values": [1.121046583, 2.240072706]}'
    cut += f'hpltune-samples {{"host": "node-1", "solve": 0, "name": "ranks_cpu_s", {early}\n'
    last, whole = rows(drawn(cut))[OTHERS].series[0], rows(drawn())[OTHERS].series[0]
    assert last.x[-1] == whole.x[-1]
    assert last.y[-1] == pytest.approx(1.5, abs=0.3)


def test_panels_that_go_back_in_time_or_columns_give_no_rate_below_zero() -> None:
    twice = "".join(line for line in REAL.splitlines(keepends=True) if "hpltune-panel" in line)
    rates = rows(drawn(twice + REAL))[RATES].series[0].y
    assert min(rates) > 0


def test_the_full_runs_that_lost_most_are_drawn_in_their_order() -> None:
    lost = {number: {**DISTURBED, "foreign_cpu_s": 2.0 * number, "waited_s": 2.0 * number} for number in range(1, 8)}
    records = [finished(number, 50.0, measurements=measured) for number, measured in lost.items()]
    small = finished(8, 50.0, measurements={**DISTURBED, "foreign_cpu_s": 23.0}, kind=Kind.SMALL)
    quiet = finished(9, 50.0, measurements=QUIET)
    found = [record.number for record in most_disturbed([*records, small, quiet], but=records[6])]
    assert found == [3, 4, 5, 6]
    assert len(found) == MOST_RUNS


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        opened.create_study(a_study(space_text=""))
        for text, measured in ((REAL, QUIET | {"solve_s": 6.0752}), (REAL, MEASURED), ("", {})):
            number = opened.begin(begun(key="a"))
            opened.finish(replace(run(text, measured), number=number, kind=Kind.SEARCH, key="a"))
        opened.end_study("study", "complete")
        yield opened


def test_a_page_has_the_line_of_time_of_the_best_run_and_of_disturbed_ones(store: Store) -> None:
    parts = list(inner_parts(page_of(store, store.study("study")).report().parts))
    lines = [part for part in parts if isinstance(part, Timeline)]
    assert [line.title for line in lines] == [
        "What the machine did during trial 1, 13.70 GFLOPS",
        "What the machine did during trial 2, 13.70 GFLOPS, disturbed",
    ]
    assert {line.origin for line in lines} == {"Machine not known; study study (2026-03-01); N=6,000."}
    said = [part.text for part in parts if isinstance(part, Sentence)]
    (measured,) = [
        text for text in said if text.startswith("Measured during the runs: what ranks got, what others took")
    ]
    assert "This machine does not tell" in measured


def test_a_picture_has_all_of_them_below_each_other(store: Store, home: Path) -> None:
    done = plot(store, "conditions")
    assert len(done.figures) == 2
    facts = done.write(home / "lines.svg", PictureSize()).facts
    assert isinstance(facts, Mapping)
    assert facts["further_figures"]


def test_the_line_of_time_of_any_run_can_be_drawn(hpltune: Run, store: Store) -> None:
    assert store.study("study")
    done = hpltune("plot", "conditions", "study", "--trial", "2", "--json")
    assert json.loads(done.stdout)["figure"]["title"] == "What the machine did during trial 2, 13.70 GFLOPS, disturbed"
    for asked, said in (
        (("conditions", "--trial", "3"), "trial 3 of study study was not watched: there is nothing to draw"),
        (("conditions", "--trial", "9"), "study study has no trial 9"),
        (("nb", "--trial", "1"), "--trial 1: it is for `hpltune plot conditions`"),
        (("--trial", "1"), "--trial 1: it is for `hpltune plot conditions`"),
    ):
        refused = hpltune("plot", *asked)
        assert refused.returncode != 0
        assert said in " ".join(refused.stderr.split()), refused.stderr


def test_a_study_that_was_not_watched_has_none_and_says_so(home: Path) -> None:
    with Store.open(home / "data/other.db") as store:
        store.create_study(a_study(space_text=""))
        number = store.begin(begun(key="a"))
        store.finish(replace(finished(number, measurements={}), kind=Kind.SEARCH, key="a"))
        parts = inner_parts(page_of(store, store.study("study")).report().parts)
        assert any(isinstance(part, Sentence) and "Nothing was measured" in part.text for part in parts)
        with pytest.raises(TunerError, match="nothing to draw conditions from"):
            plot(store, "conditions")
