"""Images of containers, made of files of this machine: a shell, a few tools, and what else a test names."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from needs import skip_without

TOOLS = ("sh", "env", "uname", "sed", "head", "cksum", "readlink", "grep", "tr", "true", "echo", "ldd", "bash")
FOLDERS = ("dev", "proc", "sys", "tmp", "etc", "usr/bin", "usr/lib", "usr/lib64")
FILES = ("passwd", "group", "hosts", "resolv.conf", "machine-id")
LINKS = ("bin", "lib", "lib64")


def image(folder: Path, *files: Path) -> Path:
    """A folder with the files of a small system, and with these files at the paths that they have here."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / "etc" / name).touch()
    for name in LINKS:
        (folder / name).symlink_to(f"usr/{name}")
    for tool in TOOLS:
        copied(folder, Path(shutil.which(tool) or tool), folder / "usr/bin" / tool)
    for file in files:
        copied(folder, file)
    return folder


def copied(folder: Path, file: Path, to: Path | None = None) -> None:
    """Copy a file into an image, with the libraries that the loader finds for it here."""
    _copy(file, to or folder / file.relative_to("/"))
    said = subprocess.run(("ldd", str(file)), capture_output=True, text=True, check=False).stdout
    for name in re.findall(r"(/\S+) \(0x", said):
        for path in {Path(name), Path(name).resolve()}:
            _copy(path, folder / path.relative_to("/"))


def _copy(file: Path, to: Path) -> None:
    if not to.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, to)


def tree(folder: Path, *parts: str) -> None:
    """Copy whole folders into an image, where they are here."""
    for part in parts:
        if Path(part).is_dir():
            shutil.copytree(part, folder / part.lstrip("/"), symlinks=True, dirs_exist_ok=True)


def require_charliecloud(folder: Path) -> None:
    """Skip where ch-run starts nothing in an image, as where nobody may make user namespaces."""
    if shutil.which("ch-run") is None:
        skip_without("Charliecloud")
    command = ("ch-run", str(folder), "--", "/bin/true")
    said = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "USER": os.environ.get("USER", "me")}
    )
    if said.returncode:
        skip_without("Charliecloud")
