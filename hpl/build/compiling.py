"""Runs a compiler, keeps its output in a log, and reports its first error."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from ..child import run_child
from ..errors import HplError

OnStep = Callable[[str, int, int], None]
"""A callback with a phrase for the step, its number, and the number of steps."""
Job = TypeVar("Job")


class BuildError(HplError):
    """The compiler or the linker failed; the message is its first error, with the path of the whole log."""


def run_compiler(argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    """Run a compiler and append its output to a log.

    Raises:
        BuildError: the compiler failed or is missing.
    """
    try:
        done = run_child(argv, environment)
    except OSError as error:
        raise BuildError(f"cannot run {argv[0]}: {error.strerror}") from error
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(argv)}\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        raise BuildError(f"building xhpl failed: {_first_error(done.stderr)} (log: {_final_path(log)})")


def built_once(program: Path, make: Callable[[], None]) -> Path:
    """Return a program of the cache, made first where it is not there; several processes may ask at the same time.

    Args:
        make: puts the whole program in its place, in a folder that is there.

    Raises:
        BuildError: making it failed, or the cache cannot be written.
    """
    if program.is_file():
        return program
    folder = program.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not program.is_file():
                make()
    except OSError as error:
        raise BuildError(f"cannot build in {folder}: {error.strerror or error}") from error
    return program


def in_parallel(work: Callable[[Job], None], jobs: Sequence[Job], name: Callable[[Job], str], step: OnStep) -> None:
    """Do jobs on all cores, and call `step` after each."""
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for done, (job, _) in enumerate(zip(jobs, pool.map(work, jobs), strict=True), start=1):
            step(name(job), done, len(jobs))


def digest(parts: Iterable[str]) -> str:
    """Hash texts to a short key."""
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part.encode() + b"\0")
    return sha256.hexdigest()[:16]


def _final_path(log: Path) -> Path:
    """Return the path of a log after the build; the log of a failed link is copied out of its draft folder."""
    return log.parent.parent / "link.log" if log.parent.name.startswith(".linking-") else log


def _first_error(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [
        line
        for line in lines
        if "error" in line.lower()
        or any(words in line for words in ("undefined reference", "cannot find", "No space left"))
    ]
    return (errors or lines or ["the compiler said nothing"])[0]
