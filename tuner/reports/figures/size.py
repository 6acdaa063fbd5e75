"""The rate of the best configuration and those beside it against N, up to what is predicted of the whole memory."""

from collections.abc import Sequence
from dataclasses import replace

from hpl.sizing import gflops as rate
from results.record import TrialRecord
from results.report.model import Figure, Sentence, Series

from ...study.sizing.extrapolation import COVERAGE, Extrapolation
from ...study.sizing.prediction import NotedPrediction
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
    caption = drawn.caption
    if told:
        caption += f" The error bar is the range of {100 * COVERAGE:.0f} % of runs, as predicted."
    rivals = {rival.trial: rival.called for rival in (predicted.rivals if predicted else ())}
    for run in records:
        beside = rate_by_size(records, run.params, least=1) if run.number in rivals else None
        series += [replace(one, name=f"{rivals[run.number]}: runs") for one in (beside.series[:1] if beside else ())]
    title = f"Rate of {predicted.called} against N" if predicted and predicted.rivals else drawn.title
    return replace(drawn, title=title, series=tuple(series), caption=caption)


def _fitted(predicted: Extrapolation, least_n: float) -> Series:
    """Draw the curve that the prediction is made from."""
    a, b, c = predicted.coefficients
    sizes = [least_n + (predicted.N - least_n) * step / STEPS for step in range(STEPS + 1)]
    rates = tuple(min(predicted.gflops, rate(round(N), a * N**3 + b * N**2 + c * N)) for N in sizes)
    return Series("fitted", tuple(sizes), rates, line=True, bare=True)


def whole_memory(predicted: NotedPrediction | None, confirmed: Sequence[TrialRecord]) -> list[Sentence]:
    """Say what ran in turn, what was predicted of the whole memory, and whether runs there agree."""
    if predicted is None:
        return []
    full = predicted.full
    low, high = full.gflops_range
    said = [predicted.at_whole_memory, predicted.in_turn]
    for gflops in (run.gflops for run in confirmed if run.gflops and run.hpl and run.hpl.N == full.N):
        where = "below" if gflops < low else "above" if gflops > high else "within"
        held = "" if full.too_far else f", {where} that range"
        said.append(f"A run there gave {gflops:.2f} GFLOPS{held}.")
    return [Sentence(text) for text in said]
