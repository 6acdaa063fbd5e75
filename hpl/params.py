"""The parameters of one HPL run, with HPL's own names, digits and legal ranges.

The ranges are those of `HPL_pdinfo.c`. HPL silently replaces some values out of range (enumerations, EQUIL, alignment);
hpltune refuses them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cache
from typing import Self, cast

from .errors import HplError

LARGEST_INT = 2**31 - 1
"""HPL counts rows, columns and ranks in C's int."""


class HplParamsError(HplError):
    """A value that HPL would reject or silently replace.

    Attributes:
        name: the parameter's name.
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"{name} = {value} is not legal: expected {expected}")
        self.name = name
        self.value = value
        self.expected = expected


class Word(IntEnum):
    """An enumeration of HPL.dat: a digit in the file, a word in spaces, records and tables."""

    word: str

    def __new__(cls, digit: int, word: str) -> Self:  # noqa: D102 - members are made by the class body
        member = int.__new__(cls, digit)
        member._value_ = digit
        member.word = word
        return member

    @classmethod
    def from_digit(cls, digit: int) -> Self:
        """Return the member that HPL.dat writes as this digit.

        Raises:
            HplParamsError: no member has this digit.
        """
        for member in cls:
            if int(member) == digit:
                return member
        raise HplParamsError(cls.__name__, digit, "one of " + ", ".join(str(int(member)) for member in cls))

    @classmethod
    def from_word(cls, word: str) -> Self:
        """Return the member with this word.

        Raises:
            HplParamsError: no member has this word.
        """
        member = _members(cls).get(word)
        if member is None:
            raise HplParamsError(cls.__name__, word, "one of " + ", ".join(_members(cls)))
        return cast("Self", member)


@cache
def _members(kind: type[Word]) -> dict[str, Word]:
    return {member.word: member for member in kind}


class Pmap(Word):
    """Order in which ranks fill the process grid."""

    ROW = (0, "row")
    COLUMN = (1, "column")


class Fact(Word):
    """Variant of a panel factorisation: PFACT and RFACT."""

    LEFT = (0, "left")
    CROUT = (1, "crout")
    RIGHT = (2, "right")


class Bcast(Word):
    """How a panel travels along a process row; 6 and 7 are only in vendors' HPL: Intel's pushes, AMD's hybrid panel."""

    ONE_RING = (0, "1rg")
    ONE_RING_M = (1, "1rM")
    TWO_RING = (2, "2rg")
    TWO_RING_M = (3, "2rM")
    LONG = (4, "Lng")
    LONG_M = (5, "LnM")
    VENDOR_6 = (6, "bc6")
    VENDOR_7 = (7, "bc7")

    @property
    def of_vendors(self) -> bool:
        """Whether netlib's HPL lacks it."""
        return self > Bcast.LONG_M


class Swap(Word):
    """How rows are exchanged during the update."""

    BINARY_EXCHANGE = (0, "bin")
    LONG = (1, "long")
    MIX = (2, "mix")


class Form(Word):
    """Storage of L1 and U."""

    TRANSPOSED = (0, "transposed")
    NOT_TRANSPOSED = (1, "notransposed")


Scalar = str | int | float | bool
_WORDS: dict[str, type[Word]] = {
    "PMAP": Pmap, "PFACT": Fact, "RFACT": Fact, "BCAST": Bcast, "SWAP": Swap, "L1": Form, "U": Form,
}  # fmt: skip
_LEAST = {"N": 0, "NB": 1, "P": 1, "Q": 1, "NBMIN": 1, "NDIV": 2, "DEPTH": 0, "swap_threshold": 0, "alignment": 1}


@dataclass(frozen=True)
class HplParams:
    """The parameters of one run of HPL: all 17 kinds in HPL.dat, where P and Q count as one kind.

    Attributes:
        N: order of the matrix, 0 or more.
        NB: columns of a panel, at least 1.
        P, Q: rows and columns of the process grid, at least 1.
        threshold: the largest residual that passes; with 0 or less HPL does not check.
        NBMIN: columns at which the recursion of the panel factorisation stops, at least 1.
        NDIV: panels in the recursion, at least 2.
        DEPTH: look-ahead, at least 0.
        swap_threshold: columns up to which "mix" swaps by binary exchange, at least 0.
        EQUIL: equilibrate the long swap.
        alignment: memory alignment in doubles, at least 1.

    Raises:
        HplParamsError: a value is out of range.
    """

    N: int
    NB: int
    P: int
    Q: int
    PMAP: Pmap = Pmap.ROW
    threshold: float = 16.0
    PFACT: Fact = Fact.RIGHT
    NBMIN: int = 4
    NDIV: int = 2
    RFACT: Fact = Fact.CROUT
    BCAST: Bcast = Bcast.ONE_RING_M
    DEPTH: int = 1
    SWAP: Swap = Swap.MIX
    swap_threshold: int = 64
    L1: Form = Form.TRANSPOSED
    U: Form = Form.TRANSPOSED
    EQUIL: bool = True
    alignment: int = 8

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_INT:
                raise HplParamsError(name, value, f"a whole number of at least {least}")
        for name, kind in _WORDS.items():
            if not isinstance(getattr(self, name), kind):
                raise HplParamsError(name, getattr(self, name), f"a {kind.__name__}")
        if self.P * self.Q > LARGEST_INT:
            raise HplParamsError("P x Q", f"{self.P} x {self.Q}", f"at most {LARGEST_INT} ranks")
        if not math.isfinite(self.threshold):
            raise HplParamsError("threshold", self.threshold, "a finite number")

    @property
    def ranks(self) -> int:
        """The number of ranks in the process grid."""
        return self.P * self.Q

    def words(self) -> dict[str, Scalar]:
        """Return the values as spaces name them: `grid` for P and Q, words for enumerations, yes/no for EQUIL."""
        named: dict[str, Scalar] = {"N": self.N, "NB": self.NB, "grid": f"{self.P}x{self.Q}"}
        for field in fields(self)[4:]:
            value = getattr(self, field.name)
            named[field.name] = value.word if isinstance(value, Word) else value
        return {**named, "EQUIL": "yes" if self.EQUIL else "no"}

    @classmethod
    def from_words(cls, words: Mapping[str, Scalar]) -> HplParams:
        """Read the parameters from `words`; missing names take their default, and unknown names are ignored.

        Raises:
            HplParamsError: N, NB or grid is missing, or a value is not legal.
        """
        given = {name: _from_word(name, words[name]) for name in _names() if name in words}
        for name in ("N", "NB", "grid"):
            if name not in words:
                raise HplParamsError(name, "nothing", "a value")
        given["P"], given["Q"] = parse_grid(str(words["grid"]))
        return cls(**given)  # type: ignore[arg-type]  # every value is checked in __post_init__


@cache
def _names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(HplParams))


def parse_grid(grid: str) -> tuple[int, int]:
    """Read P and Q from "PxQ".

    Raises:
        HplParamsError: the text has another form.
    """
    rows, cross, columns = grid.partition("x")
    if not cross or not rows.isdecimal() or not columns.isdecimal():
        raise HplParamsError("grid", grid, 'P x Q as "2x4"')
    return int(rows), int(columns)


def _from_word(name: str, value: Scalar) -> object:
    if name in _WORDS:
        return _WORDS[name].from_word(str(value))
    if name == "EQUIL":
        if value not in {"yes", "no", True, False}:
            raise HplParamsError(name, value, "yes or no")
        return value in {"yes", True}
    return float(value) if name == "threshold" and isinstance(value, int) else value
