"""Times every kernel of a BLAS that a CPU can run."""

from ..search_paths import SearchPaths
from .catalogue import Blas, BlasError
from .probe import HERE, Probe, ProbedCpu, Timing, probe
from .registry import family


def kernel_survey(
    blas: Blas, flags: frozenset[str], search: SearchPaths, timing: Timing, cpu: ProbedCpu = HERE
) -> tuple[Probe, ...]:
    """Time every kernel that a CPU can run and the library's own choice; return the fastest first.

    Kernels that the library does not know, silently replaces or crashes with are left out.

    Args:
        flags: the CPU's instruction sets, as /proc/cpuinfo names them.
        cpu: where kernels are timed.

    Raises:
        NotTimedError: a timing is not cached, and `timing` is NEVER.
        BlasError: not even the library's own choice runs.
    """
    library = blas.library(1)
    maker = family(library.family)
    probes = [probe(library, "auto", maker.environment("auto", 1, library), search, timing, cpu)]
    for kernel in maker.kernels(flags, library):
        try:
            result = probe(library, kernel, maker.environment(kernel, 1, library), search, timing, cpu)
        except BlasError:
            continue
        if maker.asked_matches(kernel, result.kernel_used):
            probes.append(result)
    return tuple(sorted(probes, key=lambda result: -result.gflops))
