"""How long each phase of HPL took, of a page's best run and in `show`."""

from pathlib import Path

import pytest
from record_builders import a_study, finished

from hpl.output import parse
from hpl.params import HplParams
from results.record import TrialRecord
from tuner.reports.figures.phases import phases, phases_text
from tuner.reports.figures.rank_timeline import coarse_lanes
from tuner.reports.lists import trial_json, trial_table

TEXT = (Path(__file__).parents[2] / "hpl/data/phases.txt").read_text(encoding="utf-8")


def timed() -> TrialRecord:
    """A trial with a real output of HPL."""
    [found] = parse(TEXT).results
    hpl = HplParams(found.N, found.NB, found.P, found.Q)
    return finished(1, found.gflops, hpl=hpl, time_s=found.time_s, output=TEXT)


def test_each_phase_is_a_bar_with_its_part_of_the_run() -> None:
    drawn = phases(timed())
    assert drawn is not None
    (bars,) = drawn.series
    update = next(place for place, name in enumerate(bars.x) if str(name).startswith("update"))
    assert bars.y[update] == max(bars.y)
    assert bars.labels[update].endswith("% of the run")


def test_phases_that_hpl_did_not_time_are_not_drawn_and_another_runs_neither() -> None:
    assert phases(finished(1)) is None
    assert phases(finished(1, output=TEXT)) is None


def test_the_timers_of_a_real_run_are_lanes_that_say_how_coarse_they_are() -> None:
    drawn = coarse_lanes([timed(), timed()])
    assert drawn is not None
    assert "so it is coarser" in drawn.caption
    for group in drawn.groups:
        [lane] = group.lanes
        [span] = lane.spans
        assert span.end == timed().time_s
        assert sum(span.parts) == pytest.approx(1.0)
        assert f"update {span.parts[drawn.kinds.index('update')]:.0%}" in group.title
    assert coarse_lanes([timed(), finished(2)]) is None


def test_show_tells_the_phases_with_those_within_another_behind_it() -> None:
    record = timed()
    rows = {row[0]: row[1] for row in trial_table(a_study(), record, (), ()).rows}
    seconds = trial_json(record, ())["phases_s"]
    assert isinstance(seconds, dict)
    assert f"update {seconds['update']:.2f} s (laswp" in rows["phases"]
    assert "phases" not in {row[0] for row in trial_table(a_study(), finished(1), (), ()).rows}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        ({"rfact": 1.0, "pfact": 0.5, "update": 3.0}, "rfact 1.00 s (pfact 0.50 s), update 3.00 s"),
        ({"mxswp": 0.5, "up tr sv": 0.1}, "mxswp 0.50 s, up tr sv 0.10 s"),
    ],
)
def test_a_phase_that_hpl_left_out_leaves_no_hole(seconds: dict[str, float], text: str) -> None:
    assert phases_text(seconds) == text
