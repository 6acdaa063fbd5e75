"""Reads HPL.dat as a person means it; names every mistake with its line, and warns where HPL reads something else."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from .dat import DEVICE_FILE, MAX_LINE, MAX_VALUES, HplDat
from .errors import HplError
from .params import LARGEST_INT, Bcast, Fact, Form, Pmap, Swap, Word

T = TypeVar("T")
W = TypeVar("W", bound=Word)
LINES = 31
LONGEST_WORD = 40
"""Most characters of a number; messages show only the beginning of longer words."""
WORD = re.compile(r"[^ \t\n\v\f\r]+")
"""A word as sscanf's %s reads it."""


class HplDatError(HplError):
    """An HPL.dat that HPL would reject or misread.

    Attributes:
        problems: pairs of a line number, counted from 1, and a sentence.
    """

    def __init__(self, name: str, problems: list[tuple[int, str]]) -> None:
        super().__init__("\n".join(f"{name}, line {line}: {sentence}" for line, sentence in problems))
        self.problems = tuple(problems)


@dataclass
class _Reader:
    """Reads line after line and collects every problem instead of stopping at the first."""

    lines: list[str]
    at: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the next line, or an empty text after the end."""
        self.at += 1
        if self.at > len(self.lines):
            return ""
        line = self.lines[self.at - 1]
        if len(line) > MAX_LINE:
            self.cautions.append(f"line {self.at} has {len(line)} characters; HPL reads those behind 253 as a line")
        return line

    def problem(self, sentence: str) -> None:
        """Note a problem of the line read last."""
        self.problems.append((self.at, sentence))

    def values(self, count: int, name: str, convert: Callable[[str], T]) -> list[T]:
        """Return the first `count` values of the next line."""
        line = self.text()
        words = WORD.findall(line)
        values: list[T] = []
        for word in words[:count]:
            if values and not re.match(r"[-+.\d]", word):
                break
            try:
                values.append(convert(word))
            except ValueError as error:
                self.problem(f"{name}: {error}")
                return values
        if len(values) < count:
            self.problem(f"{name}: {count} values are announced, but only {len(values)} are there")
        elif count > 1:
            self._compare(line, words[:count])
        return values

    def _compare(self, line: str, words: list[str]) -> None:
        """Add a caution if HPL reads other whole numbers than a person does."""
        meant = [int(word) for word in words]
        read = [int(word) for word in _read_by_hpl(line, len(words))]
        if read != meant:
            self.cautions.append(
                f"line {self.at}: HPL reads {' '.join(map(str, read))}, not {' '.join(map(str, meant))}, because it "
                "misreads values that are separated by more than one blank or do not start in the first column"
            )

    def one(self, name: str, convert: Callable[[str], T], fallback: T) -> T:
        """Return the single value of the next line."""
        values = self.values(1, name, convert)
        return values[0] if values else fallback

    def listed(self, name: str, convert: Callable[[str], T]) -> tuple[T, ...]:
        """Read a line with a count and a line with that many values."""
        count = self.one(f"number of {name}", whole(1, MAX_VALUES), 1)
        return tuple(self.values(count, name, convert))


def _read_by_hpl(line: str, count: int) -> list[str]:
    """Return the words that HPL's own loop reads from a line.

    After each word `HPL_pdinfo.c` goes on by the word's length and one blank. It does not count further blanks, so it
    falls behind and reads a word, or the end of a word, twice.
    """
    read: list[str] = []
    at = 0
    for _ in range(count):
        word = WORD.search(line, at)
        if word is not None:
            read.append(word[0])
            at += len(word[0]) + 1
    return read


def _shown(word: str) -> str:
    """Shorten a long word for a message."""
    return word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}..."


def whole(least: int, most: int = LARGEST_INT) -> Callable[[str], int]:
    """Make a converter to whole numbers in a range; it raises a ValueError with the sentence for the user."""

    def convert(word: str) -> int:
        if not re.fullmatch(r"[-+]?[0-9]+", word):
            raise ValueError(f"{_shown(word)} is not a whole number")
        if most == LARGEST_INT and (len(word) > LONGEST_WORD or int(word) > most) and not word.startswith("-"):
            raise ValueError(f"{_shown(word)} is out of range: the largest number that HPL can read is {LARGEST_INT}")
        if len(word) > LONGEST_WORD or not least <= int(word) <= most:
            expected = f"at least {least}" if most == LARGEST_INT else f"between {least} and {most}"
            raise ValueError(f"{_shown(word)} is out of range: expected a number {expected}")
        return int(word)

    return convert


def digit(kind: type[W]) -> Callable[[str], W]:
    """Make a converter to one of HPL's enumerations; it raises a ValueError with the sentence for the user."""

    def convert(word: str) -> W:
        legal = {str(int(member)): member for member in kind}
        if word not in legal:
            choices = ", ".join(f"{number} = {member.word}" for number, member in legal.items())
            raise ValueError(f"{_shown(word)} is none of {choices}")
        return legal[word]

    return convert


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{_shown(word)} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{_shown(word)} is not a finite number")
    return value


def _device(reader: _Reader) -> int:
    """Read where HPL prints, as its atoi does: 6 is standard output, 7 standard error, all else the output file.

    HPL reads a word as 0, also `file` of its own comment, so a word that means a stream gets a caution.
    """
    word = next(iter(WORD.findall(reader.text())), "file")
    number = re.match(r"[-+]?[0-9]+", word)
    if number:
        return int(number[0]) if len(number[0]) <= LONGEST_WORD else DEVICE_FILE
    if word != "file":
        reader.cautions.append(
            f"line {reader.at}: HPL knows no device {_shown(word)} and prints into the output file: "
            "6 is standard output, 7 standard error"
        )
    return DEVICE_FILE


def parse(text: str, name: str = "HPL.dat") -> HplDat:
    """Read the text of a file with LF or CRLF line ends; lines that later versions and forks append are ignored.

    Args:
        text: the whole file.
        name: the file's name in messages.

    Raises:
        HplDatError: HPL would reject the file or silently run something else; every problem is named with its line.
    """
    reader = _Reader(text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n"))
    if len(reader.lines) < LINES:
        reader.problems.append((len(reader.lines), f"the file ends after {len(reader.lines)} lines; HPL reads {LINES}"))
        raise HplDatError(name, reader.problems)
    title = (reader.text(), reader.text())
    output_file = (reader.text().split() or ["HPL.out"])[0]
    dat = HplDat(
        title=title,
        output_file=output_file,
        device=_device(reader),
        Ns=reader.listed("Ns", whole(0)),
        NBs=reader.listed("NBs", whole(1)),
        PMAP=reader.one("PMAP", digit(Pmap), Pmap.ROW),
        grids=_grids(reader),
        threshold=_threshold(reader),
        PFACTs=reader.listed("PFACTs", digit(Fact)),
        NBMINs=reader.listed("NBMINs", whole(1)),
        NDIVs=reader.listed("NDIVs", whole(2)),
        RFACTs=reader.listed("RFACTs", digit(Fact)),
        BCASTs=_broadcasts(reader),
        DEPTHs=reader.listed("DEPTHs", whole(0)),
        SWAP=reader.one("SWAP", digit(Swap), Swap.MIX),
        swap_threshold=reader.one("swapping threshold", whole(0), 0),
        L1=reader.one("L1", digit(Form), Form.TRANSPOSED),
        U=reader.one("U", digit(Form), Form.TRANSPOSED),
        EQUIL=bool(reader.one("equilibration", whole(0, 1), 1)),
        alignment=reader.one("memory alignment", whole(1), 8),
        cautions=tuple(reader.cautions),
    )
    if reader.problems:
        raise HplDatError(name, reader.problems)
    return dat


def _broadcasts(reader: _Reader) -> tuple[Bcast, ...]:
    found = reader.listed("BCASTs", digit(Bcast))
    if any(broadcast.of_vendors for broadcast in found):
        reader.cautions.append(
            f"line {reader.at}: BCAST 6 and 7 are only in vendors' HPL: netlib's runs 0 in their place"
        )
    return found


def _grids(reader: _Reader) -> tuple[tuple[int, int], ...]:
    count = reader.one("number of process grids", whole(1, MAX_VALUES), 1)
    rows = reader.values(count, "Ps", whole(1))
    columns = reader.values(count, "Qs", whole(1))
    return tuple(zip(rows, columns, strict=False))


def _threshold(reader: _Reader) -> float:
    threshold = reader.one("threshold", _number, 16.0)
    if threshold <= 0:
        reader.cautions.append(f"line {reader.at}: with a threshold of {threshold:g} HPL does not check its results")
    return threshold
