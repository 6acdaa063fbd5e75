"""Finds the BLAS libraries of this machine, and times their kernels. A new maker is one file and one line here."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..search_paths import SearchPaths
from .blis import Blis
from .catalogue import NAMED, Blas, BlasError, BlasLibrary, LibraryFile, NoSuchBlasError, Threading
from .family import BlasFamily, thread_variables
from .mkl import Mkl
from .nvblas import SETTINGS, NvBlas, completed, is_nvblas
from .openblas import PYPI, OpenBlas
from .plain import ATLAS, OTHER, REFERENCE
from .probe import HERE, Probe, ProbedCpu, Timing, ask, probe

FAMILIES: dict[str, BlasFamily] = {
    "openblas": OpenBlas(),
    "blis": Blis(),
    "mkl": Mkl(),
    "nvblas": NvBlas(),
    "atlas": ATLAS,
    "reference": REFERENCE,
    "other": OTHER,
}

CATALOGUE = (*(name for name in FAMILIES if name != OTHER.name), PYPI)
"""Names of libraries that some machine may have."""


def family(name: str) -> BlasFamily:
    """Return the maker of this name.

    Raises:
        KeyError: there is no such maker.
    """
    return FAMILIES[name]


def discover(search: SearchPaths, extra: Mapping[str, Path]) -> tuple[Blas, ...]:
    """Find the BLAS libraries of this machine.

    Libraries that do not load are skipped, but a library that the user named must load. A user's name means only his
    file; otherwise a build that was found under the same name could run in its place.

    Args:
        extra: files of the user, by the names he gave them.

    Raises:
        BlasError: a named library is missing, does not load, or is no BLAS that HPL can use.
    """
    libraries: list[BlasLibrary] = []
    for name, path in extra.items():
        if not path.is_file():
            raise NoSuchBlasError("there is no such file", field="blas", given=f"{name}={path}")
        libraries.append(describe(LibraryFile(name, path.resolve(), NAMED), search, maker=None))
    for maker in FAMILIES.values():
        for found in maker.candidates(search):
            if found.blas in extra:
                continue
            try:
                libraries.append(describe(found, search, maker=maker.name))
            except BlasError:
                continue
    return grouped(libraries)


def describe(found: LibraryFile, search: SearchPaths, maker: str | None) -> BlasLibrary:
    """Load a library file and describe it.

    Args:
        maker: its maker if the folder tells it; None takes the maker that its symbols show.

    Raises:
        BlasError: the file does not load or is no BLAS that HPL can use.
    """
    variables = thread_variables(1)
    if is_nvblas(found.path):
        found = completed(found, search)
        variables |= {SETTINGS: f"{found.settings}/auto"}
    answer = ask(found.path, variables, search, seconds=0.0)
    shown = str(answer["family"])
    return BlasLibrary(
        blas=found.blas,
        family=shown if maker is None or shown != "other" else maker,
        version=str(answer["version"]) or _version_in_name(found.path),
        path=found.path,
        threading=Threading(answer["threading"]),
        symbol_prefix=str(answer["symbol_prefix"]),
        origin=found.origin,
        kernel_ids=tuple(sorted(answer.get("kernel_ids", {}).items())),
        behind=found.behind,
        settings=found.settings,
    )


def grouped(libraries: Iterable[BlasLibrary]) -> tuple[Blas, ...]:
    """Group builds of one name and version as one BLAS; of several versions the first one counts."""
    groups: dict[str, list[BlasLibrary]] = {}
    for library in libraries:
        group = groups.setdefault(library.blas, [])
        if not group or group[0].version == library.version:
            group.append(library)
    return tuple(Blas(name, group[0].family, tuple(group)) for name, group in groups.items())


def _version_in_name(path: Path) -> str:
    """Read the version from a file name ("3.10.3" from libblas.so.3.10.3); "" where it has only a major version."""
    version = path.name.partition(".so.")[2]
    return version if version.count(".") >= 1 else ""


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
