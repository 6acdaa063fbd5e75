"""The text of a file that some program wrote: compressed or not, in the encodings of Linux and Windows.

What is read and what is unpacked are both limited, so no file fills the memory.
"""

import bz2
import hashlib
import lzma
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import UsageError
from ..user_files import LARGEST_BYTES

_UNPACKERS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_UNKNOWN_PACKERS = {b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
_PROGRAM = b"\x7fELF"
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""The byte order marks of encodings."""
_HOLE = re.compile("\0{2,}")
_XZ_MEMORY_BYTES = 128 * 2**20


@dataclass(frozen=True)
class FileText:
    """What a file says.

    Attributes:
        text: "" for a program and for a file that is left out.
        sha256: of the bytes in the file.
        left_out: why it was not read; "" where it was.
    """

    text: str
    sha256: str = ""
    left_out: str = ""


class _Unpacker(Protocol):
    """The part of the decompressors of bz2 and lzma that is used here."""

    @property
    def eof(self) -> bool:
        """Whether the end of a stream was reached."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What follows the stream."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return at most so many bytes."""
        ...


def file_text(path: Path, largest_bytes: int = LARGEST_BYTES) -> FileText:
    """Read a file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    limit = f"larger than {largest_bytes / 2**20:g} MiB"
    if len(content) > largest_bytes:
        return FileText("", left_out=limit)
    sha256 = hashlib.sha256(content).hexdigest()
    for magic, packer in _UNKNOWN_PACKERS.items():
        if content.startswith(magic) and path.suffix in {".zip", ".zst", ".zstd"}:
            return FileText("", sha256, f"packed by {packer}, which is not read here")
    packer = next((name for magic, name in _UNPACKERS.items() if content.startswith(magic)), "")
    if packer:
        content = _unpacked(content, packer, largest_bytes + 1)
        if len(content) > largest_bytes:
            return FileText("", sha256, f"{limit} when it is unpacked")
    return FileText("" if content.startswith(_PROGRAM) else decoded(content), sha256)


def decoded(content: bytes) -> str:
    """Return the text in bytes: in UTF-8, or as a byte order mark tells.

    UTF-16 without a mark, or added to another text as Windows does, has a NUL beside each letter of English; these are
    dropped. More NULs together are a hole that a file system filled, and end a line.
    """
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    text = content.decode(encoding, errors="replace")
    return _HOLE.sub("\n", text).replace("\0", "") if "\0" in text else text


def _unpacked(content: bytes, packer: str, at_most: int) -> bytes:
    """Unpack as much as is whole of a file, and no more bytes than this."""
    found, rest = bytearray(), content
    while rest and len(found) < at_most:
        unpacker = _unpacker(packer)
        try:
            found += unpacker.decompress(rest, at_most - len(found))
        except (OSError, EOFError, zlib.error, lzma.LZMAError):
            break
        rest = unpacker.unused_data if unpacker.eof else b""
    return bytes(found)


def _unpacker(packer: str) -> _Unpacker:
    if packer == "gzip":
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    return bz2.BZ2Decompressor() if packer == "bzip2" else lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES)
