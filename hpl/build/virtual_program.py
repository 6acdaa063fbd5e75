"""Builds the simulated xhpl: HPL's own source with our costs in place of its arithmetic, linked by SimGrid's smpicc."""

import os
from pathlib import Path

from ..search_paths import SearchPaths
from .compiling import OnStep, built_once, digest, in_parallel, run_compiler
from .programs import NATIVE, OWN_FLAGS, ROUTINES, Xhpl, header_flags
from .simgrid import SimGrid
from .source import HplSource

VIRTUAL = NATIVE / "virtual"
FLAGS = (
    "-O2",
    "-DSMPI_NO_OVERRIDE_MALLOC",
    "-DHPL_CALL_CBLAS",
    "-DHPL_NO_MPI_DATATYPE",
    "-DHPL_DETAILED_TIMING",
    *(f"-Dcblas_{name}=virtual_{name}" for name in ROUTINES),
)
"""HPL calls C's BLAS and sends arrays, not MPI datatypes. libsimgrid has a BLAS of its own, so ours is renamed."""
REPLACED = (
    *(f"HPL_dlaswp{name}" for name in ("00N", "01N", "01T", "02N", "03N", "03T", "04N", "04T", "05N", "05T")),
    *("HPL_dlaswp06N", "HPL_dlaswp06T", "HPL_dlaswp10N", "HPL_dlacpy", "HPL_dlatcpy", "HPL_dlocswpN", "HPL_dlocswpT"),
    *("HPL_dlocmax", "HPL_pdmatgen", "HPL_ptimer", "HPL_ptimer_walltime", "HPL_ptimer_cputime"),
)
"""HPL's files that ours replace: they work on the matrix or read the clock."""
WRAPPED = (
    *("MPI_Send", "MPI_Ssend", "MPI_Issend", "MPI_Isend", "MPI_Recv", "MPI_Irecv", "MPI_Wait", "MPI_Iprobe"),
    *("HPL_pipid", "HPL_pdmxswp", "HPL_pdlaswp00N", "HPL_pdlaswp00T", "HPL_pdlaswp01N", "HPL_pdlaswp01T", "HPL_binit"),
    *("malloc", "free"),
)


def build_virtual(source: HplSource, simgrid: SimGrid, search: SearchPaths, on_step: OnStep | None = None) -> Xhpl:
    """Build the simulated xhpl of a source, or take it from the cache; several processes may build at the same time.

    Raises:
        BuildError: compiling or linking failed, or the cache cannot be written.
    """
    own = [*sorted(VIRTUAL.glob("*.c")), NATIVE / "progress.c", *source.more]
    texts = [path.read_text(encoding="utf-8") for path in (*own, VIRTUAL / "virtual.h", NATIVE / "mpi1_compat.h")]
    key = digest(
        [source.kind, source.digest, simgrid.version, str(simgrid.smpicc), *FLAGS, *REPLACED, *WRAPPED, *texts]
    )
    folder = search.cache / "builds" / f"virtual-{key}"
    xhpl = Xhpl(folder / "xhpl-virtual", key, folder / "build.log")
    built_once(xhpl.path, lambda: _build(source, simgrid, own, xhpl, on_step or (lambda *_: None)))
    return xhpl


def _build(source: HplSource, simgrid: SimGrid, own: list[Path], xhpl: Xhpl, step: OnStep) -> None:
    folder = xhpl.path.parent
    theirs = sorted(
        path
        for part in ("src", "testing/ptest", "testing/ptimer", "testing/pmatgen")
        for path in (source.root / part).rglob("*.c")
        if path.stem not in REPLACED and path.parent.name != "blas"
    )
    headers = header_flags(source)
    jobs = [(path, folder / f"{path.parent.name}-{path.stem}.o", ("-w", *FLAGS)) for path in theirs]
    jobs += [(path, folder / f"own-{path.stem}.o", (*OWN_FLAGS, *FLAGS)) for path in own]

    def compile_one(job: tuple[Path, Path, tuple[str, ...]]) -> None:
        path, target, flags = job
        run_compiler([str(simgrid.smpicc), *flags, *headers, "-c", str(path), "-o", str(target)], os.environ, xhpl.log)

    in_parallel(compile_one, jobs, lambda job: f"compiling {job[0].name} for SimGrid", step)
    step("linking the simulated xhpl", 1, 1)
    wrapped = (*WRAPPED, *source.wrapped)
    draft = folder / "draft"
    program = ["-o", str(draft), *(str(target) for _, target, _ in jobs), *(f"-Wl,--wrap={name}" for name in wrapped)]
    run_compiler([str(simgrid.smpicc), *program, "-Wl,-Bsymbolic", "-ldl"], os.environ, xhpl.log)
    draft.replace(xhpl.path)
