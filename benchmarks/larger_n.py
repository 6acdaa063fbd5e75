"""How good what a search at a small N hands over is at a larger one, on virtual clusters.

    python benchmarks/larger_n.py
    python benchmarks/larger_n.py --trials 12 benchmarks/landscapes/pi5.json

Of each landscape's cluster the engine `hpl` searches at a quarter of N, N being what the memory holds, at most 16384:
whole runs only, all of them simulated. Then what could run in turn is simulated at N: the best of the search, the
textbook's, and what the engine expects to be the fastest there, or at the small N. All is told as a part of the fastest
at N that is known: of these, and of eight configurations drawn at random.
"""

import argparse
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from replay import Board
from script import SHIPPED, as_script, count, opened

from hpl.params import Scalar
from hpl.sizing import flop_count, process_grids
from runners.virtual.load import load_cluster
from search_spaces.load import load
from tuner.engines.base import EngineContext
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.outcomes import FULL, Outcome
from tuner.machine.problem_size import NB_UNKNOWN
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.session import cores_here
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.study.sizing.whole_memory import CHANGES_WITH_N, MOST_HOPEFUL
from tuner.user_dirs import UserDirs

LARGEST_N, STEP = 16_384, 256
TIMES = 4
"""How many times as large N is as that of the search."""
DRAWN = 8
START_S = 2.0
CLUSTERS = [SHIPPED / f"{name}.json" for name in ("kronos", "pi5", "ethernet16")] + [
    SHIPPED / f"unseen/made-up-{number}.json" for number in range(1, 13)
]
SEARCHED, TEXTBOOK, SMALL, LARGE = "best of the search", "textbook", "hopeful at the small N", "hopeful at N"
SETS = ((SEARCHED,), (TEXTBOOK,), (SEARCHED, TEXTBOOK), (SEARCHED, TEXTBOOK, SMALL), (SEARCHED, TEXTBOOK, LARGE))


def lost(path: Path, trials: int) -> dict[str, list[float]]:
    """By how many percent each configuration of each kind is slower at N than the fastest."""
    landscape, own = opened(path), path.with_suffix(".cluster.toml")
    cluster = load_cluster(str(own) if own.exists() else path.stem)
    site = SimulatedCluster.open(cluster, UserDirs.of_user(), None, None)
    N = min(LARGEST_N, site.largest_n(0.8)) // STEP * STEP
    text = re.sub(r"(?m)^N = .*$", "", landscape.space)
    space = load(landscape.name, landscape.machine, None, text).at(N // TIMES)

    def gflops(points: Sequence[Mapping[str, Scalar]], size: int) -> list[float]:
        wishes = [Wish.of_real({**space.complete(point), "N": size}) for point in points]
        found = simulate(site, wishes, jobs=cores_here(), limit_s=600.0, stop=StopRequest())
        return [one.gflops or 0.0 for one in found]

    engine = HplEngine(space, 1, EngineContext(probes=Board(landscape).probes))
    while len(engine.told) < trials and (question := engine.choose((FULL,))):
        [rate] = gflops([question.params], N // TIMES)
        time_s = flop_count(N // TIMES) / rate / 1e9 if rate else None
        engine.tell(question.params, Outcome(rate or None, time_s, cost_s=START_S + (time_s or 0.0)))
    P, Q = process_grids(cluster.cores)[0]
    book = {**space.first, "NB": NB_UNKNOWN, "grid": f"{P}x{Q}", "BCAST": "1rM", "DEPTH": 1, "SWAP": "mix"}
    chance = random.Random(path.name)
    kinds: dict[str, list[dict[str, Scalar]]] = {
        SEARCHED: [engine.choice() or space.point(0)],
        TEXTBOOK: [space.nearest({name: book[name] for name in space.parameters if name in book})],
        SMALL: engine.hopeful(1.0, CHANGES_WITH_N, MOST_HOPEFUL),
        LARGE: engine.hopeful(TIMES, CHANGES_WITH_N, MOST_HOPEFUL),
        "drawn": [space.point(chance.randrange(len(space))) for _ in range(DRAWN)],
    }
    rates = {kind: gflops(points, N) for kind, points in kinds.items()}
    best = max(rate for some in rates.values() for rate in some)
    return {kind: [100 * (rate / best - 1) for rate in some] for kind, some in rates.items()}


def main(arguments: Sequence[str]) -> int:
    """Play the searches and print what each set of candidates loses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", nargs="*", type=Path, default=CLUSTERS)
    parser.add_argument("--trials", type=count, default=20)
    asked = parser.parse_args(arguments)
    games = []
    for path in asked.landscapes:
        games.append(lost(path, asked.trials))
        print(path.stem, json.dumps(games[-1]), flush=True)
    heads = [f"candidates at N, {len(games)} clusters", "mean", "median", "worst", "within 1 %"]
    print("\n| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for kinds in SETS:
        best = [max(rate for kind in kinds for rate in game[kind]) for game in games]
        cells = [" + ".join(kinds), *(f"{value:.1f} %" for value in (fmean(best), median(best), min(best)))]
        print("| " + " | ".join([*cells, str(sum(one >= -1.0 for one in best))]) + " |")
    return 0


if __name__ == "__main__":
    as_script(main)
