"""How soon the engine `hpl` finds the best of recorded clusters with and without a simulated opening.

    python benchmarks/opening.py benchmarks/landscapes/four-hosts.json --parts 12                # needs SimGrid

The copy knows the probes of the table alone, as `tune` makes it. Each game is on another random part of the table,
which has at least half of the values of each parameter. Costs are in full runs of average length of the part; what the
simulations took is told beside them.
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from games import WITHIN
from replay import AFTER_SIMULATION, Board, Played, play
from script import as_script, count, opened
from search_quality import AFTER, part_of

from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.opening import SimulatedOpening, scaled_copy
from tuner.stopping import StopRequest
from tuner.study.warm_start import Advice
from tuner.user_dirs import UserDirs

MOST_RUNS, MOST_TRIALS = 15, 60


def teach(board: Board, seed: int) -> float:
    """Simulate what an opening would, and put it in place of the table's predictions; seconds that it took."""
    scaled, places = scaled_copy(board.space, board.probes, seed, math.inf), UserDirs.of_user()
    if scaled is None:
        sys.exit(f"{board.landscape.name}: `tune` would make no opening here")
    site = SimulatedCluster.open(scaled.cluster, places, None, None)
    began_s = time.perf_counter()
    opening = SimulatedOpening(places, None, seed, jobs=1)
    known = opening.explore(board.space, site, scaled, math.inf, StopRequest())
    board.__dict__["prediction"] = Advice("", tuple((dict(one.params), one.gflops) for one in known), "", tried=1)
    return time.perf_counter() - began_s


def row(name: str, games: Sequence[Played], run_s: Sequence[float]) -> str:
    """The costs of games as a row of Markdown; a game that never came so near costs MOST_RUNS."""
    cells = [name, str(len(games))]
    for within in WITHIN:
        costs = [min(MOST_RUNS, one.cost_until(within) / own_s) for one, own_s in zip(games, run_s, strict=True)]
        cells.append(f"{statistics.fmean(costs):.1f} / {statistics.median(costs):.1f} / {max(costs):.1f}")
    regrets = [statistics.fmean(one.regret_after(runs * own_s) for one, own_s in zip(games, run_s, strict=True))
               for runs in AFTER]  # fmt: skip
    return f"| {' | '.join([*cells, ' / '.join(f'{100 * regret:.1f}' for regret in regrets) + ' %'])} |"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscape", type=Path)
    parser.add_argument("--parts", type=count, default=12)
    asked = parser.parse_args(arguments)
    landscape = replace(opened(asked.landscape), calibrated_s=0.0)
    alone, taught, run_s, spent_runs = list[Played](), list[Played](), list[float](), list[float]()
    for number in range(asked.parts):
        board = part_of(landscape, number)
        run_s.append(board.grid_s / len(board.places))
        spent_runs.append(teach(board, number) / run_s[-1])
        for games, name in ((alone, "hpl"), (taught, f"hpl{AFTER_SIMULATION}")):
            games.append(play(board, name, number, most_s=MOST_RUNS * run_s[-1], most_trials=MOST_TRIALS))
    print("| engine | games | " + " | ".join(f"to {one:.0%}: mean / median / most" for one in WITHIN), end=" | ")
    print("regret after " + " / ".join(map(str, AFTER)) + " |\n|" + " --- |" * (len(WITHIN) + 3))
    print(row("hpl", alone, run_s))
    print(row("hpl after a simulated opening", taught, run_s))
    print(f"\nThe simulations took as long as {statistics.fmean(spent_runs):.1f} full runs on average.")
    return 0


if __name__ == "__main__":
    as_script(main)
