"""How often a run that would just win is given up, and what giving up saves, on recorded landscapes.

    python benchmarks/giving_up.py                   # all that are shipped
    python benchmarks/giving_up.py LANDSCAPE.json

After some runs of the fastest fifth went to their end, one more of that fifth is held against a best that it just
beats: ending it is wrong. What is saved is the part of HPL's seconds that a run of the faster half does not need where
it is held against what one more run of the last of the best hundredth reaches, where runs that were repeated differ as
on good clusters. Open MPI's second for ending a run is charged.
"""

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from replay import NOISE
from script import SHIPPED, as_script, opened

from hpl.witness import Panel
from results.stats.noise import noise_of
from tuner.replay.landscape import LandscapeError, RecordedLandscape, Run
from tuner.trial.early_stopping import CERTAINTY, ENDING_S, FEWEST, EarlyStopping

LEARNT_FROM = (FEWEST, 8, 16)
TIMES = 1_000
JUST = 0.9999
"""Of a run's rate, the best that it is to beat."""
REPEATED = 4
"""Configurations that ran twice, with NOISE, when a run is held against the best."""


def runs_of(landscape: RecordedLandscape) -> list[Run]:
    """All full runs, fastest first."""
    found = [run for place in landscape.places for run in place.full if run.gflops and run.panels]
    return sorted(found, key=lambda run: -(run.gflops or 0.0))


def panels(N: int, run: Run) -> list[Panel]:
    """Those that the landscape keeps, the first one included."""
    return [Panel(N, 0, 0.0), *(Panel(N, column, time_s) for column, time_s in run.panels)]


def learnt(N: int, runs: Iterable[Run]) -> EarlyStopping:
    """After these went to their end."""
    prospects = EarlyStopping()
    for run in runs:
        prospects.learn(panels(N, run), run.gflops or 0.0)
    return prospects


def saved(prospects: EarlyStopping, N: int, run: Run, best_gflops: float) -> float | None:
    """The part of the run's seconds that is not needed; None where it goes to its end."""
    for before, panel in pairwise(panels(N, run)):
        if prospects.hopeless(panel, before.column, best_gflops):
            return 1 - (panel.time_s + ENDING_S) / run.time_s
    return None


def row(landscape: RecordedLandscape) -> str:
    """A landscape as a line of Markdown.

    Raises:
        LandscapeError: too few full runs have panels.
    """
    N, runs = landscape.N, runs_of(landscape)
    if len(runs) < max(LEARNT_FROM):
        raise LandscapeError(f"{landscape.name}: only {len(runs)} full runs have panels, {max(LEARNT_FROM)} are needed")
    top, faster, best_gflops = runs[: max(20, len(runs) // 5)], runs[: len(runs) // 2], runs[len(runs) // 100].gflops
    noise = noise_of([np.array([-NOISE, NOISE]) / 2**0.5] * REPEATED)
    bar_gflops = noise.one_more(best_gflops or 0.0, 1, CERTAINTY)
    cells = [landscape.name]
    for count in LEARNT_FROM:
        chance = random.Random(0)
        wrong, parts = 0, list[float]()
        for _ in range(TIMES):
            prospects = learnt(N, chance.sample(top, count))
            winner = chance.choice(top)
            wrong += saved(prospects, N, winner, JUST * (winner.gflops or 0.0)) is not None
            parts.append(saved(prospects, N, chance.choice(faster), bar_gflops) or 0.0)
        cells.append(f"{wrong / TIMES:.1%} / {max(0.0, sum(parts) / TIMES):.0%}")
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str]) -> int:
    print("| landscape | " + " | ".join(f"after {count} runs: wrong / saved" for count in LEARNT_FROM) + " |")
    print("|" + " --- |" * (1 + len(LEARNT_FROM)))
    for path in [Path(name) for name in arguments] or sorted(SHIPPED.glob("*.json")):
        print(row(opened(path)), flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
