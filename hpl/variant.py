"""The T/V code of a result line: the letters and digits in which HPL prints a configuration.

`W` PMAP (R or C), DEPTH, BCAST digit, RFACT letter, NDIV, PFACT letter, NBMIN, as `HPL_pdtest.c` prints them; SWAP, its
threshold, L1, U, EQUIL and the alignment are not in it.
"""

import re
from dataclasses import dataclass

from .errors import HplError
from .params import Bcast, Fact, HplParams, Pmap

CODE = re.compile(r"W([RC])(\d+)(\d)([LCR])(\d+)([LCR])(\d+)")
_FORK = re.compile(r"W[RC][A-Za-z0-9]{0,30}")
"""What forks print: NVIDIA's a short code, AMD's `WRC07R8C48c` or `WR0XR8C48`, with letters of its own."""
_LETTERS = {"L": Fact.LEFT, "C": Fact.CROUT, "R": Fact.RIGHT}
_MAPS = {"R": Pmap.ROW, "C": Pmap.COLUMN}


class VariantError(HplError):
    """A text that is no T/V code of netlib's HPL."""


@dataclass(frozen=True)
class Variant:
    """What a T/V code says; ranges as in HplParams."""

    PMAP: Pmap
    DEPTH: int
    BCAST: Bcast
    RFACT: Fact
    NDIV: int
    PFACT: Fact
    NBMIN: int

    @property
    def code(self) -> str:
        """The code as HPL prints it."""
        return (
            f"W{self.PMAP.name[0]}{self.DEPTH}{int(self.BCAST)}"
            f"{self.RFACT.name[0]}{self.NDIV}{self.PFACT.name[0]}{self.NBMIN}"
        )


def encode(params: HplParams) -> str:
    """The T/V code HPL prints for a run, e.g. "WR11C2R4"."""
    return Variant(params.PMAP, params.DEPTH, params.BCAST, params.RFACT, params.NDIV, params.PFACT, params.NBMIN).code


def is_code(word: str) -> bool:
    """Whether a word can be the T/V code of a result line, of netlib's HPL or of a fork: it has a digit."""
    return _FORK.fullmatch(word) is not None and any(letter.isdigit() for letter in word)


def contradicts(code: str, params: HplParams) -> bool:
    """Whether a result line's code tells another variant than that of a run; one of a fork's own form tells none."""
    return CODE.fullmatch(code) is not None and code != encode(params)


def decode(code: str) -> Variant:
    """What a T/V code says.

    Raises:
        VariantError: it is not of the form, or names a broadcast only vendors' versions have.
    """
    match = CODE.fullmatch(code)
    if match is None:
        raise VariantError(f"{code!r} is not a T/V code of HPL such as WR11C2R4")
    pmap, depth, bcast, rfact, ndiv, pfact, nbmin = match.groups()
    if int(bcast) > max(Bcast):
        raise VariantError(f"T/V code {code}: broadcast {bcast} exists only in vendors' versions; HPL has 0 to 5")
    return Variant(
        _MAPS[pmap], int(depth), Bcast.from_digit(int(bcast)), _LETTERS[rfact], int(ndiv), _LETTERS[pfact], int(nbmin)
    )
