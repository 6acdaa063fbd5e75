"""How often a run at a large N lies within what smaller runs told of it, on virtual clusters.

    python benchmarks/whole_memory.py benchmarks/landscapes/{pi5,kronos,ethernet16}.json
    python benchmarks/whole_memory.py benchmarks/landscapes/unseen/*.json --save benchmarks/whole_memory.json
    python benchmarks/whole_memory.py        # what is saved in benchmarks/whole_memory.json, in a minute

Of each landscape's cluster some of the better configurations are simulated at N, N/2, N/4, … N/32, N being what its
memory holds, at most 24576. Runs then differ as on a machine: the largest of three sizes is the median of three runs,
three finalists that ran three times tell the noise, and the run at N that is to lie within differs as well.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np
from scipy.interpolate import PchipInterpolator
from script import as_script

from hpl.sizing import flop_count
from results.stats.noise import noise_of
from runners.virtual.load import load_cluster
from tuner.engines.base import CLOSE
from tuner.machine.problem_size import STEP, Sample
from tuner.replay.landscape import RecordedLandscape
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.session import cores_here
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.study.sizing.extrapolation import extrapolate
from tuner.study.sizing.prediction import probability_faster
from tuner.trial.ladder import PREFIX_PARTS
from tuner.user_dirs import UserDirs

SAVED = Path(__file__).with_suffix(".json")
"""Simulated times of the shipped clusters pi5, kronos and ethernet16 and of the 24 made-up ones."""
LARGEST_N = 24_576
SMALLEST_PART = 32
RATIOS = (2, 4, 8)
NOISES = (0.003, 0.01, 0.05)
STUDIES = 1
"""Of each configuration, ratio and noise."""
FIRST = PREFIX_PARTS[0]
TURNS = (1.3, 2.0, 2.6, 4.0, 5.2, 8.0)
"""Times by which N is larger than that of runs in turn; the first tenth of N costs what a whole run at N/1.55 does."""
QUIET = noise_of([0.003 * np.array([-1.0, 0.0, 1.0])] * 3)
CONFIGURATIONS = 4
"""Of each cluster: the best, and some of the better half."""


@dataclass(frozen=True)
class Simulated:
    """A configuration: its seconds by N, without noise, and the peak of its cluster."""

    times_s: Mapping[int, float]
    rpeak_gflops: float


def simulated(path: Path, places: UserDirs) -> list[Simulated]:
    """Some configurations of a landscape's cluster at all sizes."""
    landscape, own = RecordedLandscape.read(path), path.with_suffix(".cluster.toml")
    cluster = load_cluster(str(own) if own.exists() else path.stem.removesuffix("-full"))
    site = SimulatedCluster.open(cluster, places, None, None)
    unit = SMALLEST_PART * STEP
    N = min(LARGEST_N, site.largest_n(0.8)) // unit * unit
    better = sorted(landscape.places, key=lambda place: -(place.gflops or 0.0))[: len(landscape.places) // 2]
    chosen = [better[0], *random.Random(path.name).sample(better[1:], CONFIGURATIONS - 1)]
    space, sizes = landscape.search_space(), [N // 2**halved for halved in range(6)]
    wishes = [Wish.of_real({**space.complete(place.params), "N": size}) for place in chosen for size in sizes]
    found = simulate(site, wishes, jobs=cores_here(), limit_s=600.0, stop=StopRequest())
    rows = [found[first : first + len(sizes)] for first in range(0, len(found), len(sizes))]
    times = [{size: one.time_s for size, one in zip(sizes, row, strict=True) if one.time_s} for row in rows]
    return [Simulated(times_s, cluster.rpeak_gflops) for times_s in times]


def saved(path: Path = SAVED) -> dict[str, list[Simulated]]:
    """Read configurations by their cluster, as `main` saves them."""
    return {
        name: [Simulated({int(N): time_s for N, time_s in one["times_s"].items()}, one["rpeak_gflops"]) for one in own]
        for name, own in json.loads(path.read_text(encoding="utf-8")).items()
    }


def table(configurations: Sequence[Simulated]) -> list[str]:
    """The lines of a table in Markdown."""
    heads = [f"inside, runs differ by {noise:.1%}" for noise in NOISES]
    head = "| " + " | ".join(["N over the largest that ran", "time without noise is off by", *heads]) + " |"
    return [head, "|" + " --- |" * (2 + len(heads)), *(row(configurations, ratio) for ratio in RATIOS)]


def row(configurations: Sequence[Simulated], ratio: int) -> str:
    """What is told of runs at so many times the largest N that was run, as a line of Markdown."""
    chance = np.random.default_rng(ratio)
    off, cells = list[float](), [str(ratio)]
    inside: dict[float, list[bool]] = {noise: [] for noise in NOISES}
    widths: dict[float, list[float]] = {noise: [] for noise in NOISES}
    for one in configurations:
        times, peak = one.times_s, one.rpeak_gflops
        N = max(times)
        sizes = [size for size in (N // ratio, N // ratio // 2, N // ratio // 4) if size in times]
        exact = extrapolate([Sample(size, times[size], 0.0) for size in sizes], N, noise_of([]), peak)
        off.append(exact.time_s / times[N] - 1)
        for noise in NOISES:
            for _ in range(STUDIES):
                runs = [times[size] * _differs(chance, noise, 3 if size == sizes[0] else 1) for size in sizes]
                told = extrapolate(
                    [Sample(size, time_s, 0.0) for size, time_s in zip(sizes, runs, strict=True)],
                    N,
                    noise_of(list(noise * chance.standard_normal((3, 3)))),
                    peak,
                )
                low, high = told.gflops_range
                gflops = flop_count(N) / times[N] / _differs(chance, noise, 1) / 1e9
                inside[noise].append(low <= gflops <= high)
                widths[noise].append((high - low) / told.gflops / 2)
    cells.append(f"{median(map(abs, off)):.1%}, {min(off):+.0%} to {max(off):+.0%}")
    cells += [f"{np.mean(inside[noise]):.0%} (±{median(widths[noise]):.1%})" for noise in NOISES]
    return "| " + " | ".join(cells) + " |"


def rivals(clusters: Mapping[str, Sequence[Simulated]]) -> list[str]:
    """How often a run at a smaller N and the first columns of one tell which of two is faster at N, as a table."""
    kinds = ("whole runs", f"the first {FIRST:.0%}")
    head = "".join(f" {kind}: right | {kind}: lost | {kind}: ratio changes by |" for kind in kinds)
    lines = [f"| N over the one that ran | pairs |{head} told |", "|" + " --- |" * 9]
    for ratio in TURNS:
        pairs = [pair for own in clusters.values() for two in combinations(own, 2) if (pair := _pair(*two, ratio))]
        cells, told = [f"{ratio:g}", str(len(pairs))], list[float]()
        truth = np.log([pair[2] for pair in pairs])
        for place in (0, 1):
            seen = np.log([pair[place] for pair in pairs])
            right = np.sign(seen) == np.sign(truth)
            apart = np.sqrt(np.mean((truth - seen) ** 2)) / np.log(ratio)
            cells += [f"{right.mean():.0%}", f"{np.mean(~right * np.expm1(abs(truth))):.2%}", f"{apart:.3f}"]
            told = [probability_faster(float(np.exp(-one)), ratio, FIRST, QUIET) for one in seen]
        faster = np.array(told) > 0.5
        cells.append(f"{np.mean(np.where(faster, told, 1 - np.array(told))):.0%}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _pair(one: Simulated, other: Simulated, ratio: float) -> tuple[float, float, float] | None:
    """Ratios of the times of two that are close at N / ratio: whole runs, the first columns, and whole runs at N."""
    N = max(one.times_s)
    if max(other.times_s) != N:
        return None
    whole, full = (_time_s(one, size) / _time_s(other, size) for size in (N / ratio, N))
    if not CLOSE <= whole <= 1 / CLOSE:
        return None
    left = (1 - FIRST) * N / ratio
    first = [_time_s(each, N / ratio) - _time_s(each, left) for each in (one, other)]
    return whole, first[0] / first[1], full


def _time_s(one: Simulated, N: float) -> float:
    """The time at any N, between those that were simulated."""
    sizes = sorted(one.times_s)
    between = PchipInterpolator(np.log(sizes), np.log([one.times_s[size] for size in sizes]))
    return float(np.exp(between(np.log(N))))


def _differs(chance: np.random.Generator, noise: float, runs: int) -> float:
    """The factor by which the median of some runs is longer than it should be."""
    return float(np.exp(noise * np.median(chance.standard_normal(runs))))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscapes", type=Path, nargs="*", help="those that are saved by default")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the simulated times as JSON")
    asked = parser.parse_args(arguments)
    places = UserDirs.of_user()
    clusters = {path.stem: simulated(path, places) for path in asked.landscapes} or saved()
    if asked.save:
        times = {name: [asdict(one) for one in own] for name, own in clusters.items()}
        asked.save.write_text(json.dumps(times), encoding="utf-8")
    configurations = [one for own in clusters.values() for one in own]
    print(f"{len(configurations)} configurations of {len(clusters)} clusters")
    print("\n".join(table(configurations)))
    print("\n".join(["", "Rivals that are within 5 % of another configuration, without noise", *rivals(clusters)]))
    return 0


if __name__ == "__main__":
    as_script(main)
