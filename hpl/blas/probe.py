"""Asks a BLAS library, in a child process, what it is and how fast its dgemm is with each kernel."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..search import SearchPaths
from .catalogue import BlasError, BlasLibrary

CHILD = Path(__file__).with_name("probe_child.py")
TIMEOUT_S = 60.0
TIMING_S = 0.25
"""Time for repeating one product of about 10 ms: enough for the clock to rise and for a best that repeats."""
FORMAT = 2
"""Changed when cached answers of earlier versions cannot be used."""


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


def ask(path: Path, environment: Mapping[str, str], search: SearchPaths, seconds: float) -> dict[str, Any]:
    """The child's answer; kept in the cache as long as library, CPU and environment are the same.

    Raises:
        BlasError: the library does not load, crashes, hangs, or is no BLAS HPL can use.
    """
    cached = search.cache / "probes" / f"{_key(path, environment, seconds)}.json"
    try:
        answer = json.loads(cached.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        answer = _run_child(path, environment, seconds)
        _keep(cached, answer)
    if "error" in answer:
        raise BlasError(f"BLAS library {path} {answer['error']}")
    return dict(answer)


def probe(library: BlasLibrary, kernel: str, environment: Mapping[str, str], search: SearchPaths) -> Probe:
    """Time a kernel choice of a library.

    Args:
        environment: what makes the library take that kernel and one thread.

    Raises:
        BlasError: as in `ask`.
    """
    answer = ask(library.path, environment, search, TIMING_S)
    return Probe(library, kernel, str(answer["kernel"]), float(answer["gflops"]))


def _run_child(path: Path, environment: Mapping[str, str], seconds: float) -> dict[str, Any]:
    argument = json.dumps({"path": str(path), "seconds": seconds})
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(CHILD), argument],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"did not answer within {TIMEOUT_S:.0f} s"}
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else f"ended with {done.returncode}"
        return {"error": f"crashed when it was loaded or called ({reason})"}
    return answer


def _key(path: Path, environment: Mapping[str, str], seconds: float) -> str:
    stat = path.stat()
    identity = [FORMAT, str(path), stat.st_size, stat.st_mtime_ns, sorted(environment.items()), seconds, _cpu()]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    names = ("model name", "model", "cpu family", "stepping", "CPU part", "flags")
    return "|".join(line for line in lines[:40] if line.startswith(names))


def _keep(cached: Path, answer: Mapping[str, Any]) -> None:
    """Write the answer beside the cache and move it there; a cache that cannot be written only costs time."""
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        draft = cached.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(answer), encoding="utf-8")
        draft.replace(cached)
    except OSError:
        return
