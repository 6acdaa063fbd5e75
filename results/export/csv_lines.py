"""Writes trials as CSV, one line per trial in the columns of `results.columns`, and the HPL.dat of one trial."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from hpl.dat import HplDat, render

from ..columns import COLUMNS, TrialPlace, cells_of
from ..errors import NoHplDatError
from ..plain import unicode_text
from ..record import Kind, TrialRecord
from ..store.rows import Row


def to_hpl_dat(record: TrialRecord) -> str:
    """Return the HPL.dat of a trial: the stored file that it ran, else an equivalent one.

    Raises:
        NoHplDatError: the trial ended before it had an HPL.dat.
    """
    if record.hpl_dat:
        return record.hpl_dat
    if record.hpl is None:
        missing = "its output does not tell all parameters" if record.kind is Kind.IMPORTED else "it was never planned"
        if record.command:
            missing = "its program reads none"
        raise NoHplDatError(f"trial {record.number} of study {record.study} has no HPL.dat: {record.reason or missing}")
    return render(HplDat.of(record.hpl))


NOWHERE: Mapping[int, TrialPlace] = MappingProxyType({})
LINES = 500
"""Lines in a part."""


def csv_parts(more: Sequence[str], rows: Iterable[Row], placed: Mapping[int, TrialPlace] = NOWHERE) -> Iterator[str]:
    """Yield the CSV of a stream of rows, in parts of some lines.

    Args:
        more: names of the parameters that get a column after the others.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, *more))
    for number, (values, params) in enumerate(rows, start=1):
        writer.writerow(
            [*cells_of(values, placed.get(values["number"])).values(), *(params.get(name) for name in more)]
        )
        if number % LINES == 0:
            yield unicode_text(text.getvalue())
            text.seek(0)
            text.truncate()
    yield unicode_text(text.getvalue())
