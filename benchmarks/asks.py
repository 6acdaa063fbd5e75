"""How long the engine `hpl` thinks before each launch, up to so many trials.

    python benchmarks/asks.py                      # 200 trials on the largest landscapes that are shipped
    python benchmarks/asks.py LANDSCAPE.json --trials 400

Where the search would end because nothing is to be gained, it is asked for full runs. Runs share launches as in `tune`.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from replay import Board
from script import SHIPPED, as_script, opened

from tuner.engines.base import Engine, EngineContext
from tuner.engines.outcomes import FULL, Question
from tuner.engines.registry import make_engine

LARGEST = ("kronos", "ethernet16", "pi5")
PART = 50
"""Trials in a row of the table."""


def asks_s(board: Board, trials: int, seed: int) -> list[tuple[int, float]]:
    """Of each ask how many trials were told before, and its seconds; companions of a small run are part of it."""
    chance = random.Random(seed)
    engine = make_engine("hpl", board.space, seed, EngineContext(probes=board.probes))
    found, told = [], 0
    while told < trials:
        began = time.perf_counter()
        asked = _next_launch(engine, board, trials - told)
        if not asked:
            break
        found.append((told, time.perf_counter() - began))
        outcomes, _ = board.launch(asked, chance)
        for one, outcome in zip(asked, outcomes, strict=True):
            engine.tell(one.params, outcome)
        told += len(asked)
    return found


def _next_launch(engine: Engine, board: Board, room: int) -> list[Question]:
    return engine.choose_launch(board.ladder, lambda _: room) or engine.choose_launch((FULL,), lambda _: room)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", nargs="*", type=Path, help="files; without any, the largest that are shipped")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args(arguments)
    shipped = [SHIPPED / f"{name}.json" for name in LARGEST]
    print("| landscape | configurations | trials told | asks | median | worst |\n|" + " --- |" * 6)
    for path in asked.landscapes or shipped:
        board = Board(opened(path))
        found = [ask for seed in range(asked.seeds) for ask in asks_s(board, asked.trials, seed)]
        for first in range(0, asked.trials, PART):
            times = [ask_s for told, ask_s in found if first <= told < first + PART]
            if times:
                last = min(first + PART, asked.trials) - 1
                figures = f"{len(times)} | {1e3 * statistics.median(times):.0f} ms | {1e3 * max(times):.0f} ms"
                print(f"| {path.stem} | {len(board.places)} | {first} to {last} | {figures} |", flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
