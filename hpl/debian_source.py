"""Debian's source package hpcc, fetched with an apt configuration of our own: no root, no change to the system."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .errors import HplError

SYSTEM_SOURCES = Path("/etc/apt")
TIMEOUT_S = 300.0


def fetch_hpcc(folder: Path) -> Path:
    """Download the archive of hpcc's source into a folder and return its path.

    Raises:
        HplError: this is no Debian or Ubuntu, or its archives cannot be reached.
    """
    if shutil.which("apt-get") is None:
        raise HplError("this system has no apt-get")
    lines = list(source_lines(SYSTEM_SOURCES))
    if not lines:
        raise HplError(f"no package source is configured in {SYSTEM_SOURCES}")
    with tempfile.TemporaryDirectory(prefix="hpltune-apt-") as scratch:
        root = Path(scratch)
        for name in ("lists/partial", "cache/archives/partial", "parts", "download"):
            (root / name).mkdir(parents=True)
        (root / "sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
        options = _options(root)
        _apt([*options, "update"], root)
        _apt([*options, "source", "--tar-only", "hpcc"], root / "download")
        archives = sorted((root / "download").glob("hpcc_*.orig.tar.*"))
        if not archives:
            raise HplError("apt-get source brought no archive of hpcc")
        return Path(shutil.copy(archives[0], folder))


def source_lines(etc_apt: Path) -> Iterator[str]:
    """The system's package sources, one-line and deb822 files, as deb-src lines."""
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


def _options(root: Path) -> list[str]:
    settings = {
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": root / "parts",
        "APT::Sandbox::User": "",
        "Acquire::Retries": "2",
    }
    return [token for name, value in settings.items() for token in ("-o", f"{name}={value}")]


def _apt(arguments: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            ["apt-get", "-q", *arguments],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise HplError(f"apt-get did not end within {TIMEOUT_S:.0f} s") from error
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        raise HplError(said[0].removeprefix("E: ") if said else f"apt-get ended with {done.returncode}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
