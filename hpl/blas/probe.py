"""Loads a BLAS library in a child process to learn its facts and the speed of its dgemm with each kernel."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from ..child import run_child
from ..search_paths import SearchPaths
from .catalogue import BlasError, BlasLibrary, library_path
from .family import inherited_choices

CHILD = Path(__file__).with_name("probe_child.py")
TIMEOUT_S = 60.0
NO_ANSWER = f"did not answer within {TIMEOUT_S:.0f} s"
NO_RATE = "is said to have a rate that no core has"
CPU_LINES = 40
"""Lines of /proc/cpuinfo that tell what the first CPU is."""
TIMING_S = 0.25
"""Time to repeat one product of about 10 ms: long enough for the clock to rise and for a stable best."""
FORMAT = 4
"""Version of the cached answers; it changes when earlier ones cannot be used."""


class Timing(Enum):
    """Which cached timings count; those of a busy machine are provisional: other programs shared caches and clock."""

    QUIET = "those of a quiet machine, as it is now; the others are timed anew"
    BUSY = "all; a new one is kept until the machine is quiet"
    NEVER = "all; what was not timed is not timed now"


class NotTimedError(BlasError):
    """A kernel has no cached timing, and none may be made now."""


@dataclass(frozen=True)
class Probe:
    """One kernel choice of one library, timed on one core.

    Attributes:
        kernel: the kernel that was asked for; "auto" for the library's own choice.
        kernel_used: the kernel that the library says it runs; "" where it does not tell.
        gflops: the best rate of dgemm at HPL's shape within about 0.25 s.
    """

    library: BlasLibrary
    kernel: str
    kernel_used: str
    gflops: float


class ProbedCpu(Protocol):
    """A CPU on which libraries are asked."""

    def identity(self, path: Path) -> Sequence[object]:
        """Return what identifies this CPU and the library that it has; answers are cached by it.

        Raises:
            BlasError: the file cannot be read.
        """
        ...

    def run_child(self, path: Path, variables: Mapping[str, str], seconds: float) -> dict[str, Any]:
        """Run the child on this CPU and return its answer, with "error" where it failed."""
        ...


class ThisCpu:
    """The CPU of this host."""

    @property
    def cpu(self) -> str:
        """Return what tells it from others."""
        return cpu_identity(_cpuinfo())

    def identity(self, path: Path) -> Sequence[object]:
        """Return the file with its size and its time, and the CPU."""
        return [*file_identity(path), self.cpu]

    def run_child(self, path: Path, variables: Mapping[str, str], seconds: float) -> dict[str, Any]:
        """Run the child here."""
        try:
            line = [sys.executable, "-I", "-S", str(CHILD), child_argument(str(path), seconds)]
            done = run_child(line, {**os.environ, **variables}, timeout_s=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return {"error": NO_ANSWER}
        return child_answer(done.returncode, done.stdout, done.stderr)


HERE = ThisCpu()


def ask(
    path: Path,
    environment: Mapping[str, str],
    search: SearchPaths,
    seconds: float,
    timing: Timing = Timing.QUIET,
    cpu: ProbedCpu = HERE,
) -> dict[str, Any]:
    """Return the child's answer; it is cached as long as library, CPU and environment are the same.

    Failures are not cached: something that a library misses may be installed the next minute.

    Raises:
        NotTimedError: the answer is not cached, and `timing` is NEVER.
        BlasError: the library does not load, crashes, hangs, or is no BLAS HPL can use.
    """
    variables = {**environment, **library_path(path, search)}
    cached = search.cache / "probes" / f"{_key(cpu.identity(path), variables, seconds)}.json"
    kept = _kept(cached)
    if kept and not (kept["busy"] and timing is Timing.QUIET):
        return kept
    if timing is Timing.NEVER:
        raise NotTimedError(f"BLAS library {path} has not been timed")
    answer = cpu.run_child(path, variables, seconds)
    if "error" in answer or not ((rate := answer.get("gflops")) is None or 1e-3 <= float(rate) <= 1e6):
        raise BlasError(f"BLAS library {path} {answer.get('error', NO_RATE)}")
    _keep(cached, {**answer, "busy": timing is Timing.BUSY})
    return answer


def probe(
    library: BlasLibrary,
    kernel: str,
    environment: Mapping[str, str],
    search: SearchPaths,
    timing: Timing,
    cpu: ProbedCpu = HERE,
) -> Probe:
    """Time a kernel choice of a library.

    Args:
        environment: the variables that make the library use this kernel and one thread.
        cpu: where.

    Raises:
        NotTimedError, BlasError: as in `ask`.
    """
    answer = ask(library.path, environment, search, TIMING_S, timing, cpu)
    return Probe(library, kernel, str(answer["kernel"]), float(answer["gflops"]))


def child_argument(path: str, seconds: float) -> str:
    """Return the child's only argument."""
    return json.dumps({"path": path, "seconds": seconds})


def child_answer(returncode: int, stdout: str, stderr: str) -> dict[str, Any]:
    """Read what a child printed.

    Args:
        returncode: its exit code, or its signal below 0.
    """
    try:
        answer: dict[str, Any] = json.loads(stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": f"crashed when it was loaded or called ({_end(returncode, stderr)})"}
    return answer


def _end(returncode: int, stderr: str) -> str:
    """Say how a child ended: its signal, or the last line of its standard error."""
    if -returncode == signal.SIGILL:
        return "SIGILL: an instruction this CPU does not have"
    if returncode < 0:
        lines = [line for line in stderr.splitlines() if line.strip()]
        return ": ".join([signal.Signals(-returncode).name, *lines[-2:-1], *lines[-1:]])
    return stderr.strip().splitlines()[-1] if stderr.strip() else f"exit code {returncode}"


def _key(identity: Sequence[object], variables: Mapping[str, str], seconds: float) -> str:
    chosen = sorted({**inherited_choices(os.environ), **variables}.items())
    return hashlib.sha256(json.dumps([FORMAT, *identity, chosen, seconds]).encode()).hexdigest()[:32]


def file_identity(path: Path) -> list[object]:
    """Return what tells a file of this host from others: path, size, time of its last change.

    Raises:
        BlasError: it cannot be read.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise BlasError(f"BLAS library {path} cannot be read: {error.strerror}") from error
    return [str(path), stat.st_size, stat.st_mtime_ns]


def cpu_identity(cpuinfo: str) -> str:
    """Return what tells a CPU from others: model, stepping and instruction sets, from the text of /proc/cpuinfo."""
    names = ("model name", "model", "cpu family", "stepping", "CPU part", "flags")
    return "|".join(line for line in cpuinfo.splitlines()[:CPU_LINES] if line.startswith(names))


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _kept(cached: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(cached.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _keep(cached: Path, answer: Mapping[str, Any]) -> None:
    """Write the answer into the cache in one step; a cache that cannot be written only costs time."""
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        draft = cached.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        draft.write_text(json.dumps(answer), encoding="utf-8")
        draft.replace(cached)
    except OSError:
        return
