"""How good what is told of a winner is: simulated studies whose true rates are known.

    python benchmarks/winners.py
    python benchmarks/winners.py --studies 1000

Each configuration runs once and the best three twice more. True rates and runs scatter normally in the logarithm; one
run in 25 is slower by another 8 % on average. Where the machine changed, it is slower by a quarter in the confirmation.
"""

import argparse
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from script import as_script

from results.stats.confidence import rerank_by_posterior, standing
from results.stats.levels import change
from results.stats.ranking import Ranked, Time

FINALISTS, ROUNDS = 3, 2
HICCUP, LOSS = 0.04, 0.08
SLOWER = math.log(0.75)
SURE = 0.75
"""Confidence from which a winner counts as called sure."""


@dataclass(frozen=True)
class Scene:
    """Studies of so many configurations, whose true rates and whose runs differ by so much, as standard deviations."""

    configurations: int
    rates: float
    runs: float
    changed: bool = False


SCENES = [
    Scene(3, 0.02, 0.01), Scene(8, 0.05, 0.01), Scene(40, 0.03, 0.01), Scene(8, 0.05, 0.01, changed=True),
    Scene(8, 0.03, 0.02), Scene(3, 0.02, 0.07), Scene(8, 0.05, 0.07), Scene(8, 0.05, 0.07, changed=True),
    Scene(3, 0.02, 0.3),
]  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What was told of a winner: its confidence and whether it is right, by which part its figure is too high."""

    confidence: float
    right: bool
    too_high: float
    changed: bool


def study(scene: Scene, seed: int) -> Told:
    """One study, as `best` would tell it."""
    chance = np.random.default_rng(seed)
    true = math.log(100.0) + scene.rates * chance.standard_normal(scene.configurations)

    def run(place: int, level: float) -> float:
        slowed = chance.exponential(LOSS) if chance.random() < HICCUP else 0.0
        return float(np.exp(true[place] + level + scene.runs * chance.standard_normal() - slowed))

    runs = [[(run(place, 0.0), Time(0, 0))] for place in range(scene.configurations)]
    finalists = sorted(range(scene.configurations), key=lambda place: -runs[place][0][0])[:FINALISTS]
    level = SLOWER if scene.changed else 0.0
    for turn in range(1, ROUNDS + 1):
        for place in finalists:
            runs[place].append((run(place, level), Time(0, turn)))
    entries = [
        Ranked(str(place), {}, tuple(rate for rate, _ in own), place, times=tuple(time for _, time in own))
        for place, own in enumerate(runs)
    ]
    ranking = rerank_by_posterior(entries)
    winner, sure = int(ranking[0].key), standing(ranking)
    return Told(
        confidence=sure.confidence if sure else 0.0,
        right=winner == int(np.argmax(true)),
        too_high=ranking[0].expected_gflops / math.exp(true[winner] + level) - 1,
        changed=bool(change(ranking)),
    )


def row(scene: Scene, told: Sequence[Told]) -> str:
    """A kind of studies in a row of the table."""
    sure = [one for one in told if one.confidence > SURE]
    cells = [
        f"{scene.configurations} that differ by {scene.rates:.0%}", f"{scene.runs:.0%}",
        "by a quarter" if scene.changed else "no", _claimed(told),
        f"{len(sure) / len(told):.0%}" + (f", {_claimed(sure)}" if sure else ""),
        f"{100 * statistics.fmean(one.too_high for one in told):+.1f} %",
        f"{statistics.fmean(one.changed for one in told):.0%}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _claimed(told: Sequence[Told]) -> str:
    claimed, right = statistics.fmean(one.confidence for one in told), statistics.fmean(one.right for one in told)
    return f"{claimed:.0%} / {right:.0%}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=250, help="of each kind")
    asked = parser.parse_args(arguments)
    heads = ["configurations", "runs differ by", "machine changed", "claimed / right", "sure: studies, claimed / right"]
    heads += ["figure too high", "change told"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for scene in SCENES:
        print(row(scene, [study(scene, seed) for seed in range(asked.studies)]), flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
