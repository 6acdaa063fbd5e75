"""What it costs HPL that each run measures what the machine did: pairs of runs with and without, in random order.

It runs a program of HPL that hpltune has built, in a folder with an HPL.dat of one run, and prints the mean difference
of the rates in per cent, with its 95 % interval (Student's t of the pairs' differences of logarithms). The aim is at
most 0.2 %, or a difference that cannot be told from 0.

Usage: python benchmarks/sampling_cost.py XHPL FOLDER [--pairs 20] [--ranks 2] [--mpirun mpirun] [--seed 1]
"""

import argparse
import math
import os
import random
import statistics
import subprocess
from pathlib import Path

from scipy.stats import t as student

from hpl.output import parse
from hpl.witness import parse_conditions
from tuner.trial.observers.sensors.registry import FILE_SENSORS


def main() -> None:
    options = _options()
    sensors = options.folder / "sensors"
    sensors.write_text("".join(f"{glob}\n" for sensor in FILE_SENSORS for glob in sensor.globs))
    drawn = random.Random(options.seed)
    differences = []
    for pair in range(1, options.pairs + 1):
        order = drawn.sample([True, False], 2)
        rates = {sampled: _gflops(options, sampled=sampled) for sampled in order}
        differences.append(math.log(rates[True] / rates[False]))
        print(f"pair {pair}: {rates[True]:.2f} GFLOPS with, {rates[False]:.2f} without", flush=True)
    middle = statistics.fmean(differences)
    half = student.ppf(0.975, len(differences) - 1) * statistics.stdev(differences) / math.sqrt(len(differences))
    print(
        f"With sampling the rate differs by {100 * middle:+.2f} %, 95 % interval {100 * (middle - half):+.2f} to "
        f"{100 * (middle + half):+.2f} %, from {len(differences)} pairs."
    )


def _gflops(options: argparse.Namespace, *, sampled: bool) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "HPLTUNE_SENSORS"}
    environment |= {"HPLTUNE_SENSORS": "sensors"} if sampled else {}
    done = subprocess.run(
        [*options.mpirun.split(), "-np", str(options.ranks), str(options.xhpl.resolve())],
        cwd=options.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    if bool(parse_conditions(done.stderr)) != sampled:
        raise SystemExit(f"{options.xhpl} does not measure what it should: build it with this hpltune")
    (result,) = parse(done.stdout).results
    return result.gflops


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("xhpl", type=Path, help="a program of HPL that hpltune has built")
    parser.add_argument("folder", type=Path, help="where its HPL.dat is")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mpirun", default="mpirun", help="the launcher, with its own options")
    parser.add_argument("--seed", type=int, default=1, help="of the order within pairs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
