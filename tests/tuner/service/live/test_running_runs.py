"""How far a running trial is, by what HPL's witness has written into its folder."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hpl.witness import PANEL
from runners.paths import RunPaths
from tuner.service.live.running_runs import RunningRuns, RunNow
from tuner.study.names import trial_folder


def followed(folder: Path, N: int, panels: Sequence[tuple[int, float]]) -> RunNow:
    """What is known of a running trial whose HPL began these panels, each a column and a time in seconds."""
    run = trial_folder(folder, "study", 1)
    run.mkdir(parents=True)
    lines = [f"{PANEL}{json.dumps({'N': N, 'column': column, 'time_s': time_s})}\n" for column, time_s in panels]
    RunPaths(run).stderr.write_text("".join(lines))
    (now,) = RunningRuns(folder, "study").look([1])
    return now


def test_a_second_panel_that_look_ahead_begins_early_makes_no_rate(tmp_path: Path) -> None:
    """The second panel of a run of Kronos began after 0.3 s, of which a page made 306 GFLOPS of 28.1 that it can do."""
    now = followed(tmp_path, 12300, [(0, 0.0), (200, 0.2747), (400, 3.6951), (600, 7.4336), (800, 11.2029)])
    assert [round(gflops, 1) for _, gflops in now.points] == [16.8, 14.9, 14.3]
    assert now.gflops == pytest.approx(15.3, abs=0.1)
    assert now.left_s == pytest.approx(66.3, abs=0.1)


def test_no_rate_is_told_of_less_than_a_tenth_of_a_second(tmp_path: Path) -> None:
    """The first panels of a run of N=2,000 pass in a few milliseconds, of which a clock made 217 GFLOPS."""
    now = followed(tmp_path, 2000, [(0, 0.0), (64, 0.002), (128, 0.2), (400, 0.25), (800, 0.6)])
    assert [round(part, 2) for part, _ in now.points] == [0.18, 0.78]
    assert max(gflops for _, gflops in now.points) < 10.0
