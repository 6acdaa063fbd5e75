"""netlib's HPL: its archive, or a folder with its layout."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..build.source import HplSource, SourceError, digest_of
from .built import SourceProgram

ARCHIVE = "https://www.netlib.org/benchmark/hpl/hpl-2.3.tar.gz"
SHA256 = "32c5c17d22330e6f2337b681aded51637fb6008d3f0eb7c277b163fadd612830"
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class NetlibHpl(SourceProgram):
    """An ordinary HPL of any version."""

    name: ClassVar[str] = "netlib"
    origin: ClassVar[str] = ARCHIVE

    @classmethod
    def fetched(cls, folder: Path) -> Path:
        """Download the archive and check its SHA-256."""
        from http.client import HTTPException  # noqa: PLC0415 - only a download needs it
        from urllib.request import urlopen  # noqa: PLC0415

        try:
            with urlopen(ARCHIVE, timeout=TIMEOUT_S) as answer:
                data = answer.read()
        except HTTPException as error:
            raise SourceError(f"{ARCHIVE} came only in part: {error!r}") from error
        digest = hashlib.sha256(data).hexdigest()
        if digest != SHA256:
            raise SourceError(f"{ARCHIVE} has SHA-256 {digest}, not {SHA256}: it was damaged or changed on the way")
        archive = folder / "hpl-2.3.tar.gz"
        archive.write_bytes(data)
        return archive

    @classmethod
    def source_in(cls, top: Path, origin: str) -> HplSource | None:
        """Recognise the folders `include` and `testing`."""
        if not ((top / "include/hpl.h").is_file() and (top / "testing/ptest").is_dir()):
            return None
        return HplSource(cls.name, _version(top), top, origin, digest_of(top))


def _version(top: Path) -> str:
    """Read the version from HPL's banner, which `HPL_pdinfo.c` prints."""
    banner = top / "testing/ptest/HPL_pdinfo.c"
    text = banner.read_text(encoding="utf-8", errors="replace") if banner.is_file() else ""
    version = re.search(r"HPLinpack (\d+\.\d+)", text)
    return version[1] if version else "unknown"
