"""Finds SimGrid's SMPI, an MPI whose ranks run in one process and in virtual time, and builds the simulated xhpl.

That is HPL's own source with our costs in place of its arithmetic, linked by SimGrid's smpicc.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from ..blas.catalogue import library_path
from ..errors import HplError
from ..search_paths import SearchPaths
from .programs import NATIVE, OWN_FLAGS, ROUTINES, Xhpl, header_flags
from .source import HplSource
from .toolchain import (
    BuildError,
    CompileJob,
    OnStep,
    built_once,
    c_compiler,
    compile_all,
    digest,
    program_output,
    run_compiler,
)

ADVICE = "`hpltune setup ⟦with⟧ simgrid` installs it (Debian and Ubuntu: libsimgrid-dev)"
ARGUMENTS = "@arguments@"
"""Stands for the arguments in the command line that smpicc shows."""

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
    """SimGrid is missing or cannot be used."""


@dataclass(frozen=True)
class SimGrid:
    """An installed SimGrid.

    Attributes:
        smpicc: its script that compiles C for it.
        compiler: the C compiler that smpicc calls, or another one of this machine where that is missing.
        smpimain: the program that runs simulated programs.
        environment: variables that smpimain needs when it runs from the private prefix.
        root: the folder that stands for `/` in the paths that smpicc names; "" outside the private prefix.
    """

    version: str
    smpicc: Path
    compiler: str
    smpimain: Path
    environment: Mapping[str, str]
    root: str = ""

    def compile(self, arguments: Sequence[str], target: Path, log: Path) -> None:
        """Compile or link as smpicc does.

        Raises:
            BuildError: it failed; the sentence names the SimGrid.
        """
        show = [str(self.smpicc), "-show", *(["-c"] if "-c" in arguments else []), ARGUMENTS]
        try:
            shown = program_output(show, os.environ).partition(ARGUMENTS)
            before, _, after = ([word.replace("/usr/", f"{self.root}/usr/") for word in part.split()] for part in shown)
            run_compiler([self.compiler, *before[1:], *arguments, *after], target, os.environ, log)
        except HplError as error:
            raise BuildError(f"found SimGrid {self.version} ({self.smpicc}), but {error}") from error


def find_simgrid(search: SearchPaths) -> SimGrid:
    """Find the SimGrid on PATH or in the private prefix.

    Raises:
        SimGridError: there is none, and the sentence says how to get one; or it cannot be used, and it says why.
    """
    found = simgrid_here(search)
    if found is None:
        raise SimGridError(f"virtual clusters need SimGrid, which is not here: {ADVICE}")
    return found


def simgrid_here(search: SearchPaths) -> SimGrid | None:
    """Find the SimGrid on PATH or in the private prefix; None where there is none.

    Raises:
        SimGridError: there is one, but it cannot be used.
    """
    faults = []
    for folders in (None, *([f"{search.debs}/usr/bin"] if search.debs else [])):
        smpicc, smpirun = (shutil.which(name, path=folders) for name in ("smpicc", "smpirun"))
        if smpicc and smpirun:
            script = Path(smpicc).read_text(encoding="utf-8", errors="replace")
            version = next(iter(re.findall(r"SimGrid version (\d+\.\d+)", script)), "of an unknown version")
            try:
                return _whole(version, Path(smpicc).resolve(), Path(smpirun), search)
            except HplError as error:
                faults.append(f"found SimGrid {version} ({smpicc}), but {error}")
    if faults:
        raise SimGridError(faults[0])
    return None


def _whole(version: str, smpicc: Path, smpirun: Path, search: SearchPaths) -> SimGrid:
    """Find the parts that belong to a smpicc.

    Raises:
        SimGridError, ToolchainError: one of them is missing.
    """
    environment = library_path(smpicc, search)
    root = str(search.debs) if environment else ""
    shown = program_output([str(smpicc), "-show"], os.environ)
    compiler = shutil.which(shown.partition(" ")[0]) or c_compiler(search)
    script = smpirun.read_text(encoding="utf-8", errors="replace")
    named = (Path(root + path) for path in re.findall(r"/[^\s\"']*/smpimain", script))
    beside = smpirun.resolve().parent.parent.glob("lib*/**/simgrid/smpimain")
    smpimain = next((path for path in chain(named, beside) if path.is_file()), None)
    if smpimain is None:
        raise SimGridError(f"there is no smpimain beside {smpirun}: install all of it again")
    return SimGrid(version, smpicc, compiler, smpimain, environment, root)


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
        [
            source.kind,
            source.digest,
            simgrid.version,
            str(simgrid.smpicc),
            simgrid.compiler,
            *FLAGS,
            *REPLACED,
            *WRAPPED,
            *texts,
        ]
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
    jobs: list[CompileJob] = [(path, folder / f"{path.parent.name}-{path.stem}.o", ("-w", *FLAGS)) for path in theirs]
    jobs += [(path, folder / f"own-{path.stem}.o", (*OWN_FLAGS, *FLAGS)) for path in _own(source)]
    run = partial(simgrid.compile, log=xhpl.log)
    objects = compile_all(jobs, run, headers, step)
    step("linking the simulated xhpl", 1, 1)
    wraps = [f"-Wl,--wrap={name}" for name in (*WRAPPED, *source.wrapped)]
    run([*objects, *wraps, "-Wl,-Bsymbolic", "-ldl"], xhpl.path)
