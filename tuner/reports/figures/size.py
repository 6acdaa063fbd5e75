"""The rate of the best configuration against N, up to what is predicted of the whole memory and a run there."""

from collections.abc import Sequence
from dataclasses import replace

from hpl.sizing import gflops as rate
from results.record import TrialRecord
from results.report.model import Figure, Sentence, Series

from ...tuning.extrapolation import COVERAGE, Extrapolation
from ..story import rate_by_size

STEPS = 40
"""Points of the curve that was fitted to the runs."""


def size(
    records: Sequence[TrialRecord],
    best: TrialRecord,
    predicted: Extrapolation | None = None,
    confirmed: Sequence[TrialRecord] = (),
) -> Figure | None:
    """Draw the runs at each N; None where there is only one N.

    Args:
        predicted: of the whole memory; it is left out where the runs cannot tell it.
        confirmed: runs at the whole memory.
    """
    at_whole = [(float(run.hpl.N), run.gflops) for run in confirmed if run.hpl and run.gflops]
    told = predicted if predicted and predicted.can_tell else None
    drawn = rate_by_size(records, best.params, least=1 if told or at_whole else 2)
    if drawn is None:
        return None
    series = list(drawn.series)
    if told:
        low, high = told.gflops_range
        sizes = tuple(float(N) for N in drawn.series[0].x if not isinstance(N, str))
        series += [
            _fitted(told, min(sizes)),
            Series(
                f"predicted, {100 * COVERAGE:.0f} % of runs", (float(told.N),), (told.gflops,), low=(low,), high=(high,)
            ),
        ]
    if at_whole:
        N, gflops = zip(*at_whole, strict=True)
        series.append(Series("measured there", N, gflops))
    caption = f"The error bar is the range of {100 * COVERAGE:.0f} % of runs, as predicted." if told else ""
    return replace(drawn, series=tuple(series), caption=f"{drawn.caption} {caption}".rstrip())


def _fitted(predicted: Extrapolation, least_n: float) -> Series:
    """Draw the curve that the prediction is made from."""
    a, b, c = predicted.coefficients
    sizes = [least_n + (predicted.N - least_n) * step / STEPS for step in range(STEPS + 1)]
    rates = tuple(min(predicted.gflops, rate(round(N), a * N**3 + b * N**2 + c * N)) for N in sizes)
    return Series("fitted", tuple(sizes), rates, line=True, bare=True)


def whole_memory(predicted: Extrapolation | None, confirmed: Sequence[TrialRecord]) -> list[Sentence]:
    """Say what was predicted of the whole memory, and whether runs there agree."""
    if predicted is None:
        return []
    said = [Sentence(f"The whole memory holds N={predicted.N}: {predicted.sentence}.")]
    rates = [run.gflops for run in confirmed if run.gflops and run.hpl and run.hpl.N == predicted.N]
    low, high = predicted.gflops_range
    for gflops in rates:
        where = "below" if gflops < low else "above" if gflops > high else "within"
        held = "" if predicted.too_far else f", {where} that range"
        said.append(Sentence(f"A run there gave {gflops:.2f} GFLOPS{held}."))
    return said
