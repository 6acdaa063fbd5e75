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
from ...tuning.whole_memory import CHANGES_WITH_N
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
    trials = {rival.trial: rival for rival in (predicted.rivals if predicted else ()) if rival.faster is not None}
    rivals = [run for run in records if run.number in trials]
    if rivals:
        series[0] = replace(series[0], name=_called(best, rivals))
        series += [_line(records, trials[run.number], run) for run in rivals]
        caption += " A line joins the median rates of a rival and what is predicted of it."
    return replace(drawn, series=tuple(series), caption=caption)


def _line(records: Sequence[TrialRecord], rival: Rival, run: TrialRecord) -> Series:
    """Draw a rival, of which a run is given, at each N that it ran at, and as predicted of the whole memory."""
    drawn = rate_by_size(records, run.params, least=0)
    runs = zip(drawn.series[0].x, drawn.series[0].y, strict=True) if drawn and drawn.series else ()
    of_each = [(float(N), median(y for _, y in alike)) for N, alike in groupby(runs, key=lambda point: point[0])]
    sizes, rates = zip(*of_each, (float(rival.full.N), rival.full.gflops), strict=True)
    return Series(rival.called, sizes, rates, line=True)


def _called(best: TrialRecord, rivals: Sequence[TrialRecord]) -> str:
    """Name the runs of the best by the values in which rivals differ from it."""
    differing = [
        name for name in CHANGES_WITH_N if any(run.params.get(name) != best.params.get(name) for run in rivals)
    ]
    return f"{', '.join(f'{name}={best.params[name]}' for name in differing if name in best.params)}, the best: runs"


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
