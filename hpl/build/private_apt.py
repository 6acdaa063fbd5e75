"""Runs apt with its own lists, cache and sources: it needs no root and changes nothing of the system."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import HplError

SYSTEM_SOURCES = Path("/etc/apt")
TIMEOUT_S = 600.0


class AptError(HplError):
    """apt is missing or failed."""


@dataclass(frozen=True)
class PrivateApt:
    """An apt in a scratch folder; its lists are up to date."""

    root: Path

    def source(self, package: str) -> Path:
        """Download the upstream archive of a source package into the scratch folder.

        Raises:
            AptError: apt failed or brought no archive.
        """
        folder = self.root / "download"
        self._run(["source", "--tar-only", package], folder)
        archives = sorted(folder.glob(f"{package}_*.orig.tar.*"))
        if not archives:
            raise AptError(f"apt-get source brought no archive of {package}")
        return archives[0]

    def download(self, packages: Sequence[str]) -> list[Path]:
        """Download binary packages and those that they need and this system lacks, but no headers of others.

        Raises:
            AptError: apt failed, for example because it does not know a package.
        """
        folder = self.root / "download"
        planned = self._run(["install", "--simulate", "--no-install-recommends", *packages], folder)
        absent = re.findall(r"^Inst (\S+) \(", planned, re.MULTILINE)
        self._run(["download", *(name for name in absent if name in packages or not name.endswith("-dev"))], folder)
        return sorted(folder.glob("*.deb"))

    def knows(self, package: str) -> bool:
        """Return whether the configured sources have a binary package."""
        done = _call(["apt-cache", *self._options(), "policy", package], self.root)
        candidate = re.search(r"Candidate: (\S+)", done.stdout)
        return candidate is not None and candidate[1] != "(none)"

    def update(self) -> None:
        """Fetch the lists of packages.

        Raises:
            AptError: no source can be reached; apt-get itself reports success then.
        """
        self._run(["update"], self.root)
        if not any((self.root / "lists").glob("*_Packages*")):
            raise AptError("no package source can be reached")

    def _run(self, arguments: Sequence[str], folder: Path) -> str:
        done = _call(["apt-get", "-q", *self._options(), *arguments], folder)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("E:")]
            raise AptError(errors[0].removeprefix("E: ") if errors else f"apt-get ended with {done.returncode}")
        return done.stdout

    def _options(self) -> list[str]:
        settings = {
            "Dir::State::lists": self.root / "lists",
            "Dir::Cache": self.root / "cache",
            "Dir::Etc::sourcelist": self.root / "sources.list",
            "Dir::Etc::sourceparts": self.root / "parts",
            "APT::Sandbox::User": "",
            "Acquire::Retries": "2",
        }
        return [token for name, value in settings.items() for token in ("-o", f"{name}={value}")]


@contextmanager
def private_apt() -> Iterator[PrivateApt]:
    """Make a private apt that exists for the duration of the block.

    Raises:
        AptError: this is no Debian or Ubuntu, no package source is configured, or none can be reached.
    """
    if shutil.which("apt-get") is None:
        raise AptError("this system has no apt-get")
    lines = list(source_lines(SYSTEM_SOURCES))
    if not lines:
        raise AptError(f"no package source is configured in {SYSTEM_SOURCES}")
    with tempfile.TemporaryDirectory(prefix="hpltune-apt-") as scratch:
        root = Path(scratch)
        for name in ("lists/partial", "cache/archives/partial", "parts", "download"):
            (root / name).mkdir(parents=True)
        both = [line for source in lines for line in (source, source.replace("deb-src", "deb", 1))]
        (root / "sources.list").write_text("\n".join(both) + "\n", encoding="utf-8")
        apt = PrivateApt(root)
        apt.update()
        yield apt


def source_lines(etc_apt: Path) -> Iterator[str]:
    """Read the system's package sources, one-line and deb822 files, as deb-src lines."""
    for file in [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*.list"))]:
        for line in _text(file).splitlines():
            match = re.match(r"\s*deb\s+(.*)", line)
            if match:
                yield f"deb-src {match[1]}"
    for file in sorted((etc_apt / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", _text(file)):
            yield from _deb822(stanza)


def _deb822(stanza: str) -> Iterator[str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in {" ", "\t"} and name:
            fields[name] += " " + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
        return
    signed = f"[signed-by={fields['signed-by']}] " if fields.get("signed-by", "").startswith("/") else ""
    for uri in fields.get("uris", "").split():
        for suite in fields.get("suites", "").split():
            yield f"deb-src {signed}{uri} {suite} {fields.get('components', '')}".rstrip()


def _call(argv: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            list(argv),
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise AptError(f"{argv[0]} did not end within {TIMEOUT_S:.0f} s") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
