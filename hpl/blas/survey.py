"""Times every kernel of a BLAS that this CPU can run."""

from ..search_paths import SearchPaths
from .catalogue import Blas, BlasError
from .probe import Probe, Timing, probe
from .registry import family


def kernel_survey(blas: Blas, flags: frozenset[str], search: SearchPaths, timing: Timing) -> tuple[Probe, ...]:
    """Time every kernel this CPU can run, the library's own choice included; fastest first.

    Choices the library does not know, silently replaces or crashes with are left out.

    Args:
        flags: instruction sets of the CPU, as /proc/cpuinfo names them.

    Raises:
        NotTimedError: nothing is kept of it, and nothing shall be timed.
        BlasError: not even the library's own choice runs.
    """
    library = blas.library(1)
    maker = family(library.family)
    found = [probe(library, "auto", maker.environment("auto", 1, library), search, timing)]
    for kernel in maker.kernels(flags, library):
        try:
            result = probe(library, kernel, maker.environment(kernel, 1, library), search, timing)
        except BlasError:
            continue
        if maker.asked_matches(kernel, result.kernel_used):
            found.append(result)
    return tuple(sorted(found, key=lambda result: -result.gflops))
