"""How soon one search finds the front of two objectives, and how soon two searches do, of one objective each.

    python benchmarks/fronts.py FOLDER                  # 20 games on Kronos

Every configuration of a space with several numbers of nodes is simulated once, which takes some minutes; the rates are
kept in FOLDER. A game is a random part of it, with all layouts and networks and at least half of the values of what
else varies. Of the true front of a part a configuration is found when a run is within 1 % of it in both objectives.
The two searches, of GFLOPS and of the other objective, have half of the runs each.
"""

import argparse
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

from script import as_script

from runners.virtual.load import load_cluster
from search_spaces.load import load
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.base import EngineContext
from tuner.engines.outcomes import FULL, Outcome
from tuner.engines.registry import make_engine
from tuner.machine.equipment import DECIDING
from tuner.simulation.cluster import SimulatedCluster, equipment_of
from tuner.simulation.known import machine_of, probes_of
from tuner.simulation.session import cores_here
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.study.objective import Objective
from tuner.user_dirs import UserDirs

WITHIN = 0.99
AFTER = (8, 16, 24, 32, 48)
MOST_RUNS = 64
COMMON = 'grid = "auto"\nDEPTH = [0, 1]\n'
LIMIT_S = 600.0


@dataclass(frozen=True)
class Case:
    """A virtual cluster, what GFLOPS are weighed against there, and the parameters of a space."""

    cluster: str
    against: str
    N: int
    parameters: str


CASES = (
    Case(
        "kronos", "usd-per-gflops", 4000,
        'layout = ["8x1", "4x1", "2x1", "1x1"]\nblas = "atlas"\nNB = [64, 96, 128, 160, 192, 224]\n'
        'BCAST = ["1rg", "2rM", "LnM"]\n',
    ),
)  # fmt: skip


class Table:
    """The rates of every configuration of a case."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        cluster = load_cluster(case.cluster)
        self.site = SimulatedCluster.open(cluster, UserDirs.of_user(), None, None)
        machine = equipment_of(cluster)
        self.objective = Objective("gflops", machine, Objective(case.against, machine))
        self.space = self.part({})
        self.rates = self._kept(folder / f"front-{case.cluster}.json")

    def part(self, only: Mapping[str, Sequence[str]]) -> SearchSpace:
        """The space with fewer values of some parameters."""
        text = f"[parameters]\n{self.case.parameters}{COMMON}"
        return load(self.case.cluster, machine_of(self.site.cluster, self.case.N), only, text)

    def _kept(self, file: Path) -> dict[str, float]:
        if file.is_file():
            rates: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))
            return rates
        wishes = [Wish(self.space.complete(point)) for point in self.space]
        found = simulate(self.site, wishes, jobs=cores_here(), limit_s=LIMIT_S, stop=StopRequest())
        rates = {self.space.key(wish.params): one.gflops for wish, one in zip(wishes, found, strict=True) if one.gflops}
        file.write_text(json.dumps(rates), encoding="utf-8")
        return rates

    def both(self, point: Point) -> tuple[float, float]:
        """GFLOPS of a configuration, and the same by the other objective."""
        gflops = self.rates[self.space.key(point)]
        return gflops, gflops * self.worth(point)

    def worth(self, point: Point) -> float:
        """Of a GFLOPS by the other objective."""
        against = self.objective.against or self.objective
        return against.worth(self.space.complete(point), 1.0)


class Game:
    """One part of a case, and how much of its front searches find."""

    def __init__(self, table: Table, number: int) -> None:
        chance = random.Random(f"{table.case.cluster} {number}")
        only = {}
        for name, parameter in table.space.varying.items():
            values = parameter.values
            if name not in DECIDING and name != "grid":
                kept = chance.sample(values, chance.randint(math.ceil(len(values) / 2), len(values)))
                only[name] = [str(value) for value in values if value in kept]
        self.table, self.space = table, table.part(only)
        rates = {table.both(point) for point in self.space}
        beaten = {one for one in rates for other in rates if other != one and other[0] >= one[0] and other[1] >= one[1]}
        self.front = [one for one in rates if one not in beaten]

    def searches(self) -> tuple[list[float], list[float]]:
        """The part of the front found after each run of a search of it, and of two searches of one objective each."""
        fastest = self._runs(EngineContext(), lambda _: 1.0)
        thriftiest = self._runs(EngineContext(worth=self.table.worth), self.table.worth)
        of_front = self._found(self._runs(EngineContext(against=self.table.worth), lambda _: 1.0))
        return of_front, self._found(point for pair in zip(fastest, thriftiest, strict=False) for point in pair)

    def _runs(self, known: EngineContext, told: Callable[[Point], float]) -> Iterator[Point]:
        probes = probes_of(self.table.site.cluster, self.space)
        engine = make_engine("hpl", self.space, 0, replace(known, probes=probes))
        for _ in range(MOST_RUNS):
            question = engine.choose((FULL,))
            if question is None:
                return
            gflops, _ = self.table.both(question.params)
            engine.tell(question.params, Outcome(gflops * told(question.params)))
            yield question.params

    def _found(self, points: Iterator[Point]) -> list[float]:
        parts, left = list[float](), set(self.front)
        for point, _ in zip(points, range(MOST_RUNS), strict=False):
            run = self.table.both(point)
            left -= {one for one in left if all(mine >= WITHIN * its for mine, its in zip(run, one, strict=True))}
            parts.append(1 - len(left) / len(self.front))
        return parts + parts[-1:] * (MOST_RUNS - len(parts))


def row(name: str, games: Sequence[Sequence[float]]) -> str:
    """How much of the front searches found after so many runs, and how many it took to find all."""
    needed = [next((run for run, part in enumerate(game, start=1) if part >= 1), math.inf) for game in games]
    cells = [f"{100 * fmean(game[after - 1] for game in games):.0f} %" for after in AFTER]
    whole = median(needed)
    told = f"more than {MOST_RUNS}" if math.isinf(whole) else f"{whole:g}"
    return f"| {name} | {' | '.join([*cells, told])} |"


def main(arguments: Sequence[str]) -> int:
    """Print a table for each cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--games", type=int, default=20)
    options = parser.parse_args(arguments)
    for case in CASES:
        table = Table(case, options.folder)
        games = [Game(table, number) for number in range(options.games)]
        members, sizes = median(len(game.front) for game in games), median(len(game.space) for game in games)
        print(f"{case.cluster}, GFLOPS against {case.against}: {sizes:g} configurations, {members:g} on the front\n")
        print(f"| search | {' | '.join(f'after {after} runs' for after in AFTER)} | runs until all is found |")
        print("| --- |" + " --- |" * (len(AFTER) + 1))
        one, two = zip(*(game.searches() for game in games), strict=True)
        print(f"{row('of the front', one)}\n{row('two, of one objective each', two)}\n", flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
