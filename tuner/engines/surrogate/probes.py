"""What is known of a machine before any HPL run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from search_spaces.dimension import Scalar

USUAL_GFLOPS = 10.0
"""Of a core whose dgemm was not timed."""


@dataclass(frozen=True)
class Probes:
    """What short measurements and a look at the machine tell.

    Attributes:
        dgemm_gflops: rate of one core by BLAS and kernel.
        nodes: over which ranks are spread evenly.
        node_cores: of each, where ranks fill one node after the other instead, so that some may stay idle.
        exact: a run comes out the same each time, as simulated ones without noise do.
    """

    dgemm_gflops: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    nodes: int = 1
    node_cores: int | None = None
    exact: bool = False

    def together(self, ranks: int, threads: int) -> float:
        """Ranks on a node, at least 1."""
        if self.node_cores is None:
            return max(1.0, ranks / self.nodes)
        return float(max(1, min(ranks, self.node_cores // threads)))

    def rate_gflops(self, full: Mapping[str, Scalar]) -> float:
        """Dgemm of one core for a point's BLAS and kernel; that of the best kernel, or a usual one, if not timed."""
        kernels = self.dgemm_gflops.get(str(full["blas"]), {})
        return kernels.get(str(full.get("kernel", "auto"))) or max(kernels.values(), default=USUAL_GFLOPS)
