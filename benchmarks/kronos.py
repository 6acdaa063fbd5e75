"""The Kronos constants: fitted again from the published tests, and what follows for the tests that took no part.

    python benchmarks/kronos.py

Fits dgemm's rate with ATLAS and the time of a packet to tests 3 and 5, and dgemm's rate with ACML to test 6; simulates
all eight; and leaves each of the two-constant tests out in turn.
"""

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import least_squares

from runners.toml_file import validated
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import load_cluster
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.reproduction import PublishedTest, PublishedTuning, published
from tuner.simulation.session import cores_here
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

START = {"atlas": 2.8, "acml": 2.3, "packet_us": 8.0}


def with_constants(base: VirtualCluster, constants: Mapping[str, float]) -> VirtualCluster:
    """Kronos with these constants."""
    table = base.model_dump()
    table["blas"]["atlas"]["dgemm_gflops"] = constants["atlas"]
    table["blas"]["acml"]["dgemm_gflops"] = constants["acml"]
    table["networks"]["gige"]["packet_us"] = constants["packet_us"]
    return validated(VirtualCluster, "fit", table)


def errors(
    site: SimulatedCluster, figures: PublishedTuning, tests: Sequence[PublishedTest], constants: Mapping[str, float]
) -> list[float]:
    """Simulated over published rate, less 1."""
    cluster = with_constants(site.cluster, constants)
    wishes = [Wish(figures.params(test, cluster.cores), cluster) for test in tests]
    found = simulate(site, wishes, jobs=cores_here(), limit_s=120, stop=StopRequest())
    return [(row.gflops or 0.0) / test.gflops - 1 for row, test in zip(found, tests, strict=True)]


def fit(
    site: SimulatedCluster, figures: PublishedTuning, numbers: Sequence[int], names: Sequence[str]
) -> dict[str, float]:
    """The constants of these names that fit the tests of these numbers best; the others stay at START."""
    tests = [figures.test(number) for number in numbers]

    def residuals(logs: np.ndarray) -> list[float]:
        return errors(site, figures, tests, {**START, **dict(zip(names, np.exp(logs), strict=True))})

    start = np.log([START[name] for name in names])
    found = least_squares(residuals, start, diff_step=[0.01], xtol=1e-4, ftol=1e-8, max_nfev=15)
    return {**START, **{name: float(np.exp(value)) for name, value in zip(names, found.x, strict=True)}}


def main() -> int:
    figures = published("kronos")
    site = SimulatedCluster.open(load_cluster("kronos"), UserDirs.of_user(), None, None)
    constants = fit(site, figures, (3, 5), ("atlas", "packet_us"))
    START.update({name: constants[name] for name in ("atlas", "packet_us")})
    constants = fit(site, figures, (6,), ("acml",))
    print("fitted to tests 3 and 5: atlas {atlas:.3f} GFLOPS, packet {packet_us:.2f} us".format(**constants))
    print("fitted to test 6: acml {acml:.3f} GFLOPS".format(**constants))
    for test, error in zip(figures.tests, errors(site, figures, figures.tests, constants), strict=True):
        print(f"test {test.number}: published {test.gflops:g}, error {error:+.1%} ({test.role})")
    print("each left out of a fit of atlas and packet_us to the other five:")
    numbers = (2, 3, 4, 5, 7, 8)
    for left_out in numbers:
        others = fit(site, figures, [number for number in numbers if number != left_out], ("atlas", "packet_us"))
        (error,) = errors(site, figures, [figures.test(left_out)], others)
        print(f"test {left_out}: {error:+.1%} (atlas {others['atlas']:.3f}, packet {others['packet_us']:.2f} us)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
