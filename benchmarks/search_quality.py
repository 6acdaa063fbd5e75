"""Machine time that each engine needs to find the best configuration, on recorded landscapes.

    python benchmarks/search_quality.py                          # all landscapes that are shipped, all engines
    python benchmarks/search_quality.py --real FOLDER            # tables of real runs that are not shipped
    python benchmarks/search_quality.py LANDSCAPE.json --engines hpl,random --seeds 10 --parts 20
    python benchmarks/search_quality.py --real FOLDER --disturbed 0.1          # one run in ten is slower by 10 to 40 %
    python benchmarks/search_quality.py --kept games.jsonl                     # goes on where it was stopped

An engine is charged the recorded seconds of every run it asks for, whole launches included. Its choice counts only
where that configuration was measured in full. Costs are in full runs of average length of the table.

Real tables, tables of our own machines and simulated ones are groups, which are never pooled. Each table is played in
three ways: the whole of it; random parts of it, which have at least half of the values of each parameter, so that
another configuration is the best; and the whole of it with each line of ADVICE left out in turn, so that no lucky line
decides.

The score is the field's own: 0 is random search, 1 the optimum at once.
"""

import argparse
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import optuna_tpe
from games import WITHIN, Kept, checked, quantile
from replay import AFTER_SIMULATION, ONE_A_LAUNCH, Board, Played, Step, play
from script import SHIPPED, as_script, count, opened

from tuner.engines.points import ADVICE
from tuner.engines.registry import ENGINES
from tuner.replay.landscape import LandscapeError, RecordedLandscape

AFTER = (3, 5, 10)
MOST_RUNS = 40
"""Full runs after whose time a game ends."""
MOST_TRIALS = 120
NEAR_THE_BEST = 0.05
"""Part of the way from the median to the best that random search has left when a score's time ends."""
GROUPS = {"real": "Real tables", "own": "Tables of our own machines", "simulated": "Simulated tables"}
WHOLE, PART, WITHOUT = "", " in part", " without advice "
"""What the names of landscapes end in, by the way they are played."""


@cache
def _landscape(path: Path) -> RecordedLandscape:
    return RecordedLandscape.read(path)


@cache
def _whole(path: Path, disturbed: float) -> Board:
    return Board(_landscape(path), disturbed=disturbed)


def part_of(landscape: RecordedLandscape, number: int, disturbed: float = 0.0) -> Board:
    """One of the random parts of a landscape in which a run succeeds; the same number is the same part each time."""
    chance = random.Random(f"{landscape.name} {number}")
    while True:
        with suppress(LandscapeError):
            return Board(landscape, _some_values(landscape, chance), disturbed)


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


def game(path: Path, way: str, disturbed: float, engine: str, number: int) -> Played:
    """One game, its costs in full runs of average length.

    Args:
        way: WHOLE, PART, or WITHOUT with the number of a line of ADVICE.
        number: of the game, which is that of the part as well.
    """
    board = part_of(_landscape(path), number, disturbed) if way == PART else _whole(path, disturbed)
    run_s = board.grid_s / len(board.places)
    without = int(way.removeprefix(WITHOUT)) - 1 if way.startswith(WITHOUT) else None
    played = play(board, engine, number, most_s=MOST_RUNS * run_s, most_trials=MOST_TRIALS, without=without)
    steps = [Step(step.cost_s / run_s, step.regret) for step in played.steps]
    told = replace(played, landscape=named(board.landscape, way, disturbed), steps=steps)
    return replace(told, score=score(told, [1 - rate / board.best for rate in rates_of(board)]))


def rates_of(board: Board) -> list[float]:
    """The rate of each configuration; 0 where it fails."""
    return [board.rates.get(key, 0.0) for key in board.places]


def score(played: Played, regrets: Sequence[float]) -> float | None:
    """How much of what random search leaves to gain an engine gains: 0 as random search, 1 the optimum at once.

    The mean of (R - r) / R after each of the first full runs, where r is the engine's regret and R that of random
    search without repetition on average; the time ends where R is NEAR_THE_BEST. Before its first full run has ended an
    engine counts as random search does. Random search of noisy runs comes below 0, because R knows no noise. From
    Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning" (FGCS, 2024).

    Args:
        played: with costs in full runs.
        regrets: of all configurations.

    Returns:
        at most 1, below 0 where random search is better; None where it is near the best with its first run.
    """
    ordered = sorted(regrets)
    enough = NEAR_THE_BEST * statistics.median(ordered)
    gains = []
    for runs in range(1, len(ordered)):
        random_regret = random_regret_after(runs, ordered)
        if random_regret <= enough:
            break
        ended = runs + 0.5  # runs differ in length
        begun = bool(played.steps) and played.steps[0].cost_s <= ended
        gains.append((random_regret - played.regret_after(ended)) / random_regret if begun else 0.0)
    return statistics.fmean(gains) if gains else None


def random_regret_after(runs: int, regrets: Sequence[float]) -> float:
    """The least regret of so many different configurations, on average over all choices of them.

    Args:
        regrets: of all configurations, in ascending order.
    """
    expected, chance = 0.0, runs / len(regrets)  # that the first of the order is the best of those chosen
    for place, regret in enumerate(regrets, start=1):
        expected += chance * regret
        chance *= max(0, len(regrets) - place - runs + 1) / max(1, len(regrets) - place)
    return expected


def named(landscape: RecordedLandscape, way: str, disturbed: float) -> str:
    """What the games of a landscape are kept under."""
    return f"{landscape.name}{way}" + (f" with {disturbed:.0%} disturbed" if disturbed else "")


def table(games: Sequence[Played]) -> str:
    """Engines side by side as Markdown, by the same games."""
    heads = ["engine", "games", "first run below the best"]
    heads += [f"to {within:.0%}: mean / median / p90" for within in WITHIN]
    heads += [
        "regret after " + " / ".join(map(str, AFTER)),
        "score",
        "runs small / prefix / full",
        "ask (median, worst)",
    ]
    head = "| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads)
    engines = dict.fromkeys(one.engine for one in games)
    return "\n".join([head, *(_row(engine, [one for one in games if one.engine == engine]) for engine in engines)])


def _row(engine: str, games: Sequence[Played]) -> str:
    """An engine in a row; a game that never came so near counts in the mean with all that it cost."""
    first = [one.steps[0].regret if one.steps else 1.0 for one in games]
    cells = [engine, str(len(games)), f"{100 * statistics.fmean(first):.1f} %"]
    for within in WITHIN:
        costs = [one.cost_until(within) for one in games]
        least = [min(cost, one.steps[-1].cost_s if one.steps else MOST_RUNS)
                 for cost, one in zip(costs, games, strict=True)]  # fmt: skip
        cells.append(" / ".join(map(_runs, (statistics.fmean(least), quantile(costs, 0.5), quantile(costs, 0.9)))))
    regrets = [statistics.fmean(one.regret_after(budget) for one in games) for budget in AFTER]
    cells.append(" / ".join(f"{100 * regret:.1f}" for regret in regrets) + " %")
    scores = [one.score for one in games if one.score is not None]
    cells.append(f"{statistics.fmean(scores):.2f}" if scores else "none")
    kinds = ("small", "prefix", "full")
    cells.append(" / ".join(f"{statistics.fmean(one.runs.get(kind, 0) for one in games):.0f}" for kind in kinds))
    asks = [ask for one in games for ask in one.asks_s]
    cells.append(f"{1000 * statistics.median(asks):.0f} ms, {1000 * max(asks):.0f} ms")
    return "| " + " | ".join(cells) + " |"


def _runs(cost: float) -> str:
    return "never" if math.isinf(cost) else f"{cost:.1f}"


def title(board: Board) -> str:
    """What a landscape is, which rungs and probes it has, in a heading and some sentences."""
    landscape, rates = board.landscape, sorted(board.rates.values())
    spread = rates[-1] / rates[len(rates) // 2]
    near = sum(rate >= 0.99 * rates[-1] for rate in rates)
    failing = len(board.places) - len(rates)
    fail = f", {failing} of which fail" if failing else ""
    rungs = ", ".join(str(rung.fidelity) for rung in board.ladder)
    probes = {"dgemm": landscape.probes, "ping-pong": landscape.messages, "dgemm at half NB": landscape.half_nb}
    known = ", ".join(name for name, probe in probes.items() if probe) or "none"
    return (
        f"#### {landscape.name}\n\n{landscape.description}. {len(board.places)} configurations{fail}, N={landscape.N}; "
        f"the best has {spread:.2f} times the median rate, {near} are within 1 % of it; measuring all once takes "
        f"{float(f'{board.grid_s / 3600:.2g}'):g} hours. Runs: {rungs}. Probes: {known}."
    )


def _players(engines: Sequence[str], landscape: RecordedLandscape, *, one_a_launch: bool) -> list[str]:
    """The engines, and after ours its variants."""
    alone = [f"hpl{ONE_A_LAUNCH}"] if one_a_launch else []
    told = [f"hpl{AFTER_SIMULATION}"] if landscape.calibrated_s > 0 else []
    return [player for engine in engines for player in (engine, *([*alone, *told] if engine == "hpl" else []))]


def grouped(landscapes: Sequence[Path], real: Path | None) -> Mapping[str, Sequence[Path]]:
    """The tables of each group: those of a folder are real; the others are of our own machines, or simulated.

    Raises:
        LandscapeError: the folder has none.
    """
    of_others = sorted(real.glob("*.json")) if real else []
    if real and not of_others:
        raise LandscapeError(f"--real {real}: there is no landscape (*.json) in this folder")
    found: dict[str, list[Path]] = {group: [] for group in GROUPS} | {"real": of_others}
    for path in landscapes or ([] if real else sorted(SHIPPED.glob("*.json"))):
        found["simulated" if _landscape(path).simulated else "own"].append(path)
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", nargs="*", type=Path, help="files; without any, all that are shipped")
    parser.add_argument("--real", type=Path, default=None, metavar="FOLDER", help="tables of real runs")
    parser.add_argument("--engines", default=",".join((*ENGINES, optuna_tpe.NAME)))
    parser.add_argument("--seeds", type=count, default=10, help="games on the whole of each, and without each advice")
    parser.add_argument("--parts", type=count, default=10, help="random parts of each")
    parser.add_argument("--disturbed", type=float, default=0.0, help="part of the runs made slower by 10 to 40 %%")
    parser.add_argument("--jobs", type=count, default=2)
    parser.add_argument("--kept", type=Path, default=None, help="keep each game in this file, and play none twice")
    parser.add_argument("--no-play", action="store_true", help="only show the games that --kept holds")
    parser.add_argument("--one-a-launch", action="store_true", help="play hpl with every run alone as well")
    asked = parser.parse_args(arguments)
    if asked.no_play and not asked.kept:
        parser.error("--no-play shows the games of a file: name it with --kept")
    if not 0 <= asked.disturbed < 1:
        parser.error("--disturbed is a part of the runs, from 0 to below 1")
    engines = checked(asked.engines)
    ways = {WHOLE: asked.seeds, PART: asked.parts}
    ways |= {f"{WITHOUT}{line + 1}": asked.seeds for line in range(len(ADVICE))}
    kept = Kept(asked.kept)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for group, paths in grouped(asked.landscapes, asked.real).items():
            games = {way: list[Played]() for way in ways}
            for path in paths:
                board = Board(opened(path))
                players = _players(engines, board.landscape, one_a_launch=asked.one_a_launch)
                for way, numbers in ways.items():
                    wanted = [(player, number) for player in players for number in range(numbers)]
                    playing = partial(game, path, way, asked.disturbed)
                    name = named(board.landscape, way, asked.disturbed)
                    games[way] += kept.with_missing(name, wanted, playing, None if asked.no_play else pool)
                here = [one for one in games[WHOLE] if one.landscape == named(board.landscape, WHOLE, asked.disturbed)]
                print(f"{title(board)}\n\n{table(here)}\n", flush=True)
            for way, all_games in games.items():
                if paths:
                    print(f"### {GROUPS[group]}: {way.strip() or 'whole'}\n\n{table(all_games)}\n", flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
