"""The T/V code of a result line: letters and digits that stand for a configuration.

`HPL_pdtest.c` prints `W`, PMAP (R or C), DEPTH, BCAST's digit, RFACT's letter, NDIV, PFACT's letter and NBMIN. The code
does not contain SWAP, its threshold, L1, U, EQUIL and the alignment.
"""

import re
from dataclasses import dataclass

from .errors import HplError
from .params import Bcast, Fact, HplParams, Pmap

CODE = re.compile(r"W([RC])(\d+)(\d)([LCR])(\d+)([LCR])(\d+)")
_FORK = re.compile(r"W[RC][A-Za-z0-9]{0,30}")
"""Codes of forks: NVIDIA prints a short one, AMD `WRC07R8C48c` or `WR0XR8C48`, with letters of its own."""
_LETTERS = {"L": Fact.LEFT, "C": Fact.CROUT, "R": Fact.RIGHT}
_MAPS = {"R": Pmap.ROW, "C": Pmap.COLUMN}


class VariantError(HplError):
    """The text is no T/V code of netlib's HPL."""


@dataclass(frozen=True)
class Variant:
    """The parameters in a T/V code; their ranges are as in HplParams."""

    PMAP: Pmap
    DEPTH: int
    BCAST: Bcast
    RFACT: Fact
    NDIV: int
    PFACT: Fact
    NBMIN: int


def encode(params: HplParams) -> str:
    """Return the T/V code that HPL prints for a run, for example "WR11C2R4"."""
    return (
        f"W{params.PMAP.name[0]}{params.DEPTH}{int(params.BCAST)}"
        f"{params.RFACT.name[0]}{params.NDIV}{params.PFACT.name[0]}{params.NBMIN}"
    )


def is_code(word: str) -> bool:
    """Return whether a word, of netlib's HPL or of a fork, looks like a T/V code with a digit."""
    return _FORK.fullmatch(word) is not None and any(letter.isdigit() for letter in word)


def contradicts(code: str, params: HplParams) -> bool:
    """Return whether a code names another variant than that of a run; a fork's own code contradicts nothing."""
    return CODE.fullmatch(code) is not None and code != encode(params)


def decode(code: str) -> Variant:
    """Read a T/V code.

    Raises:
        VariantError: the text has another form, or names a broadcast that nobody knows.
    """
    match = CODE.fullmatch(code)
    if match is None:
        raise VariantError(f"{code!r} is not a T/V code of HPL such as WR11C2R4")
    pmap, depth, bcast, rfact, ndiv, pfact, nbmin = match.groups()
    if int(bcast) > max(Bcast):
        raise VariantError(f"T/V code {code}: broadcast {bcast} is unknown; HPL has 0 to 5, and vendors 6 and 7")
    return Variant(
        _MAPS[pmap], int(depth), Bcast.from_digit(int(bcast)), _LETTERS[rfact], int(ndiv), _LETTERS[pfact], int(nbmin)
    )
