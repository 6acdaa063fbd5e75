"""Adds to a landscape of the four hosts what the model predicts of each configuration, and what calibrating it took.

    python benchmarks/predict_landscape.py benchmarks/landscapes/four-hosts.json        # needs root

The model knows the hosts' routines and messages, as `hpltune calibrate` times them, and no HPL run.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hosts_lab import Lab, lab_cluster, lab_workshop
from script import as_script

from tuner.options import TuneOptions
from tuner.replay.landscape import RecordedLandscape
from tuner.simulation.calibration import MeasurementPlan, agreement, calibrated_cluster, measure
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.session import cores_here
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("landscape", type=Path)
    parser.add_argument("--rate", default="100mbit", help="line rate of the hosts' network, as tc writes it")
    asked = parser.parse_args(arguments)
    landscape = RecordedLandscape.read(asked.landscape)
    space = landscape.search_space()
    points = [space.complete(place.params) for place in landscape.places]
    kernels = {str(point["blas"]): str(point["kernel"]) for point in points}
    stop, places = StopRequest(), UserDirs.of_user()
    with Lab(asked.rate) as lab:
        workshop = lab_workshop(Workbench.open(TuneOptions(blas_only=tuple(kernels)), places, lambda _: None), lab)
        began_s = time.perf_counter()
        measured = measure(workshop, MeasurementPlan(kernels, [], 1), lambda _: None, stop)
        calibrated_s = time.perf_counter() - began_s
    site = SimulatedCluster.open(
        lab_cluster(calibrated_cluster(workshop.site, measured, "four hosts")), places, None, None
    )
    began_s = time.perf_counter()
    found = simulate(site, [Wish.of_real(point) for point in points], jobs=cores_here(), limit_s=600.0, stop=stop)
    simulated_s = time.perf_counter() - began_s
    told = tuple(
        replace(place, predicted_gflops=one.gflops) for place, one in zip(landscape.places, found, strict=True)
    )
    replace(landscape, places=told, calibrated_s=round(calibrated_s, 1)).save(asked.landscape)
    both = [(place.gflops, place.predicted_gflops) for place in told if place.gflops and place.predicted_gflops]
    fit = agreement(*zip(*both, strict=True))
    print(f"calibrated in {calibrated_s:.0f} s, {len(points)} configurations simulated in {simulated_s:.0f} s")
    print(f"rank correlation {fit.correlation:.3f}, the simulated winner reaches {fit.winner:.1%} of the real "
          f"winner's rate, error {fit.median_error:.1%} in the median, {fit.largest_error:.1%} at most")  # fmt: skip
    return 0


if __name__ == "__main__":
    as_script(main)
