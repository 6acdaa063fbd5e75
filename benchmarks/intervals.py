"""How often what is told with a probability is true, in studies drawn from recorded landscapes with known true rates.

    python benchmarks/intervals.py
    python benchmarks/intervals.py --studies 100 benchmarks/landscapes/kronos.json

A study runs some configurations of a landscape once and the best three twice more, as `tune` does. A configuration's
true rate is the median of its recorded runs; runs are drawn around it, as the machine's kind says. What `best`,
`compare` and `check` would tell of them is held against the true rates.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from script import SHIPPED, as_script, count
from whole_memory import saved, table

from results.stats.compare import RateSample, contrasts
from results.stats.confidence import rerank_by_posterior, standing
from results.stats.levels import drift_corrected
from results.stats.noise import Array, noise_of
from results.stats.occasions import speed_change
from results.stats.ranking import Ranked, Time
from tuner.replay.landscape import RecordedLandscape

SEARCHED = (3, 10, 40)
"""Configurations of a study; a landscape is drawn from again for each study."""
FINALISTS, ROUNDS = 3, 2
BETTER = 0.5
"""Part of a landscape, the faster one, that a search asks for."""
BINS = (0.0, 0.5, 0.7, 0.875, 0.925, 0.97, 1.0)
"""Ends of the confidences that are taken together."""
LOSSES = (0.0, 0.02, 0.05)
"""By how much the machine of `check` is slower."""


@dataclass(frozen=True)
class MachineKind:
    """How runs of a machine differ.

    Attributes:
        noise: standard deviation of a run, in the logarithm of the rate.
        disturbed, loss: part of the runs that other programs slow, and how much those lose on average.
        drift: by how much the machine slows from its first run to its last.
        step: by how much it slows before the confirmation.
    """

    name: str
    noise: float
    disturbed: float = 0.0
    loss: float = 0.0
    drift: float = 0.0
    step: float = 0.0


MACHINES = (
    MachineKind("normal 0.3 %", 0.003),
    MachineKind("normal 1 %", 0.01),
    MachineKind("normal 3 %", 0.03),
    MachineKind("1 %, one run in 10 slower by 10 %", 0.01, disturbed=0.1, loss=0.1),
    MachineKind("1 %, slows evenly by 2 %", 0.01, drift=0.02),
    MachineKind("1 %, slows by 20 % before confirmation", 0.01, step=0.2),
)


@dataclass
class Tally:
    """What was told and whether it was true."""

    best: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    compared: list[bool] = field(default_factory=list)
    repeated: list[bool] = field(default_factory=list)
    confidence: list[tuple[float, bool]] = field(default_factory=list)
    slower: dict[float, list[bool]] = field(default_factory=dict)


class Machine:
    """A machine that runs configurations whose true rates are known, as logarithms."""

    def __init__(self, kind: MachineKind, true: Array, chance: np.random.Generator) -> None:
        self.kind, self.true, self.chance = kind, true, chance

    def run(self, place: int, done: float = 0.0, *, confirms: bool = False) -> float:
        """Run a configuration, when a part of the study is done; return its rate."""
        kind = self.kind
        lost = self.level(done, confirms=confirms)
        if self.chance.random() < kind.disturbed:
            lost += self.chance.exponential(kind.loss)
        return float(np.exp(self.true[place] - lost + kind.noise * self.chance.standard_normal()))

    def level(self, done: float, *, confirms: bool) -> float:
        """The logarithm by which the machine is slower than at first."""
        return -math.log1p(-self.kind.drift * done) - (math.log1p(-self.kind.step) if confirms else 0.0)

    def study(self) -> list[Ranked]:
        """Search and confirm, and rank as `best` does."""
        places = range(len(self.true))
        finalists_runs = min(FINALISTS, len(self.true)) * ROUNDS
        whole = len(self.true) + finalists_runs
        runs = [[(self.run(place, place / whole), Time(0, 0))] for place in places]
        finalists = sorted(places, key=lambda place: -runs[place][0][0])[:FINALISTS]
        begun = len(self.true)
        for turn in range(1, ROUNDS + 1):
            for place in finalists:
                runs[place].append((self.run(place, begun / whole, confirms=True), Time(0, turn)))
                begun += 1
        return rerank_by_posterior(
            [
                Ranked(str(place), {}, tuple(rate for rate, _ in own), place, times=tuple(time for _, time in own))
                for place, own in enumerate(runs)
            ]
        )

    @property
    def last(self) -> float:
        """By how much it is slower in the end."""
        return self.level(1.0, confirms=True)


def rates_of(landscape: RecordedLandscape) -> Array:
    """The logarithms of the true rates of a landscape's faster part, each rate once."""
    rates = np.unique([place.gflops for place in landscape.places if place.gflops])
    return np.asarray(np.log(rates[-max(SEARCHED[0], int(BETTER * len(rates))) :]))


def tell(kind: MachineKind, landscapes: Sequence[Array], studies: int) -> Tally:
    """Draw studies of a machine, half of them for `compare`, and note what is told of each."""
    tally, chance = Tally(), np.random.default_rng([MACHINES.index(kind), studies])
    for number in range(studies):
        rates = landscapes[number % len(landscapes)]
        searched = min(SEARCHED[number % len(SEARCHED)], len(rates))
        machines = [Machine(kind, chance.choice(rates, searched, replace=False), chance) for _ in range(2)]
        rankings = [machine.study() for machine in machines]
        _note_best(tally, machines[0], rankings[0])
        _note_studies(tally, machines, rankings)
        _note_pair(tally, machines[0])
        if number % 4 == 0 and not (kind.drift or kind.step):
            _note_check(tally, kind, chance)
    return tally


def _note_best(tally: Tally, machine: Machine, ranking: Sequence[Ranked]) -> None:
    """Hold the interval and the confidence of `best` against the truth."""
    first = ranking[0]
    true = machine.true[int(first.key)] - machine.last
    if first.interval_gflops:
        low, high = np.log(first.interval_gflops)
        tally.best.append(bool(low <= true <= high))
        tally.widths.append((high - low) / 2)
    sure = standing(ranking)
    if sure:
        tally.confidence.append((sure.confidence, int(first.key) == int(np.argmax(machine.true))))


def _note_studies(tally: Tally, machines: Sequence[Machine], rankings: Sequence[Sequence[Ranked]]) -> None:
    """Hold `compare` of two studies' winners against the truth."""
    samples, true = [], []
    for machine, ranking in zip(machines, rankings, strict=True):
        corrected = drift_corrected(ranking)
        samples.append(RateSample(corrected[0].gflops, noise_of([np.log(one.gflops) for one in corrected])))
        true.append(machine.true[int(ranking[0].key)])
    interval = contrasts(samples, 0.01)[0].interval
    if interval is not None:
        tally.compared.append(bool(interval[0] <= true[0] - true[1] <= interval[1]))


def _note_pair(tally: Tally, machine: Machine) -> None:
    """Hold `compare` of two configurations that ran in turn, three to five times each, against the truth."""
    runs = int(machine.chance.integers(3, 6))
    pairs = [tuple(machine.run(place, (2 * turn + place) / (2 * runs)) for place in (0, 1)) for turn in range(runs)]
    sides = [tuple(pair[place] for pair in pairs) for place in (0, 1)]
    noise = noise_of([np.log(side) for side in sides])
    interval = contrasts([RateSample(side, noise) for side in sides], 0.01)[0].interval
    if interval is not None:
        tally.repeated.append(bool(interval[0] <= machine.true[0] - machine.true[1] <= interval[1]))


def _note_check(tally: Tally, kind: MachineKind, chance: np.random.Generator) -> None:
    """Note whether `check` calls a machine slower that lost so much; its tolerance is half a percent here."""
    for loss in LOSSES:
        before, now = (Machine(kind, np.array([level]), chance) for level in (0.0, math.log1p(-loss)))
        found = speed_change([before.run(0) for _ in range(3)], [now.run(0) for _ in range(5)], tolerance=0.005)
        tally.slower.setdefault(loss, []).append(found.slower)


def percent(told: Sequence[bool]) -> str:
    """How many of a hundred, with the standard error where it is large."""
    part = float(np.mean(told))
    return f"{100 * part:.1f} ± {100 * math.sqrt(part * (1 - part) / len(told)):.1f}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def intervals(kind: MachineKind, tally: Tally) -> list[str]:
    """A row of the table of intervals."""
    width = f"±{100 * float(np.median(tally.widths)):.1f} %"
    return [kind.name, percent(tally.best), width, percent(tally.repeated), percent(tally.compared)]


def reliability(tallies: Sequence[Tally]) -> list[list[str]]:
    """The table of what is claimed and how often that is right."""
    told = [one for tally in tallies for one in tally.confidence]
    rows = []
    for low, high in pairwise(BINS):
        inside = [(sure, right) for sure, right in told if low <= sure < high or sure == high == 1.0]
        if inside:
            claimed = f"{100 * float(np.mean([sure for sure, _ in inside])):.1f}"
            ends = f"{100 * low:g} to {100 * high:g}"
            rows.append([ends, str(len(inside)), claimed, percent([right for _, right in inside])])
    return rows


def main(arguments: Sequence[str], say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", type=Path, nargs="*", help="all that are shipped by default")
    parser.add_argument("--studies", type=count, default=160, help="of each kind of machine")
    asked = parser.parse_args(arguments)
    paths = asked.landscapes or sorted(SHIPPED.glob("*.json"))
    landscapes = [rates_of(RecordedLandscape.read(path)) for path in paths]
    tallies = {kind: tell(kind, landscapes, asked.studies) for kind in MACHINES}
    say(
        f"{asked.studies} studies of each machine, drawn from {len(paths)} landscapes; of a hundred, ± standard error\n"
    )
    heads = ["runs differ by", "`best`: rate inside", "half of its width"]
    heads += ["`compare`: runs in turn", "`compare`: winners of two studies"]
    say(markdown(heads, [intervals(kind, tally) for kind, tally in tallies.items()]) + "\n")
    steady = [tally for kind, tally in tallies.items() if not kind.drift]
    heads = ["confidence told", "studies", "mean", "right"]
    say(markdown(heads, reliability(steady)) + "\n")
    heads = ["runs differ by", *(f"slower by {loss:.0%}: called slower" for loss in LOSSES)]
    checked = [[kind.name, *map(percent, tally.slower.values())] for kind, tally in tallies.items() if tally.slower]
    say(markdown(heads, checked) + "\n")
    say("\n".join(table([one for own in saved().values() for one in own])))
    return 0


if __name__ == "__main__":
    as_script(main)
