"""Real HPL beside simulated HPL, configuration by configuration: does the model rank them as the machine does?

    python benchmarks/faithfulness.py machine            # this machine's cores; two of them take 2.5 minutes a round
    python benchmarks/faithfulness.py hosts              # four hosts in network namespaces on this machine; needs root
    python benchmarks/faithfulness.py machine --size 4000 --rounds 7 --json out.json

The model is calibrated at the same time, in turn with the HPL runs, and no HPL run takes part in the fit.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean, median

from hosts_lab import HOSTS, Lab, lab_cluster, lab_workshop

from hpl.params import Scalar
from results.report.terminal import print_table
from runners.virtual.cluster import VirtualCluster
from tuner.events import Event, Notice
from tuner.machine.problem_size import textbook
from tuner.options import TuneOptions
from tuner.reports.calibration import check_table
from tuner.simulation.calibration import Check, MeasurementPlan, agreement, calibrated_cluster, measure, simulate_checks
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.session import cores_here
from tuner.stopping import StopRequest
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

BLAS = "openblas"
MACHINE_N, HOSTS_N = 8000, 1600
Point = dict[str, Scalar]


def machine_points(N: int, cores: int, kernel: str) -> list[Point]:
    """8 block sizes x 2 grids x look-ahead on and off."""
    grids = [f"1x{cores}", f"{cores}x1"]
    return [
        {**textbook(N=N, NB=NB, blas=BLAS, kernel=kernel, ranks=cores, threads=1), "grid": grid, "DEPTH": depth}
        for NB in (16, 32, 64, 96, 128, 192, 256, 384)
        for grid in grids
        for depth in (0, 1)
    ]


def hosts_points(N: int, kernel: str) -> list[Point]:
    """4 block sizes x 3 grids x 2 broadcasts x look-ahead on and off, where they differ."""
    return [
        {
            **textbook(N=N, NB=NB, blas=BLAS, kernel=kernel, ranks=HOSTS, threads=1),
            "grid": grid,
            "DEPTH": depth,
            "BCAST": bcast,
        }
        for NB in (32, 64, 128, 200)
        for grid, bcasts in (("1x4", ("1rg", "Lng")), ("2x2", ("1rM",)), ("4x1", ("1rM",)))
        for bcast in bcasts
        for depth in ((0, 1) if grid != "4x1" else (0,))
    ]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", choices=("machine", "hosts"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=None, help=f"N; by default {MACHINE_N} or {HOSTS_N}")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--rate", default="100mbit", help="line rate of the hosts' network, as tc writes it")
    asked = parser.parse_args(arguments)
    places = UserDirs.of_user()
    options = TuneOptions(blas_only=(BLAS,))
    workshop = Workbench.open(options, places, _say)
    kernel = workshop.site.kernels(BLAS, slow=True)[0]
    with Lab(asked.rate) if asked.where == "hosts" else nullcontext() as lab:
        if lab is not None:
            workshop = lab_workshop(workshop, lab)
            points = hosts_points(asked.size or HOSTS_N, kernel)
        else:
            points = machine_points(asked.size or MACHINE_N, workshop.site.host.physical_cores, kernel)
        measured = measure(workshop, MeasurementPlan({BLAS: kernel}, points, asked.rounds), _say, StopRequest())
    cluster: VirtualCluster = calibrated_cluster(workshop.site, measured, asked.where)
    if asked.where == "hosts":
        cluster = lab_cluster(cluster)
    site = SimulatedCluster.open(cluster, places, None, None)
    checks = simulate_checks(site, points, measured, cores_here(), StopRequest())
    report(checks)
    if asked.json:
        rows = [
            {"params": dict(one.params), "gflops": one.gflops, "simulated": one.simulated.gflops, "reason": one.reason}
            for one in checks
        ]
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


def report(checks: Sequence[Check]) -> None:
    """The table, the rank correlation, and what trusting the model would cost; by best runs too: noise slows."""
    from rich.console import Console  # noqa: PLC0415

    counted = [row for row in checks if row.error is not None]
    print_table(Console(width=130), check_table(checks))
    simulated = [row.simulated.gflops or 0.0 for row in counted]
    for rate, name in ((median, "median"), (max, "best run")):
        found = agreement([rate(row.gflops) for row in counted], simulated)
        print(
            f"by the {name} of each: rank correlation {found.correlation:.3f}, the simulated winner reaches "
            f"{found.winner:.1%}, error {found.median_error:.1%} in the median, {found.largest_error:.1%} at most"
        )
        if repeated := [row for row in counted if len(row.gflops) > 1]:
            halves = [[rate(row.gflops[first::2]) for row in repeated] for first in (0, 1)]
            itself = agreement(*halves).correlation
            print(f"    the machine's own correlation, every other round with the rest: {itself:.3f}")
    apart = judged_apart(counted, max(counted, key=lambda row: row.simulated.gflops or 0.0))
    print(f"half of the rounds choosing the real winner, half judging both: the simulated one reaches {apart:.1%}")
    noise = [(max(row.gflops) - min(row.gflops)) / median(row.gflops) for row in counted if len(row.gflops) > 1]
    print(f"{len(counted)} configurations; repeats are {median(noise or [0.0]):.1%} apart")


def judged_apart(rows: Sequence[Check], chosen: Check) -> float:
    """The simulated winner's rate over the real winner's, without the luck that made the latter win.

    The largest of many noisy medians is too large. So every other round chooses the real winner, and the rest judge
    both; then the other way round. The mean of the two.
    """
    ratios = []
    for first in (0, 1):
        winner = max(rows, key=lambda row: median(row.gflops[first::2]))
        ratios.append(median(chosen.gflops[1 - first :: 2]) / median(winner.gflops[1 - first :: 2]))
    return fmean(ratios)


def _say(event: Event) -> None:
    if isinstance(event, Notice):
        print(event.sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
