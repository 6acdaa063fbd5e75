"""A source of HPL: unpacked from an archive and recognised by its layout; hpltune ships none."""

import hashlib
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import AskedError, HplError

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
        kind: name of the family of programs that is built from it.
        root: the folder with HPL's `include`, `src` and `testing`.
        origin: a phrase that says where it is from.
        digest: SHA-256 over all its files.
        include: another folder of headers.
        more: files of ours that it needs besides, as one with `main`.
        wrapped: functions that the linker replaces by those of `more`.
    """

    kind: str
    version: str
    root: Path
    origin: str
    digest: str
    include: Path | None = None
    more: tuple[Path, ...] = ()
    wrapped: tuple[str, ...] = ()


Recognise = Callable[[Path, str], HplSource | None]
"""Reads the source in a folder, whose origin is a phrase; None where the folder holds none of its layout."""


def unpacked(archive: Path, target: Path, layouts: Sequence[Recognise]) -> HplSource:
    """Unpack an archive and move the result into place in one step, so that an incomplete source is never used.

    Raises:
        SourceError: it cannot be unpacked, or holds no source of these layouts.
    """
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
        find_source(draft, str(archive), layouts, archive)
        draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return find_source(target, str(archive.name), layouts)


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


def find_source(folder: Path, origin: str, layouts: Sequence[Recognise], archive: Path | None = None) -> HplSource:
    """Find HPL, in one of these layouts, in a folder or one of its subfolders.

    Args:
        archive: the archive that was unpacked into the folder; messages name it, as the user knows only the archive.

    Raises:
        SourceError: the folder holds none.
    """
    for top in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        for recognise in layouts:
            if (source := recognise(top, origin)) is not None:
                return source
    missing = "holds no source of HPL (include/hpl.h and testing/ptest)"
    if archive is not None:
        raise SourceError(f"{archive} {missing}: give an archive of HPL or of HPCC")
    raise SourceError(f"{folder} {missing}: give its top folder")


def digest_of(root: Path) -> str:
    """Hash HPL's files below its top folder."""
    digest = hashlib.sha256()
    for file in sorted(path for folder in ("include", "src", "testing") for path in (root / folder).rglob("*.[ch]")):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
