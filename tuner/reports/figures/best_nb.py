"""The best rate at each NB, for each BLAS library and kernel."""

from collections.abc import Sequence

from results.record import TrialRecord
from results.report.model import Figure, Series

from ..story import full_runs

Place = tuple[str, int]


def best_nb(records: Sequence[TrialRecord]) -> Figure | None:
    """Draw a line for each library and kernel; None where fewer than two NB ran."""
    best: dict[str, dict[int, float]] = {}
    for record in full_runs(records):
        NB = record.hpl.NB if record.hpl else record.params.get("NB")
        if isinstance(NB, int):
            rates = best.setdefault(_library(record), {})
            rates[NB] = max(rates.get(NB, 0.0), record.gflops or 0.0)
    if len({NB for rates in best.values() for NB in rates}) < 2:
        return None
    series = tuple(
        Series(name, tuple(sorted(rates)), tuple(rates[NB] for NB in sorted(rates)), line=True)
        for name, rates in best.items()
    )
    return Figure("Best rate at each NB", "NB", "GFLOPS", series)


def _library(record: TrialRecord) -> str:
    """The library and the kernel of a trial, if a kernel was chosen."""
    kernel = record.params.get("kernel", "auto")
    name = str(record.params.get("blas", "all runs"))
    return name if kernel == "auto" else f"{name}, {kernel}"
