"""The single steps of a setup: each runs one program, keeps its log, and fails with one sentence."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpl.build.private_apt import PrivateApt

from ..errors import TunerError
from ..user_files import write_text

APT_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
PIP_ENVIRONMENT = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"}
WITH_OTHERS = ("mkl", "impi-devel", "nvidia-cublas-cu12")
"""Wheels that need others: MKL's threads, the runtime of Intel MPI, and what compiles for GPUs."""
LOCK_WAIT_S = 60
"""How long apt-get waits for another package manager to finish."""

BUSY = (
    ("Could not get lock", "another package manager is running: wait for it and try again"),
    ("Unable to lock", "another package manager is running: wait for it and try again"),
    ("dpkg was interrupted", "dpkg was interrupted earlier: run `dpkg --configure -a` and try again"),
)
SAYINGS = (
    ("No space left", "the disk is full"),
    ("Temporary failure resolving", "the package servers cannot be reached"),
    ("Could not resolve", "the package servers cannot be reached"),
    ("Failed to establish a new connection", "PyPI cannot be reached"),
    ("No matching distribution", "PyPI has no wheel for this Python and machine, or cannot be reached"),
    ("Failed to fetch", "a package could not be fetched"),
    ("Unmet dependencies", "packages of this system contradict each other: `apt-get -f install` may mend it"),
    ("Permission denied", "permission was denied"),
)


class SetupError(TunerError):
    """A step of the setup failed; another step may replace it."""


class BusyError(SetupError):
    """A step failed for now: it will work once the user has done what the sentence says."""


@dataclass(frozen=True)
class Steps:
    """Runs programs and keeps everything they say in one log.

    Attributes:
        python: the interpreter whose pip installs wheels.
    """

    log: Path
    python: Path = Path(sys.executable)

    def apt_install(self, packages: Sequence[str]) -> None:
        """Install packages system-wide; the caller is root."""
        lock = f"DPkg::Lock::Timeout={LOCK_WAIT_S}"
        argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "-o", lock, *packages]
        self.run(argv, APT_ENVIRONMENT, "apt-get install")

    def apt_update(self) -> None:
        """Fetch the system's package lists; the caller is root."""
        self.run(["apt-get", "update", "-q"], APT_ENVIRONMENT, "apt-get update")

    def wheel(self, name: str, prefix: Path) -> None:
        """Install one wheel into a prefix of its own, whole or not at all; Intel's bring their dependencies, too.

        `--prefix`, because pip's `--target` leaves out what a wheel puts beside Python's own folders.
        """
        needs = [] if name in WITH_OTHERS else ["--no-deps"]
        draft = _fresh(prefix)
        pip = [str(self.python), "-m", "pip", "install", "--ignore-installed", "--only-binary", ":all:", *needs]
        try:
            self.run([*pip, "--prefix", str(draft), name], PIP_ENVIRONMENT, f"pip install {name}")
            _replace(draft, prefix)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def unpack(self, apt: PrivateApt, packages: Sequence[str], root: Path) -> None:
        """Download Debian packages and unpack them into a folder, beside those there; nothing is configured or run."""
        draft = _fresh(root)
        try:
            if root.is_dir():
                self.run(["cp", "-a", f"{root}/.", str(draft)], {}, f"copying {root}")
            for file in apt.download(packages):
                self.run(["dpkg-deb", "-x", str(file), str(draft)], {}, f"unpacking {file.name}")
            _replace(draft, root)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def compiler_script(self, wheel: Path, script: Path) -> None:
        """Make the C compiler of the ziglang wheel callable as `cc`; what it caches stays in the prefix, too."""
        zig = next(wheel.glob("lib*/python*/site-packages/ziglang/zig"), None)
        if zig is None:
            raise SetupError(f"the wheel ziglang in {wheel} holds no compiler")
        cache = script.parent.parent / "zig-cache"
        kept = shlex.quote(str(cache))
        text = (
            f"#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR={kept} ZIG_LOCAL_CACHE_DIR={kept}\n"
            f'exec {shlex.quote(str(zig))} cc "$@"\n'
        )
        write_text(script, text, executable=True)

    def run(self, argv: Sequence[str], environment: Mapping[str, str], what: str) -> None:
        """Run a program. Ctrl-C reaches it, too, and it is waited for: a package manager must not be cut short.

        Raises:
            SetupError: it is missing or failed; the sentence says why and where the log is.
        """
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("a+", encoding="utf-8", errors="replace") as file:
                file.write(f"$ {' '.join(argv)}\n")
                file.flush()
                start = file.tell()
                code = _wait(argv, environment, file.fileno())
                file.seek(start)
                said = file.read()
        except OSError as error:
            raise SetupError(f"{what} failed: {error.strerror} ({error.filename})") from error
        if code != 0:
            _complain(what, said, self.log)


def _wait(argv: Sequence[str], environment: Mapping[str, str], output: int) -> int:
    with subprocess.Popen(
        list(argv),
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    ) as child:
        return child.wait()


def _complain(what: str, said: str, log: Path) -> None:
    for signs, error in ((BUSY, BusyError), (SAYINGS, SetupError)):
        for sign, meaning in signs:
            if sign.lower() in said.lower():
                raise error(f"{what} failed: {meaning} (log: {log})")
    raise SetupError(f"{what} failed: {_telling_line(said)} (log: {log})")


def _telling_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("E:", "ERROR", "dpkg: error"))]
    return (telling or lines or ["it said nothing"])[-1]


def _fresh(folder: Path) -> Path:
    """Make an empty folder beside the one that it will replace."""
    draft = folder.with_name(f".new-{folder.name}")
    try:
        if draft.exists():
            shutil.rmtree(draft)
        draft.mkdir(parents=True)
    except OSError as error:
        raise SetupError(f"cannot make {draft}: {error.strerror}") from error
    return draft


def _replace(draft: Path, folder: Path) -> None:
    try:
        if folder.exists():
            shutil.rmtree(folder)
        draft.replace(folder)
    except OSError as error:
        raise SetupError(f"cannot write {folder}: {error.strerror}") from error
