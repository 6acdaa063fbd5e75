"""What HPL's published cost model says of a configuration before anything was measured.

    T = 2 N^3 / (3 P Q r) + beta N^2 (3P + Q) / (2 P Q) + alpha N ((NB + 1) log2 P + P) / NB

from "HPL Scalability Analysis" on HPL's own pages: r is the rate of dgemm in flop/s, alpha the latency of a message in
seconds, beta the seconds that a matrix element of 8 bytes takes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hpl.flops import flop_count
from hpl.params import parse_grid
from search_spaces.dimension import Scalar, ranks_and_threads

BYTES = 8.0


@dataclass(frozen=True)
class Probes:
    """What short measurements say of a machine, before any HPL run.

    Attributes:
        dgemm_gflops: rate of one core by BLAS and kernel.
        latency_s: of a small message between two ranks, at least 0.
        bandwidth_gb_s: of large ones in gigabytes per second, above 0; infinite where it is not known.
    """

    dgemm_gflops: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    latency_s: float = 0.0
    bandwidth_gb_s: float = math.inf

    def rate_gflops(self, full: Mapping[str, Scalar]) -> float:
        """Dgemm of one core for a point's BLAS and kernel; that of the best kernel, or 1, where it was not timed."""
        kernels = self.dgemm_gflops.get(str(full["blas"]), {})
        return kernels.get(str(full.get("kernel", "auto"))) or max(kernels.values(), default=1.0)


def predicted_gflops(full: Mapping[str, Scalar], N: int, probes: Probes) -> float:
    """HPL's rate by the cost model; only ratios between configurations are worth anything.

    Args:
        full: a complete point.
        N: order of the matrix, which a small run does not take from the point.
    """
    P, Q = parse_grid(str(full["grid"]))
    _, threads = ranks_and_threads(full["layout"])
    NB = float(full["NB"])
    rate = probes.rate_gflops(full) * threads * 1e9
    beta_s = BYTES / (probes.bandwidth_gb_s * 1e9)
    time_s = 2.0 * N**3 / (3.0 * P * Q * rate)
    time_s += beta_s * N**2 * (3 * P + Q) / (2 * P * Q) if P * Q > 1 else 0.0
    time_s += probes.latency_s * N * ((NB + 1) * math.log2(P) + P) / NB
    return flop_count(N) / time_s / 1e9
