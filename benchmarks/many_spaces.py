"""How soon each engine is near the best in many spaces: random parts of the recorded landscapes, a game in each.

    python benchmarks/many_spaces.py                          # 20 parts of every landscape that is shipped
    python benchmarks/many_spaces.py LANDSCAPE.json --engines hpl,bayes --parts 50
    python benchmarks/many_spaces.py --kept games.jsonl       # goes on where it was stopped

A part has at least half of the values of each parameter, so that another configuration is the best and one lucky guess
decides less than in `search_quality.py`, whose games these are otherwise. Costs are in full runs of average length.
"""

import argparse
import math
import random
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from games import WITHIN, Kept, checked, quantile
from replay import Board, Played, Step, play
from script import SHIPPED, as_script, count, opened

from tuner.replay.landscape import LandscapeError, RecordedLandscape

ENGINES = "hpl,bayes,optuna-tpe,one-at-a-time,random"
AFTER = (3, 5, 10)
MOST_RUNS = 60
"""Full runs after whose time a game ends."""
MOST_TRIALS = 120


@cache
def _landscape(path: Path) -> RecordedLandscape:
    return RecordedLandscape.read(path)


def part_of(landscape: RecordedLandscape, number: int) -> Board:
    """One of the random parts of a landscape in which a run succeeds; the same number is the same part each time."""
    chance = random.Random(f"{landscape.name} {number}")
    while True:
        with suppress(LandscapeError):
            return Board(landscape, _some_values(landscape, chance))


def _some_values(landscape: RecordedLandscape, chance: random.Random) -> dict[str, list[str]]:
    """At least half of the values of each parameter."""
    only = {}
    for name, parameter in landscape.search_space().varying.items():
        values = parameter.values
        if parameter.by is None:
            size = chance.randint(max(2, math.ceil(len(values) / 2)), len(values))
            kept = sorted(chance.sample(range(len(values)), size))
            only[name] = [str(values[place]) for place in kept]
    return only


def game(path: Path, engine: str, number: int) -> Played:
    """One game in one part, its costs in full runs."""
    board = part_of(_landscape(path), number)
    run_s = board.grid_s / len(board.places)
    played = play(board, engine, number, most_s=MOST_RUNS * run_s, most_trials=MOST_TRIALS)
    steps = [Step(step.cost_s / run_s, step.regret) for step in played.steps]
    return replace(played, landscape=parts_of(played.landscape), steps=steps)


def parts_of(landscape: str) -> str:
    """The name that games in parts of a landscape bear, so that they are not taken for games in the whole."""
    return f"parts of {landscape}"


def row(engine: str, games: Sequence[Played]) -> str:
    """An engine in a row of the table."""
    cells = [engine, str(len(games))]
    for within in WITHIN:
        costs = [one.cost_until(within) for one in games]
        cells.append(" / ".join(_runs(quantile(costs, part)) for part in (0.5, 0.9)))
    cells += [f"{100 * statistics.fmean(one.regret_after(budget) for one in games):.1f} %" for budget in AFTER]
    return "| " + " | ".join(cells) + " |"


def _runs(cost: float) -> str:
    return "never" if math.isinf(cost) else f"{cost:.1f}"


def table(engines: Sequence[str], games: Sequence[Played]) -> str:
    """Engines side by side, by the same games."""
    heads = ["engine", "games", *(f"to {within:.0%}: median / p90" for within in WITHIN)]
    heads += [f"regret after {budget}" for budget in AFTER]
    head = "| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads)
    rows = [row(engine, [one for one in games if one.engine == engine]) for engine in engines]
    return "\n".join([head, *rows])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", nargs="*", type=Path, help="files; without any, all that are shipped")
    parser.add_argument("--engines", default=ENGINES)
    parser.add_argument("--parts", type=count, default=20, help="of each landscape")
    parser.add_argument("--jobs", type=count, default=2)
    parser.add_argument("--kept", type=Path, default=None, help="keep each game in this file, and play none twice")
    asked = parser.parse_args(arguments)
    engines = checked(asked.engines)
    kept, games = Kept(asked.kept), list[Played]()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for path in asked.landscapes or sorted(SHIPPED.glob("*.json")):
            wanted = [(engine, number) for engine in engines for number in range(asked.parts)]
            name = parts_of(opened(path).name)
            here = kept.with_missing(name, wanted, partial(game, path), pool)
            games += here
            print(f"#### {name}\n\n{table(engines, here)}\n", flush=True)
    print(f"#### all\n\n{table(engines, games)}")
    return 0


if __name__ == "__main__":
    as_script(main)
