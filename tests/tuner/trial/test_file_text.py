"""Texts of files in the encodings and packers of other programs."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import UsageError
from tuner.trial.output_files import decoded, file_text

TEXT = "HPLinpack 2.3  --  High-Performance Linpack benchmark\nT/V    : Wall time / encoded variant.\n"
PRINTED = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=20, max_size=300)
"""What HPL prints: letters of English."""


@given(PRINTED, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]))
def test_a_text_of_english_letters_is_read_back_in_each_encoding(text: str, encoding: str) -> None:
    assert decoded(text.encode(encoding)) == text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=300))
def test_utf_8_is_read_back_whatever_it_says(text: str) -> None:
    assert decoded(text.encode()) == text


def test_bytes_of_no_encoding_are_read_around() -> None:
    assert decoded("Prüfung: ".encode("latin-1") + TEXT.encode()).endswith(TEXT)


def test_a_text_to_which_windows_added_utf_16_is_read() -> None:
    assert decoded(TEXT.encode() + TEXT.encode("utf-16-le")) == TEXT + TEXT


def test_a_hole_in_a_file_ends_a_line() -> None:
    assert decoded(b"\0" * 5000 + TEXT.encode()) == f"\n{TEXT}"
    assert decoded(b"cut of\0\0\0" + TEXT.encode()) == f"cut of\n{TEXT}"


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip in parts": lambda content: gzip.compress(content[:30]) + gzip.compress(content[30:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "none": bytes,
}


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_a_packed_file_is_unpacked(home: Path, pack: Callable[[bytes], bytes]) -> None:
    (home / "hpl.out").write_bytes(pack(TEXT.encode()))
    read = file_text(home / "hpl.out")
    assert (read.text, read.left_out) == (TEXT, "")


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_neither_a_large_file_nor_a_small_one_that_unpacks_to_a_large_one_fills_the_memory(
    home: Path, pack: Callable[[bytes], bytes]
) -> None:
    (home / "bomb").write_bytes(pack(TEXT.encode() * 100))
    read = file_text(home / "bomb", largest_bytes=4096)
    assert read.text == ""
    assert read.left_out.startswith("larger than 0.00390625 MiB")


def test_of_a_packed_file_that_was_cut_off_the_begin_is_read(home: Path) -> None:
    lines = "".join(f"{number} {zlib.crc32(bytes([number % 256]))}\n" for number in range(20000))
    packed = gzip.compress(lines.encode())
    (home / "hpl.out.gz").write_bytes(packed[: len(packed) // 2])
    read = file_text(home / "hpl.out.gz").text
    assert len(read) > 1000
    assert lines.startswith(read)


def test_garbage_behind_the_mark_of_a_packer_is_no_text_and_no_error(home: Path) -> None:
    for magic in (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"):
        (home / "garbage").write_bytes(magic + b"garbage" * 9)
        assert file_text(home / "garbage").text == ""


def test_programs_and_unknown_packers_are_left_out(home: Path) -> None:
    (home / "xhpl").write_bytes(b"\x7fELF" + TEXT.encode())
    assert file_text(home / "xhpl").text == ""
    (home / "out.zst").write_bytes(b"\x28\xb5\x2f\xfd...")
    assert "zstd" in file_text(home / "out.zst").left_out


def test_a_file_that_is_not_there_is_one_sentence(home: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        file_text(home / "nowhere")
