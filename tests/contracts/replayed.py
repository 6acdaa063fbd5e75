"""Programs that behave as xhpl does and print what a test wants: for studies whose claim is not about HPL itself."""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from as_user import program
from running_service import RunningService, running_service

from hpl.build import replay_child

GFLOPS = 50.0
"""What the programs reach where a test says nothing else: a run of N = 1000 takes 13 ms."""

COMPUTES = 0.02
"""CPU time that they use for each billion operations, so that they may have computed them: of small runs their start
takes longer."""
OTHER_RANKS = f"""
import sys, time
sys.path.insert(0, {str(Path(replay_child.__file__).parent)!r})
from replay_child import configurations, operations, read
end_s = float(sys.argv[1]) / 2 * sum(operations(run["N"]) for run in configurations(read("HPL.dat"))) / 1e9
while time.process_time() < end_s: pass
"""
"""What the other ranks run, so that each of them computed its part, too."""


def replaying(
    folder: Path,
    *runs: Mapping[str, Any],
    name: str = "xhpl",
    gflops: float = GFLOPS,
    pace: float = 1.0,
    spread: float = 0.0,
    reports: Sequence[Mapping[str, Any]] = (),
    stop: bool = True,
    computes: float = COMPUTES,
) -> Path:
    """An executable that prints HPL's output of these runs, and of a run of `gflops` where none of them fits.

    Args:
        runs: as `hpl/build/replay_child.py` describes them.
        pace: real seconds that pass for each second of HPL, where a run says nothing else.
        spread: part by which rates differ at most from one run to the next, likewise.
        reports: what each rank says of its BLAS.
        stop: whether a run ends at a column where it is told to.
        computes: CPU time for each billion operations.
    """
    usual = {"gflops": gflops, "pace": pace, "spread": spread, "computes": computes}
    told = {"runs": [*({**usual, **run} for run in runs), usual], "reports": list(reports), "stop": stop}
    table = folder / f"{name}.json"
    table.write_text(json.dumps(told))
    line = shlex.join([sys.executable, "-IS", replay_child.__file__, str(table)])
    start = ("" if reports else "exec ") + shlex.join([sys.executable, "-IS", "-c", OTHER_RANKS, str(computes)])
    other = f'[ "${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}" = 0 ] || {start}\n'
    return program(folder / name, f"#!/bin/sh\n{other}exec {line}\n")


OFFERED = "printed"
"""What a service calls the program that it offers."""


@contextmanager
def replaying_service(*options: str, before: Sequence[str] = (), limits: str = "") -> Iterator[RunningService]:
    """A real service that offers a program that only prints HPL's output: `"program": OFFERED` in a document.

    Its runs of N = 400 take a quarter of a second and differ by 3 %, so that a search does not end at once.

    Args:
        limits: lines of `[limits]` in its file.
    """
    home = Path(os.environ["HPLTUNE_DATA"]).parent
    config = home / "service.toml"
    file = json.dumps(str(replaying(home, pace=300.0, spread=0.03)))
    config.write_text(f"[offers.programs]\n{OFFERED} = {file}\n[limits]\n{limits}\n")
    with running_service("--config", str(config), *options, before=before) as service:
        yield service
