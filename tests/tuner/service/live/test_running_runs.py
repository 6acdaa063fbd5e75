"""How far a running trial is, by what HPL's witness has written into its folder."""

import json
from pathlib import Path

from hpl.witness import PANEL
from runners.paths import RunPaths
from tuner.service.live.running_runs import RunningRuns
from tuner.study.names import trial_folder


def test_no_rate_is_told_of_less_than_a_tenth_of_a_second(tmp_path: Path) -> None:
    """The first panels of a run of N=2,000 pass in a few milliseconds, of which a clock made 217 GFLOPS."""
    folder = trial_folder(tmp_path, "study", 1)
    folder.mkdir(parents=True)
    panels = [(0, 0.0), (64, 0.002), (128, 0.2), (400, 0.25), (800, 0.6)]
    lines = [f"{PANEL}{json.dumps({'N': 2000, 'column': column, 'time_s': time_s})}\n" for column, time_s in panels]
    RunPaths(folder).stderr.write_text("".join(lines))
    runs = RunningRuns(tmp_path, "study")
    (now,) = runs.look([1])
    assert [round(part, 2) for part, _ in now.points] == [0.18, 0.78]
    assert max(gflops for _, gflops in now.points) < 10.0
