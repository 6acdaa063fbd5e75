"""The benchmarks that a check can run, by name. A new one is one entry here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hpl.blas.catalogue import BlasLibrary
from hpl.build.node_bench import build_node_bench, build_node_pairs
from hpl.search_paths import SearchPaths

from ...errors import UsageError
from ...nodes.node_bench import Dgemm, Stream
from ...nodes.pairs import Pairs
from ...nodes.step import Step


@dataclass(frozen=True)
class StepMeans:
    """What steps are made from.

    Attributes:
        library: the BLAS that nodes use; None where there is none.
        repeats: runs of each benchmark.
    """

    search: SearchPaths
    library: BlasLibrary | None
    repeats: int


def _stream(means: StepMeans) -> Step:
    return Stream(build_node_bench(means.search), means.repeats)


def _dgemm(means: StepMeans) -> Step | None:
    library = means.library
    if library is None:
        return None
    return Dgemm(build_node_bench(means.search), library.path, library.symbol_prefix, means.repeats)


def _pairs(means: StepMeans) -> Step:
    return Pairs(build_node_pairs(means.search))


STEPS: Mapping[str, Callable[[StepMeans], Step | None]] = {"stream": _stream, "dgemm": _dgemm, "pairs": _pairs}
"""In the order of growing complexity, in which they run. None: this machine has not what the step needs."""
USUAL = ("stream", "dgemm", "pairs")
"""The steps that run where nobody chooses."""


def steps_named(names: Sequence[str], means: StepMeans) -> tuple[Step, ...]:
    """Make the steps with these names, or the usual ones.

    Raises:
        UsageError: there is no such step.
        HplError: the programs of a step cannot be built.
    """
    for name in names:
        if name not in STEPS:
            raise UsageError(f"--benchmark {name}: there is no such benchmark; it is one of {', '.join(STEPS)}")
    chosen = names or USUAL
    made = (make(means) for name, make in STEPS.items() if name in chosen)
    return tuple(step for step in made if step is not None)
