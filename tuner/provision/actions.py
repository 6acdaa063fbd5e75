"""The single steps of setting up: each runs one program, keeps its log, and fails with one sentence."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpl.private_apt import PrivateApt

from ..errors import TunerError
from ..files import write_text

SAYINGS = (
    ("Could not get lock", "another package manager is running: wait for it and try again"),
    ("dpkg was interrupted", "dpkg was interrupted earlier: run `dpkg --configure -a` and try again"),
    ("No space left", "the disk is full"),
    ("Temporary failure resolving", "the package servers cannot be reached"),
    ("Could not resolve", "the package servers cannot be reached"),
    ("Failed to fetch", "a package could not be fetched"),
    ("No matching distribution", "PyPI has no wheel for this Python and machine"),
    ("Permission denied", "permission was denied"),
)


class SetupError(TunerError):
    """A step of the setup failed."""


@dataclass(frozen=True)
class Steps:
    """Runs programs and keeps everything they say in one log."""

    log: Path

    def apt_install(self, packages: Sequence[str]) -> None:
        """Install packages system-wide; the caller is root."""
        quiet = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
        self.run(argv, quiet, "apt-get install")

    def apt_update(self) -> None:
        """Fetch the system's package lists; the caller is root."""
        self.run(["apt-get", "update", "-q"], {"LC_ALL": "C"}, "apt-get update")

    def wheel(self, name: str, prefix: Path) -> None:
        """Install one wheel, and nothing it depends on but itself, into a prefix of its own.

        `--prefix`, because pip's `--target` leaves out what a wheel puts beside Python's own folders.
        """
        needs = [] if name == "mkl" else ["--no-deps"]
        argv = [sys.executable, "-m", "pip", "install", "--ignore-installed", "--prefix", str(prefix), *needs, name]
        self.run(argv, {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}, f"pip install {name}")

    def unpack(self, apt: PrivateApt, packages: Sequence[str], root: Path) -> None:
        """Download Debian packages and unpack them below a folder; nothing is configured or run."""
        root.mkdir(parents=True, exist_ok=True)
        for file in apt.download(packages):
            self.run(["dpkg-deb", "-x", str(file), str(root)], {}, f"unpacking {file.name}")

    def compiler_script(self, wheel: Path, script: Path) -> None:
        """Make the C compiler of the ziglang wheel callable as `cc`."""
        packages = next(wheel.glob("lib/python*/site-packages"), wheel)
        text = f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" -m ziglang cc "$@"\n'
        write_text(script, text, executable=True)

    def run(self, argv: Sequence[str], environment: Mapping[str, str], what: str) -> None:
        """Run a program.

        Raises:
            SetupError: it is missing or failed; the sentence says why and where the log is.
        """
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(
                list(argv),
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            with self.log.open("a", encoding="utf-8") as file:
                file.write(f"$ {' '.join(argv)}\n{done.stdout}{done.stderr}\n")
        except OSError as error:
            raise SetupError(f"{what} failed: {error}") from error
        if done.returncode != 0:
            said = done.stderr + done.stdout
            reason = next((meaning for sign, meaning in SAYINGS if sign in said), _last_line(said))
            raise SetupError(f"{what} failed: {reason} (log: {self.log})")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
