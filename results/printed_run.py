"""A run of HPL as its output identifies it, in whichever file the output is: row, residual and time stamps."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from hpl.params import Scalar

from .plain import finite
from .record import TrialRecord

RESIDUAL_TOLERANCE = 0.001
"""Forks and extracts print a residual with three digits at least."""
_ROW = ("variant", "PMAP", "DEPTH", "BCAST", "RFACT", "NDIV", "PFACT", "NBMIN", "N", "NB", "grid")
"""The parameters that a row of HPL's table tells."""


@dataclass(frozen=True)
class PrintedRun:
    """What HPL printed of a run.

    Attributes:
        row: parameters, time and rate in its row.
        checked: whether its residual check was printed, too; an extract may leave it out.
        residual: None where none was printed, or no finite one.
        stamps: when it started and ended; None where HPL, or an extract, does not say when it ended.
    """

    row: tuple[Scalar | None, ...]
    checked: bool
    residual: float | None
    stamps: tuple[datetime, datetime] | None

    @classmethod
    def of(cls, record: TrialRecord) -> Self:
        """Read it from an imported trial."""
        row = (*(record.params.get(name) for name in _ROW), finite(record.time_s), finite(record.gflops))
        stamps = None if record.ended_at is None else (record.started_at, record.ended_at)
        return cls(row, record.passed is not None, finite(record.residual), stamps)

    @property
    def completeness(self) -> tuple[bool, bool]:
        """How much was printed of it; of two outputs of a run the one with the larger value says more."""
        return self.checked, self.stamps is not None

    def same_as(self, other: "PrintedRun") -> bool:
        """Whether both are of one run, as far as both say; what only one of them prints does not part them."""
        if self.row != other.row:
            return False
        if self.checked and other.checked and not _alike(self.residual, other.residual):
            return False
        return self.stamps is None or other.stamps is None or self.stamps == other.stamps


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=RESIDUAL_TOLERANCE)
