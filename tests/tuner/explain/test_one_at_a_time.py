"""What one-at-a-time tuning would have found, at what cost, and what it would have missed."""

import re
from dataclasses import replace

import pytest
from engine_contract import MANY_VALUES, SMALL, space_of
from explain_builders import SWAPPING, explain, records, simulated, trap
from report_reading import printed

from hpl.sizing import flop_count
from results.report.model import Report
from search_spaces.parameters.dimension import Point
from tuner.explain.explanation import Explanation
from tuner.explain.one_at_a_time import STEPS
from tuner.reports.explanation import cost, one_by_one_parts, other_starts, verdict, why

LAUNCH_S = 3.25 - 1.91
"""Of the trials that tests make."""


def trapped() -> Explanation:
    space = space_of(SWAPPING)
    return explain(space, simulated(records(space, trap, 80)))


def adding_up(point: Point) -> float:
    return 100 + float(point["NB"]) / 10 + (5 if point["grid"] == "2x2" else 0)


@pytest.mark.heavy
def test_each_sweep_goes_on_from_what_the_one_before_chose() -> None:
    space = space_of(SMALL)
    way = explain(space, records(space, adding_up, 40)).one_at_a_time
    point, gflops = dict(way.start), way.start_gflops
    for sweep in way.sweeps:
        assert sweep.before == point.get(sweep.name)
        assert sweep.gflops >= gflops
        assert (sweep.gflops == gflops) == (sweep.before == sweep.after)
        point.update({sweep.name: sweep.after or "", **sweep.followed})
        gflops = sweep.gflops
    assert point == way.end
    assert way.end["NB"] == 192
    assert way.runs == 1 + sum(sweep.runs for sweep in way.sweeps)
    last_round = way.sweeps[-len(space.varying) :]
    assert {sweep.name for sweep in last_round} == set(space.varying)
    assert all(sweep.before == sweep.after for sweep in last_round)


def test_what_must_follow_a_parameter_is_told_with_it() -> None:
    space = space_of("parameters = { layout = ['4x1', '2x2', '1x4'], grid = 'auto', NB = [64, 128] }")
    way = explain(space, records(space, lambda point: 100 + 9 * (point["layout"] == "1x4"), 40)).one_at_a_time
    [swept] = [sweep for sweep in way.sweeps if sweep.name == "layout" and sweep.after != sweep.before]
    assert swept.after == "1x4"
    assert swept.followed == {"grid": "1x1"}


def test_what_two_parameters_only_gain_together_is_missed_and_laid_to_both() -> None:
    found = trapped()
    way = found.one_at_a_time
    assert (found.best["NB"], found.best["BCAST"]) == (64, "LnM")
    assert found.best_gflops == pytest.approx(130, rel=0.03)
    assert not way.found
    assert way.missing_percent > 20
    assert verdict(way).startswith("From there, tuning one parameter at a time would have missed the best, which is ")
    missed = {one.name: one for one in way.missed}
    assert (missed["NB"].left_at, missed["NB"].best) == (192, 64)
    assert {one.name for one in way.missed[:2]} == {"NB", "BCAST"}
    assert all((missed[name].gain_percent or 0) < 1 for name in ("NB", "BCAST"))
    assert all((missed[name].back_percent or 0) < -15 for name in ("NB", "BCAST"))
    assert {way.together[0].one, way.together[0].other} == {"NB", "BCAST"}
    assert way.together[0].gain_percent > 15
    assert re.search(r"Changing \w+ and \w+ together gains \+", why(way))


def test_what_it_finds_may_depend_on_the_start() -> None:
    space = space_of("parameters = { grid = '2x2', DEPTH = [0, 1], SWAP = ['bin', 'long'], NB = [64, 128] }")
    found = explain(
        space,
        records(
            space,
            lambda at: (
                110
                if (at["DEPTH"], at["SWAP"]) == (1, "long")
                else (104 if (at["DEPTH"], at["SWAP"]) == (0, "bin") else 100)
            ),
            8,
            noise=1e-5,
        ),
    )
    starts = found.one_at_a_time.starts
    assert starts is not None
    assert (starts.count, 0 < starts.found < 8) == (8, True)
    told = str(other_starts(found))
    assert told.startswith(
        f"It depends on the start: from {starts.found} of all 8 configurations it finds the best; from "
    )
    assert "DEPTH=0" in told.partition("; from ")[2]
    assert "SWAP=bin" in told
    assert "it ends at 104 GFLOPS (-5." in told


@pytest.mark.heavy
def test_what_adds_up_would_have_been_found_too() -> None:
    space = space_of(SMALL)
    way = explain(space, records(space, adding_up, 40)).one_at_a_time
    assert way.found
    would_have = "From there, tuning one parameter at a time would have "
    assert verdict(way).startswith((f"{would_have}found the best too", f"{would_have}ended at a tie with "))


def test_what_the_runs_cannot_tell_apart_is_not_missed() -> None:
    way = replace(trapped().one_at_a_time, missing_percent=3.0, missing_sd=4.0)
    assert way.found
    assert verdict(way) == (
        "From there, tuning one parameter at a time would have ended at a tie with the best, which is 3.0 ± 7.8 % "
        "faster than its result (95 % interval)."
    )
    beside = replace(way, missing_sd=2.0)
    assert beside.found
    assert not replace(way, missing_sd=1.0).found


def test_what_takes_more_than_two_at_once_is_laid_to_no_pair() -> None:
    way = trapped().one_at_a_time
    none = replace(way, together=tuple(replace(pair, gain_percent=-1.0) for pair in way.together))
    assert why(none).startswith("No two of these together are shown to gain anything")


@pytest.mark.heavy
def test_the_cost_is_that_of_full_runs_and_their_launches() -> None:
    space = space_of(SMALL)
    found = explain(space, records(space, lambda _point: 100.0, 20))
    way = found.one_at_a_time
    each_s = flop_count(4000) / 100e9 + LAUNCH_S
    assert way.machine_s == pytest.approx(way.runs * each_s, rel=0.02)
    assert found.spent_s == pytest.approx(20 * 3.25)
    assert cost(found).endswith("; the trials explained here took 1 min 05 s.")


def test_a_line_is_printed_for_each_sweep_that_changed_something() -> None:
    found = trapped()
    told = printed(Report("", tuple(one_by_one_parts(found))), 160)
    rows = [line for line in told.splitlines() if line.startswith("│")]
    changed = [sweep for sweep in found.one_at_a_time.sweeps if sweep.before != sweep.after]
    assert len(rows) == 1 + len(changed) + len(found.one_at_a_time.missed)
    assert f"{found.one_at_a_time.runs} full runs" in told


@pytest.mark.heavy
def test_of_a_sweep_that_takes_too_many_steps_what_it_came_to_counts() -> None:
    space = space_of(MANY_VALUES)
    way = explain(space, records(space, lambda point: 100 + float(point["NB"]) / 10, 40)).one_at_a_time
    [swept] = way.sweeps
    assert (swept.name, swept.after) == ("NB", way.end["NB"])
    assert swept.gflops > way.start_gflops
    assert way.runs == 1 + swept.runs == STEPS
