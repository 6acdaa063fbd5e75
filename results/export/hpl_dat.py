"""Writes the HPL.dat of a stored trial."""

from hpl.dat import HplDat, render

from ..errors import ResultsError
from ..record import TrialRecord


def to_hpl_dat(record: TrialRecord) -> str:
    """Return the HPL.dat of a trial: the stored file that it ran, else an equivalent one.

    Raises:
        ResultsError: the trial ended before it had an HPL.dat.
    """
    if record.hpl_dat:
        return record.hpl_dat
    if record.hpl is None:
        raise ResultsError(
            f"trial {record.number} of study {record.study} has no HPL.dat: {record.reason or 'it was never planned'}"
        )
    return render(HplDat.of(record.hpl))
