"""Finds SimGrid's SMPI, an MPI whose ranks run in one process and in virtual time, and builds the simulated xhpl.

That is HPL's own source with our costs in place of its arithmetic, linked by SimGrid's smpicc.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import HplError
from ..search_paths import SearchPaths
from .programs import NATIVE, OWN_FLAGS, ROUTINES, Xhpl, header_flags
from .source import HplSource
from .toolchain import OnStep, built_once, digest, in_parallel, run_compiler

OLDEST, NEWEST = (3, 32), (3, 36)
"""Tested with 3.32 (Debian 12); the C functions and options that we use have the same names up to 3.36 (Debian 13)."""
ADVICE = "`hpltune setup ⟦with⟧ simgrid` installs it (Debian and Ubuntu: libsimgrid-dev)"

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
    *("HPL_pdfact", "HPL_bcast", "HPL_bwait"),
    *("malloc", "free"),
)


class SimGridError(HplError):
    """SimGrid is missing, or its version is not supported."""


@dataclass(frozen=True)
class SimGrid:
    """An installed SimGrid: its compiler wrapper, and the program that runs simulated programs."""

    version: str
    smpicc: Path
    smpimain: Path


def find_simgrid() -> SimGrid:
    """Find the SimGrid on PATH.

    Raises:
        SimGridError: there is none, or its version is not supported; the sentence says how to get one.
    """
    smpicc, smpirun = shutil.which("smpicc"), shutil.which("smpirun")
    if smpicc is None or smpirun is None:
        raise SimGridError(f"virtual clusters need SimGrid, which is not here: {ADVICE}")
    script = Path(smpirun).read_text(encoding="utf-8", errors="replace")
    version_text = re.search(r"SimGrid version (\d+)\.(\d+)\S*", script)
    if version_text is None:
        raise SimGridError(f"{smpirun} does not say which SimGrid it belongs to: {ADVICE}")
    version = (int(version_text[1]), int(version_text[2]))
    shown = f"{version[0]}.{version[1]}"
    if not OLDEST <= version <= NEWEST:
        supported = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
        raise SimGridError(f"SimGrid {shown} ({smpirun}) does not fit: hpltune works with {supported}; {ADVICE}")
    smpimain = _smpimain(script, Path(smpirun))
    if smpimain is None:
        raise SimGridError(f"SimGrid {shown} is incomplete: there is no smpimain beside {smpirun}; {ADVICE}")
    return SimGrid(shown, Path(smpicc), smpimain)


def _smpimain(script: str, smpirun: Path) -> Path | None:
    named = (Path(path) for path in re.findall(r"/[^\s\"']*/smpimain", script))
    existing = next((path for path in named if path.is_file()), None)
    return existing or min(smpirun.resolve().parent.parent.glob("lib*/**/simgrid/smpimain"), default=None)


def build_virtual(source: HplSource, simgrid: SimGrid, search: SearchPaths, on_step: OnStep | None = None) -> Xhpl:
    """Build the simulated xhpl of a source, or take it from the cache; several processes may build at the same time.

    Raises:
        BuildError: compiling or linking failed, or the cache cannot be written.
    """
    xhpl = virtual_xhpl(source, simgrid, search)
    built_once(xhpl.path, lambda: _build(source, simgrid, xhpl, on_step or (lambda *_: None)))
    return xhpl


def virtual_xhpl(source: HplSource, simgrid: SimGrid, search: SearchPaths) -> Xhpl:
    """Where the simulated xhpl of a source is, or would be once it is built."""
    own = (*_own(source), VIRTUAL / "virtual.h", NATIVE / "mpi1_compat.h")
    texts = [path.read_text(encoding="utf-8") for path in own]
    key = digest(
        [source.kind, source.digest, simgrid.version, str(simgrid.smpicc), *FLAGS, *REPLACED, *WRAPPED, *texts]
    )
    folder = search.cache / "builds" / f"virtual-{key}"
    return Xhpl(folder / "xhpl-virtual", key, folder / "build.log")


def _own(source: HplSource) -> list[Path]:
    """Our files of the simulated xhpl."""
    return [*sorted(VIRTUAL.glob("*.c")), NATIVE / "progress.c", *source.more]


def _build(source: HplSource, simgrid: SimGrid, xhpl: Xhpl, step: OnStep) -> None:
    folder = xhpl.path.parent
    theirs = sorted(
        path
        for part in ("src", "testing/ptest", "testing/ptimer", "testing/pmatgen")
        for path in (source.root / part).rglob("*.c")
        if path.stem not in REPLACED and path.parent.name != "blas"
    )
    headers = header_flags(source)
    jobs = [(path, folder / f"{path.parent.name}-{path.stem}.o", ("-w", *FLAGS)) for path in theirs]
    jobs += [(path, folder / f"own-{path.stem}.o", (*OWN_FLAGS, *FLAGS)) for path in _own(source)]

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
