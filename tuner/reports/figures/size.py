"""The rate of the best configuration and its rivals against N, up to what is predicted of the whole memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median

from hpl.sizing import gflops as rate
from results.record import TrialRecord
from results.report.model import Figure, Sentence, Series

from ...tuning.extrapolation import COVERAGE, Extrapolation
from ...tuning.prediction import NotedPrediction, Rival
from ..story import rate_by_size

STEPS = 40
"""Points of the curve that was fitted to the runs."""


def size(
    records: Sequence[TrialRecord],
    best: TrialRecord,
    predicted: NotedPrediction | None = None,
    confirmed: Sequence[TrialRecord] = (),
) -> Figure | None:
    """Draw the runs at each N; None where there is only one N.

    Args:
        predicted: of the whole memory; what the runs cannot tell is left out.
        confirmed: runs of the best at the whole memory.
    """
    at_whole = [(float(run.hpl.N), run.gflops) for run in confirmed if run.hpl and run.gflops]
    told = predicted.full if predicted and predicted.full.can_tell else None
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
    caption = (
        f"{drawn.caption} The error bar is the range of {100 * COVERAGE:.0f} % of runs, as predicted."
        if told
        else drawn.caption
    )
    rivals = [line for rival in (predicted.rivals if predicted else ()) if (line := _line(records, rival))]
    if not rivals:
        return replace(drawn, series=tuple(series), caption=caption)
    beside = " A line is a rival at its median rates; its last point is predicted, with the same range."
    title = f"{drawn.title}, and its rivals"
    return replace(drawn, title=title, series=(*series, *rivals), caption=caption + beside)


def _line(records: Sequence[TrialRecord], rival: Rival) -> Series | None:
    """Draw a rival at each N that it ran at, and as predicted of the whole memory; None where that is not told."""
    run = next((record for record in records if record.number == rival.trial), None)
    drawn = rate_by_size(records, run.params, least=1) if run and rival.faster is not None else None
    if drawn is None:
        return None
    runs = sorted((float(N), y) for N, y in zip(drawn.series[0].x, drawn.series[0].y, strict=True))
    own = {N: [y for _, y in alike] for N, alike in groupby(runs, key=lambda point: point[0])}
    ranges = [*((min(ys), max(ys)) for ys in own.values()), rival.full.gflops_range]
    low, high = zip(*ranges, strict=True)
    rates = (*map(median, own.values()), rival.full.gflops)
    return Series(rival.called, (*own, float(rival.full.N)), rates, line=True, low=low, high=high)


def _fitted(predicted: Extrapolation, least_n: float) -> Series:
    """Draw the curve that the prediction is made from."""
    a, b, c = predicted.coefficients
    sizes = [least_n + (predicted.N - least_n) * step / STEPS for step in range(STEPS + 1)]
    rates = tuple(min(predicted.gflops, rate(round(N), a * N**3 + b * N**2 + c * N)) for N in sizes)
    return Series("fitted", tuple(sizes), rates, line=True, bare=True)


def whole_memory(
    predicted: NotedPrediction | None,
    confirmed: Sequence[TrialRecord],
    of_rivals: Mapping[int, Sequence[TrialRecord]],
) -> list[Sentence]:
    """Say what was predicted of the whole memory, whether runs there agree, and which rivals may be faster there.

    Args:
        of_rivals: runs of rivals at the whole memory, by the trials that stand for them.
    """
    if predicted is None:
        return []
    full = predicted.full
    said = [f"The whole memory holds N={full.N}: {full.sentence}.", *_held("A run", full, confirmed)]
    for rival in predicted.rivals:
        runs = of_rivals.get(rival.trial, ())
        said += [f"{predicted.sentence(rival)}.", *_held(f"A run of {rival.called}", rival.full, runs)]
    return [Sentence(text) for text in said]


def _held(which: str, predicted: Extrapolation, runs: Sequence[TrialRecord]) -> list[str]:
    """Say whether runs at the whole memory are as predicted."""
    low, high = predicted.gflops_range
    said = []
    for gflops in (run.gflops for run in runs if run.gflops and run.hpl and run.hpl.N == predicted.N):
        where = "below" if gflops < low else "above" if gflops > high else "within"
        held = "" if predicted.too_far else f", {where} that range"
        said.append(f"{which} there gave {gflops:.2f} GFLOPS{held}.")
    return said
