"""Machine time that each engine needs to find the best configuration, on recorded landscapes.

    python benchmarks/search_quality.py                          # all landscapes that are shipped, all engines
    python benchmarks/search_quality.py LANDSCAPE.json --engines hpl,random --seeds 10
    python benchmarks/search_quality.py --markdown docs/search-quality.md
    python benchmarks/search_quality.py --engines smac --kept games.jsonl      # an hour: goes on where it was stopped

An engine is charged the recorded seconds of every run it asks for, whole launches included. Its choice counts only
where that configuration was measured in full. Engines that only know full runs ask only for those.
"""

import argparse
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

from games import WITHIN, Kept, checked, quantile
from replay import AFTER_SIMULATION, ONE_A_LAUNCH, Board, Played, play
from script import SHIPPED, as_script, count, opened

from tuner.engines.registry import ENGINES
from tuner.replay.landscape import RecordedLandscape

BUDGETS = (0.01, 0.02, 0.05, 0.1)
MOST = 0.6
"""Games end when this part of the exhaustive grid's time is spent."""
MOST_TRIALS = 120

INTRO = """# How fast each engine finds the best

Made by `benchmarks/search_quality.py` from the recorded landscapes in `benchmarks/landscapes/`: complete tables
of real or simulated HPL runs. In a game an engine searches such a table; each game has another seed.

- An engine is charged the recorded seconds of every run it asks for, launches and failures included, as percent of the
  time that measuring every configuration once takes (the exhaustive grid).
- Its choice counts only where it was measured in full; "never" is not within 60 % of the grid's time or 120 trials.
- `hpl` is offered the rungs that `tune` would offer it there, the others know only full runs.
- Runs that share a launch pay for starting once (`--one-a-launch`: none share).
- `grid` takes the points in one fixed even order, so how soon it comes to the best is luck.
- Simulated landscapes flatter `hpl`: the simulator and its model describe HPL by the same steps of its algorithm.
  Compare engines there, and do not expect the same on real machines.
"""


@cache
def _board(path: Path) -> Board:
    return Board(RecordedLandscape.read(path))


def _game(path: Path, engine: str, seed: int) -> Played:
    board = _board(path)
    whole = engine == "grid"
    return play(board, engine, seed, most_s=board.grid_s * (2.0 if whole else MOST),
                most_trials=len(board.places) if whole else MOST_TRIALS)  # fmt: skip


def table(board: Board, games: Sequence[Played]) -> str:
    """The engines on one landscape as Markdown; costs are percent of the exhaustive grid's machine time."""
    whole_s = board.grid_s
    heads = ["engine", "games", *(f"to {within:.0%}: median / p90" for within in WITHIN)]
    heads += [f"regret after {budget:.0%}" for budget in BUDGETS] + [
        "runs small / prefix / full",
        "ask (median, worst)",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for engine in dict.fromkeys(game.engine for game in games):
        mine = [game for game in games if game.engine == engine]
        cells = [engine, str(len(mine))]
        for within in WITHIN:
            costs = [game.cost_until(within) / whole_s for game in mine]
            cells.append(f"{_share(quantile(costs, 0.5))} / {_share(quantile(costs, 0.9))}")
        regrets = [statistics.fmean(game.regret_after(budget * whole_s) for game in mine) for budget in BUDGETS]
        cells += [f"{100 * regret:.1f} %" for regret in regrets]
        cells.append(" / ".join(f"{statistics.fmean(game.runs.get(kind, 0) for game in mine):.0f}"
                                for kind in ("small", "prefix", "full")))  # fmt: skip
        asks = [ask for game in mine for ask in game.asks_s]
        cells.append(f"{1000 * statistics.median(asks):.0f} ms, {1000 * max(asks):.0f} ms")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _share(part: float) -> str:
    return "never" if part == float("inf") else f"{100 * part:.1f} %"


def title(board: Board) -> str:
    """What a landscape is, in a heading and a sentence."""
    landscape, rates = board.landscape, sorted(board.rates.values())
    spread = rates[-1] / rates[len(rates) // 2]
    near = sum(rate >= 0.99 * rates[-1] for rate in rates)
    failing = len(board.places) - len(rates)
    fail = f", {failing} of which fail" if failing else ""
    return (
        f"### {landscape.name}\n\n{landscape.description}. {len(board.places)} configurations{fail}, N={landscape.N}, "
        f"small runs at N={landscape.small_n}; the best has {spread:.2f} times the median rate, {near} are within 1 % "
        f"of it; measuring all once takes {float(f'{board.grid_s / 3600:.2g}'):g} hours."
    )


def _players(engines: Sequence[str], board: Board, *, one_a_launch: bool) -> list[str]:
    """The engines, and after ours its variants."""
    alone = [f"hpl{ONE_A_LAUNCH}"] if one_a_launch else []
    told = [f"hpl{AFTER_SIMULATION}"] if board.landscape.calibrated_s > 0 else []
    return [player for engine in engines for player in (engine, *([*alone, *told] if engine == "hpl" else []))]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", nargs="*", type=Path, help="files; without any, all that are shipped")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--seeds", type=count, default=30)
    parser.add_argument("--jobs", type=count, default=2)
    parser.add_argument("--markdown", type=Path, default=None, help="write the tables to a page as well")
    parser.add_argument("--kept", type=Path, default=None, help="keep each game in this file, and play none twice")
    parser.add_argument("--no-play", action="store_true", help="only show the games that --kept holds")
    parser.add_argument("--one-a-launch", action="store_true", help="play hpl with every run alone as well")
    asked = parser.parse_args(arguments)
    if asked.no_play and not asked.kept:
        parser.error("--no-play shows the games of a file: name it with --kept")
    engines = checked(asked.engines)
    pages = []
    kept = Kept(asked.kept)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for path in asked.landscapes or sorted(SHIPPED.glob("*.json")):
            board = Board(opened(path))
            players = _players(engines, board, one_a_launch=asked.one_a_launch)
            wanted = [(player, seed) for player in players for seed in range(asked.seeds)]
            players_of = None if asked.no_play else pool
            games = kept.with_missing(board.landscape.name, wanted, partial(_game, path), players_of)
            page = f"{title(board)}\n\n{table(board, games)}\n"
            print(page, flush=True)
            pages.append(page)
    if asked.markdown:
        asked.markdown.write_text("\n".join([INTRO, *pages]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    as_script(main)
