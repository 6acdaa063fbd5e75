"""Gets HPL's source: the user's, netlib's archive, or the copy in Debian's package hpcc; hpltune ships none."""

import hashlib
import lzma
import re
import shutil
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from filelock import FileLock

from ..errors import AskedError, HplError
from ..search_paths import SearchPaths
from .private_apt import private_apt

NETLIB = "https://www.netlib.org/benchmark/hpl/hpl-2.3.tar.gz"
NETLIB_SHA256 = "32c5c17d22330e6f2337b681aded51637fb6008d3f0eb7c277b163fadd612830"
NETLIB_TIMEOUT_S = 10.0
FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python 3.11.4 and later have this filter, and 3.14 uses it by default; Debian 12 has 3.11.2."""


class SourceError(HplError):
    """HPL's source could not be obtained."""


class UserSourceError(SourceError, AskedError):
    """The source that the user named is not there."""


@dataclass(frozen=True)
class HplSource:
    """An unpacked source of HPL.

    Attributes:
        kind: "netlib" (an ordinary HPL) or "hpcc" (HPL 2.0 inside HPC Challenge, whose main is a function).
        root: the folder with HPL's `include`, `src` and `testing`.
        include: another folder of headers, for hpcc.
        origin: a phrase that says where it is from.
        digest: SHA-256 over all its files.
    """

    kind: str
    version: str
    root: Path
    include: Path | None
    origin: str
    digest: str


def obtain(search: SearchPaths, user_source: Path | None = None) -> HplSource:
    """Get HPL's source, from the cache if it was obtained before.

    The order is: the user's source; the cache; netlib's hpl-2.3.tar.gz with a checked SHA-256; Debian's package hpcc.

    Args:
        user_source: a folder or an archive of HPL or of HPCC; if given, nothing else is tried.

    Raises:
        SourceError: no source could be obtained; the message says what was tried and what to do.
    """
    if user_source is not None:
        return _of_user(search, user_source.expanduser().absolute())
    folder = search.cache / "source"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot make {folder} for HPL's source: {error.strerror}") from error
    with FileLock(folder / "lock"):
        for name, origin in (("netlib", NETLIB), ("hpcc", "Debian's source package hpcc")):
            if (folder / name).is_dir():
                return _find_source(folder / name, f"{origin} (cached)")
        tried = []
        for name, fetch in (("netlib", _fetch_netlib), ("hpcc", _fetch_hpcc)):
            try:
                return _unpacked(fetch(folder), folder / name)
            except (OSError, HplError) as error:
                tried.append(f"{name}: {error}")
    raise SourceError(
        f"HPL's source could not be had ({'; '.join(tried)}): "
        "download hpl-2.3.tar.gz yourself and give it with «hpl_source», or your own program with «xhpl»"
    )


def _fetch_netlib(folder: Path) -> Path:
    """Download netlib's archive and check its SHA-256."""
    try:
        with urllib.request.urlopen(NETLIB, timeout=NETLIB_TIMEOUT_S) as answer:
            data = answer.read()
    except HTTPException as error:
        raise SourceError(f"{NETLIB} came only in part: {error!r}") from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != NETLIB_SHA256:
        raise SourceError(f"{NETLIB} has SHA-256 {digest}, not {NETLIB_SHA256}: it was damaged or changed on the way")
    archive = folder / "hpl-2.3.tar.gz"
    archive.write_bytes(data)
    return archive


def _fetch_hpcc(folder: Path) -> Path:
    """Download the archive of Debian's package hpcc."""
    with private_apt() as apt:
        return Path(shutil.copy(apt.source("hpcc"), folder))


def _of_user(search: SearchPaths, path: Path) -> HplSource:
    origin = f"«hpl_source» {path}"
    if path.is_dir():
        return _find_source(path, origin)
    if not path.is_file():
        raise UserSourceError("there is no such file or folder", field="hpl_source", given=path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    target = search.cache / "source" / f"user-{digest[:16]}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        _unpacked(path, target)
    return _find_source(target, origin)


def _unpacked(archive: Path, target: Path) -> HplSource:
    """Unpack an archive and move the result into place in one step, so that an incomplete source is never used."""
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=".unpacking-"))
    try:
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(draft, members=_harmless(tar), **FILTER)  # noqa: S202 - see _harmless
                _read_to_end(tar)
        except OSError as error:
            raise SourceError(f"{archive} cannot be unpacked: {error.strerror or error}") from error
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
            reason = str(error).partition(":\n")[0]
            raise SourceError(f"{archive} is not an archive that can be unpacked: {reason}") from error
        _find_source(draft, str(archive), archive)
        draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return _find_source(target, str(archive.name))


def _read_to_end(tar: tarfile.TarFile) -> None:
    """Read an archive to its end, where gzip checks the checksum of all its files."""
    while tar.fileobj is not None and tar.fileobj.read(tarfile.RECORDSIZE):
        pass


def _harmless(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the files and folders that stay inside the folder into which the archive is unpacked."""
    for member in tar.getmembers():
        path = Path(member.name)
        if (member.isfile() or member.isdir()) and not path.is_absolute() and ".." not in path.parts:
            yield member


def _find_source(folder: Path, origin: str, archive: Path | None = None) -> HplSource:
    """Find HPL, in netlib's layout or hpcc's, in a folder or one of its subfolders.

    Args:
        archive: the archive that was unpacked into the folder; messages name it, as the user knows only the archive.

    Raises:
        SourceError: the folder holds neither.
    """
    for top in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        if (top / "hpl/include/hpl.h").is_file() and (top / "include/hpcc.h").is_file():
            return HplSource("hpcc", "2.0", top / "hpl", top / "include", origin, _digest(_files(top / "hpl")))
        if (top / "include/hpl.h").is_file() and (top / "testing/ptest").is_dir():
            return HplSource("netlib", _version(top), top, None, origin, _digest(_files(top)))
    missing = "holds no source of HPL (include/hpl.h and testing/ptest)"
    if archive is not None:
        raise SourceError(f"{archive} {missing}: give an archive of HPL or of HPCC")
    raise SourceError(f"{folder} {missing}: give its top folder")


def _version(top: Path) -> str:
    """Read the version from HPL's banner, which `HPL_pdinfo.c` prints."""
    banner = top / "testing/ptest/HPL_pdinfo.c"
    text = banner.read_text(encoding="utf-8", errors="replace") if banner.is_file() else ""
    version = re.search(r"HPLinpack (\d+\.\d+)", text)
    return version[1] if version else "unknown"


def _files(root: Path) -> Iterable[Path]:
    return sorted(path for folder in ("include", "src", "testing") for path in (root / folder).rglob("*.[ch]"))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
