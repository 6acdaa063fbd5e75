"""Published tests beside simulated ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ...stopping import StopRequest
from ..batch import Simulated, Wish, simulate
from ..cluster import SimulatedCluster
from .published import Published, PublishedTest


@dataclass(frozen=True)
class ComparedTest:
    """A published test and its simulation."""

    test: PublishedTest
    simulated: Simulated

    @property
    def error(self) -> float | None:
        """Simulated over published rate, less 1; None where the simulation failed."""
        return None if self.simulated.gflops is None else self.simulated.gflops / self.test.gflops - 1


def simulate_tests(
    site: SimulatedCluster, published: Published, *, jobs: int, limit_s: float, stop: StopRequest
) -> tuple[ComparedTest, ...]:
    """Simulate the published tests; fewer where somebody stopped it."""
    wishes = [Wish(published.params(test, site.cluster.cores)) for test in published.tests]
    simulated = simulate(site, wishes, jobs=jobs, limit_s=limit_s, stop=stop)
    return tuple(ComparedTest(test, row) for test, row in zip(published.tests, simulated, strict=False))


def simulated_gflops(tests: Sequence[ComparedTest], number: int) -> float | None:
    """The simulated rate of the test of that number; None where there is none."""
    return next((row.simulated.gflops for row in tests if row.test.number == number), None)


def error_sizes(tests: Sequence[ComparedTest]) -> dict[int, float]:
    """The size of the error of each predicted test that gave a result and does not stand apart, by test number."""
    predicted = [row for row in tests if row.test.role == "predicted" and not row.test.apart]
    return {row.test.number: abs(row.error) for row in predicted if row.error is not None}


def typical_error(tests: Sequence[ComparedTest]) -> tuple[float, float] | None:
    """Median and largest of the error sizes; None where there is no error to count."""
    sizes = error_sizes(tests).values()
    return (median(sizes), max(sizes)) if sizes else None


def gain(tests: Sequence[ComparedTest], before: int, after: int) -> tuple[float, float] | None:
    """How much faster one test is than another, as published and as simulated; None where one has no result."""
    rows = {row.test.number: row for row in tests}
    if before not in rows or after not in rows:
        return None
    old, new = rows[before], rows[after]
    if not old.simulated.gflops or not new.simulated.gflops:
        return None
    return new.test.gflops / old.test.gflops - 1, new.simulated.gflops / old.simulated.gflops - 1
