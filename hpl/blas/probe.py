"""Asks a BLAS library, in a child process, what it is and how fast its dgemm is with each kernel."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ..child import run_child
from ..search_paths import SearchPaths
from .catalogue import BlasError, BlasLibrary
from .family import inherited_choices
from .places import library_folders

CHILD = Path(__file__).with_name("probe_child.py")
TIMEOUT_S = 60.0
TIMING_S = 0.25
"""Time for repeating one product of about 10 ms: enough for the clock to rise and for a best that repeats."""
FORMAT = 4
"""Changed when cached answers of earlier versions cannot be used."""


class Timing(Enum):
    """Which kept timings count: other programs share caches and clock, so what was timed beside them is passing."""

    QUIET = "those of a quiet machine, as it is now; the others are timed anew"
    BUSY = "all; a new one is kept until the machine is quiet"
    NEVER = "all; what was not timed is not timed now"


class NotTimedError(BlasError):
    """Nothing is kept of a kernel, and nothing was to be timed."""


@dataclass(frozen=True)
class Probe:
    """One kernel choice of one library, timed on one core.

    Attributes:
        kernel: what was asked, "auto" for the library's own choice.
        kernel_used: what the library says it runs; "" where it does not tell.
        gflops: dgemm at HPL's shape, best of about 0.25 s.
    """

    library: BlasLibrary
    kernel: str
    kernel_used: str
    gflops: float


def ask(
    path: Path, environment: Mapping[str, str], search: SearchPaths, seconds: float, timing: Timing = Timing.QUIET
) -> dict[str, Any]:
    """The child's answer; kept in the cache as long as library, CPU and environment are the same.

    Failures are not kept: what a library was missing may be installed the next minute.

    Raises:
        NotTimedError: it is not kept, and nothing shall be timed.
        BlasError: the library does not load, crashes, hangs, or is no BLAS HPL can use.
    """
    variables = {**environment, **_library_path(path, search)}
    cached = search.cache / "probes" / f"{_key(path, variables, seconds)}.json"
    kept = _kept(cached)
    if kept and not (kept["busy"] and timing is Timing.QUIET):
        return kept
    if timing is Timing.NEVER:
        raise NotTimedError(f"BLAS library {path} has not been timed")
    answer = _run_child(path, variables, seconds)
    if "error" in answer:
        raise BlasError(f"BLAS library {path} {answer['error']}")
    _keep(cached, {**answer, "busy": timing is Timing.BUSY})
    return answer


def probe(
    library: BlasLibrary, kernel: str, environment: Mapping[str, str], search: SearchPaths, timing: Timing
) -> Probe:
    """Time a kernel choice of a library.

    Args:
        environment: what makes the library take that kernel and one thread.

    Raises:
        NotTimedError, BlasError: as in `ask`.
    """
    answer = ask(library.path, environment, search, TIMING_S, timing)
    return Probe(library, kernel, str(answer["kernel"]), float(answer["gflops"]))


def _run_child(path: Path, variables: Mapping[str, str], seconds: float) -> dict[str, Any]:
    argument = json.dumps({"path": str(path), "seconds": seconds})
    try:
        line = [sys.executable, "-I", "-S", str(CHILD), argument]
        done = run_child(line, {**os.environ, **variables}, timeout_s=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return {"error": f"did not answer within {TIMEOUT_S:.0f} s"}
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": f"crashed when it was loaded or called ({_end(done.returncode, done.stderr)})"}
    return answer


def _end(returncode: int, stderr: str) -> str:
    """How a child ended: the signal, or its last words."""
    if -returncode == signal.SIGILL:
        return "SIGILL: an instruction this CPU does not have"
    if returncode < 0:
        said = [line for line in stderr.splitlines() if line.strip()]
        return ": ".join([signal.Signals(-returncode).name, *said[-2:-1], *said[-1:]])
    return stderr.strip().splitlines()[-1] if stderr.strip() else f"exit code {returncode}"


def _library_path(path: Path, search: SearchPaths) -> dict[str, str]:
    """Unpacked packages find each other's libraries only when they are told where."""
    if search.debs is None or not path.is_relative_to(search.debs.resolve()):
        return {}
    folders = [str(folder) for folder in library_folders(search)]
    return {"LD_LIBRARY_PATH": ":".join([*folders, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}


def _key(path: Path, variables: Mapping[str, str], seconds: float) -> str:
    try:
        stat = path.stat()
    except OSError as error:
        raise BlasError(f"BLAS library {path} cannot be read: {error.strerror}") from error
    chosen = sorted({**inherited_choices(os.environ), **variables}.items())
    identity = [FORMAT, str(path), stat.st_size, stat.st_mtime_ns, chosen, seconds, _cpu()]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    names = ("model name", "model", "cpu family", "stepping", "CPU part", "flags")
    return "|".join(line for line in lines[:40] if line.startswith(names))


def _kept(cached: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(cached.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _keep(cached: Path, answer: Mapping[str, Any]) -> None:
    """Write the answer beside the cache and move it there; a cache that cannot be written only costs time."""
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        draft = cached.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        draft.write_text(json.dumps(answer), encoding="utf-8")
        draft.replace(cached)
    except OSError:
        return
