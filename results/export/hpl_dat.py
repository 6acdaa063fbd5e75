"""Writes the HPL.dat of a stored trial."""

from hpl.dat import HplDat, render

from ..errors import NoHplDatError
from ..record import Kind, TrialRecord


def to_hpl_dat(record: TrialRecord) -> str:
    """Return the HPL.dat of a trial: the stored file that it ran, else an equivalent one.

    Raises:
        NoHplDatError: the trial ended before it had an HPL.dat.
    """
    if record.hpl_dat:
        return record.hpl_dat
    if record.hpl is None:
        missing = "its output does not tell all parameters" if record.kind is Kind.IMPORTED else "it was never planned"
        raise NoHplDatError(f"trial {record.number} of study {record.study} has no HPL.dat: {record.reason or missing}")
    return render(HplDat.of(record.hpl))
