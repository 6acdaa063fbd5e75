"""Builds xhpl: compiles HPL once for each source, MPI and compiler, and links one program for each BLAS."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..blas.catalogue import BlasLibrary
from ..errors import HplError
from ..search_paths import SearchPaths
from .link import link_arguments
from .source import HplSource
from .toolchain import (
    BuildError,
    Mpi,
    OnStep,
    built_once,
    compile_all,
    compiler_version,
    digest,
    program_output,
    run_compiler,
)

__all__ = ["BuildError", "Recipe", "Xhpl", "build", "build_calibrator", "build_start", "witness_library"]

NATIVE = Path(__file__).parents[1] / "native"
FLAGS: tuple[str, ...] = (
    "-O3",
    "-w",
    "-DAdd_",
    "-DF77_INTEGER=int",
    "-DStringSunStyle",
    "-DHPL_DETAILED_TIMING",
)
"""The conventions of a gfortran-compatible BLAS (one underscore, int integers, string lengths as last arguments), and
HPL's own timers of its phases."""
MAINS = ("hpcc_main", "HPL_pddriver", "HPL_pdinfo", "solves")
"""Files for a main program that reads HPL.dat; the calibrator has its own, and tells of no solve."""
WITNESS = ("witness", "conditions", "node", "counters")
"""Our sources of what each rank tells of itself and its node."""
WRAPPED = ("HPL_binit", "HPL_ptimer_cputime", "HPL_ptimer_boot", "HPL_barrier", "HPL_pdgesv", "HPL_ptimer_combine")
"""Functions of HPL that `native/progress.c` and `native/solves.c` stand in front of."""
PROGRAMS = ("calibrate", "node_pairs", "start")
"""Our sources of programs besides xhpl."""
OWN_FLAGS = ("-O2", "-Wall", "-Wextra")
ROUTINES = ("dgemm", "dtrsm", "dgemv", "dger", "dtrsv", "daxpy", "dcopy", "dscal", "dswap", "idamax")
"""The BLAS routines that HPL calls, only in the files of src/blas."""


@dataclass(frozen=True)
class Recipe:
    """The source, MPI and BLAS from which a program is built."""

    source: HplSource
    mpi: Mpi
    library: BlasLibrary


@dataclass(frozen=True)
class Xhpl:
    """A built program; `key` identifies everything it was built from, and `log` is the compiler's output."""

    path: Path
    key: str
    log: Path


def build(recipe: Recipe, search: SearchPaths, on_step: OnStep | None = None) -> Xhpl:
    """Build the program of a recipe, or take it from the cache; several processes may build at the same time.

    Args:
        on_step: called with a phrase for the step, its number, and the number of steps.

    Raises:
        BuildError: compiling or linking failed, or the cache cannot be written.
        ToolchainError: mpicc does not run.
    """
    common = _common_key(recipe)
    key = digest([common, *_library_identity(recipe.library)])
    folder = search.cache / "builds" / common / key
    xhpl = Xhpl(folder / "xhpl", key, folder / "build.log")
    step = on_step or (lambda *_: None)

    def make() -> None:
        objects = _objects(recipe, folder.parent, step)
        step(f"linking xhpl with {recipe.library.path.name}", 1, 1)
        _link(recipe, search, objects, folder)

    built_once(xhpl.path, make, folder.parent)
    return xhpl


def build_calibrator(recipe: Recipe, search: SearchPaths, on_step: OnStep | None = None) -> Xhpl:
    """Build the program that times HPL's routines with this BLAS (native/calibrate.c), or take it from the cache.

    Raises:
        BuildError: compiling or linking failed.
    """
    xhpl = build(recipe, search, on_step)
    common = xhpl.path.parent.parent
    text = (NATIVE / "calibrate.c").read_text(encoding="utf-8")
    program = xhpl.path.with_name(f"calibrate-{digest([text])}")

    def make() -> None:
        objects = [path for path in _objects(recipe, common, lambda *_: None) if path.stem not in MAINS]
        arguments = link_arguments(recipe.library, search, program.parent, program.parent)
        flags = [*FLAGS, *OWN_FLAGS, *header_flags(recipe.source), "-Wl,--wrap=HPL_binit"]
        sources = [str(NATIVE / "calibrate.c"), *map(str, objects)]
        _compile(recipe.mpi, [*flags, *sources, *arguments, "-pthread", "-ldl", "-lm"], program, xhpl.log)

    return Xhpl(built_once(program, make, common), xhpl.key, xhpl.log)


def witness_library(mpi: Mpi, search: SearchPaths) -> Path | None:
    """Build the witness as a library to preload into a user's program; None where it cannot be compiled."""
    sources = [NATIVE / f"{name}.c" for name in WITNESS]
    try:
        texts = [path.read_text(encoding="utf-8") for path in (*sources, NATIVE / "conditions.h")]
        key = digest([*texts, compiler_version(mpi)])
        path = search.cache / "builds" / f"witness-{key}.so"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            arguments = [*OWN_FLAGS, "-shared", "-fPIC", *map(str, sources), "-pthread", "-ldl"]
            _compile(mpi, arguments, path, path.with_suffix(".log"))
    except (HplError, OSError):
        return None
    return path


def build_start(mpi: Mpi, search: SearchPaths) -> Path:
    """Build the smallest MPI program (native/start.c), or take it from the cache.

    Raises:
        BuildError: compiling failed, or the cache cannot be written.
        ToolchainError: mpicc does not run.
    """
    source = NATIVE / "start.c"
    key = digest([source.read_text(encoding="utf-8"), mpi.name, mpi.version, str(mpi.mpicc), compiler_version(mpi)])
    path = search.cache / "builds" / f"start-{key}" / "start"
    log = path.with_name("build.log")
    return built_once(path, lambda: _compile(mpi, [*OWN_FLAGS, str(source)], path, log))


def header_flags(source: HplSource) -> list[str]:
    """Return the flags for a source's headers, and for ours that replaces functions of MPI-1."""
    folders = [source.root / "include", *([source.include] if source.include is not None else [])]
    return [*(f"-I{folder}" for folder in folders), "-include", str(NATIVE / "mpi1_compat.h")]


def _objects(recipe: Recipe, folder: Path, step: OnStep) -> list[Path]:
    """Compile HPL's missing objects into `folder`; those of src/blas once for each prefix of BLAS symbols."""
    prefix = recipe.library.symbol_prefix
    renames = [f"-D{name}_={prefix}{name}_" for name in ROUTINES] if prefix else []
    root = recipe.source.root
    blas = sorted((root / "src/blas").glob("*.c"))
    rest = sorted(path for part in ("src", "testing") for path in (root / part).rglob("*.c") if path not in blas)
    own = [NATIVE / f"{name}.c" for name in ("progress", "solves", *WITNESS)] + list(recipe.source.more)
    jobs = [(path, "hpl", FLAGS) for path in rest]
    jobs += [(path, f"blas-{prefix or 'plain'}", (*FLAGS, *renames)) for path in blas]
    jobs += [(path, "own", OWN_FLAGS) for path in own]
    headers = header_flags(recipe.source)
    plan = [(path, folder / kind / f"{path.stem}.o", flags) for path, kind, flags in jobs]
    missing = [job for job in plan if not job[1].is_file()]
    compile_all(missing, partial(_compile, recipe.mpi, log=folder / "build.log"), headers, step)
    return [target for _, target, _ in plan]


def _link(recipe: Recipe, search: SearchPaths, objects: Iterable[Path], folder: Path) -> None:
    """Link in a draft folder and move it into place, so that an existing folder always holds a complete program."""
    wraps = [f"-Wl,--wrap={name}" for name in (*WRAPPED, *recipe.source.wrapped)]
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".linking-"))
    try:
        arguments = link_arguments(recipe.library, search, draft, folder)
        words = [*map(str, objects), *wraps, *arguments, "-pthread", "-ldl", "-lm"]
        _compile(recipe.mpi, words, draft / "xhpl", draft / "build.log")
        facts = {
            "source": f"{recipe.source.kind} {recipe.source.version} ({recipe.source.origin})",
            "mpi": f"{recipe.mpi.name} {recipe.mpi.version} ({recipe.mpi.origin})",
            "compiler": compiler_version(recipe.mpi),
            "blas": f"{recipe.library.family} {recipe.library.version} {recipe.library.path}",
            "flags": list(FLAGS),
        }
        (draft / "recipe.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        draft.chmod(0o755)
        draft.replace(folder)
    except BuildError:
        shutil.copy(draft / "build.log", folder.parent / "link.log")
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _compile(mpi: Mpi, arguments: Sequence[str], target: Path, log: Path) -> None:
    """Run mpicc; OMPI_LIBS comes last and undoes the --enable-new-dtags with which Open MPI 5 ends its link lines.

    Raises:
        BuildError: mpicc failed.
    """
    last = {"OMPI_LIBS": "-lmpi -Wl,--disable-new-dtags"} if mpi.name == "openmpi" else {}
    run_compiler([str(mpi.mpicc), *arguments], target, {**mpi.variables(), **last}, log)


def _common_key(recipe: Recipe) -> str:
    natives = [file.read_text(encoding="utf-8") for file in sorted(NATIVE.glob("*.[ch]")) if file.stem not in PROGRAMS]
    mpi = recipe.mpi
    stands_for = program_output([str(mpi.mpicc), "-show"], mpi.variables()).strip()
    identity = [recipe.source.kind, recipe.source.digest, mpi.name, mpi.version, str(mpi.mpicc), stands_for]
    return digest([*identity, compiler_version(mpi), *FLAGS, *OWN_FLAGS, *natives])


def _library_identity(library: BlasLibrary) -> list[str]:
    try:
        stat = library.path.stat()
    except OSError as error:
        raise BuildError(f"the BLAS library {library.path} is gone: {error.strerror}") from error
    behind = [] if library.behind is None else [str(library.behind)]
    return [str(library.path), str(stat.st_size), str(stat.st_mtime_ns), library.symbol_prefix, *behind]
