"""The end of a study at a smaller N: what its winner, and those that may overtake it, should do at the whole memory."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.stats.headline import UNFINISHED
from results.stats.levels import drift_corrected
from results.stats.ranking import Ranked

from ..events import PhaseStarted
from ..machine.equipment import PROGRAM
from ..machine.inventory import running
from ..machine.problem_size import SMALLEST_N, STEP, Sample, full_memory_n, launch_s
from ..options import TuneOptions
from ..study.ledger import noise_of_runs
from ..study.search.workers import LaunchWorker
from .pilot import samples_of

if TYPE_CHECKING:
    from .prediction import NotedPrediction

SMALLER_SIZES = (0.5, 0.25)
"""Parts of a configuration's N at which it is run once more: with N itself they fix the three terms of T(N)."""
NEAR = 0.25
"""Part of such an N by which one that ran already may differ, so that it stands for it."""
SMALLER_RUNS = 0.3
"""What those smaller runs cost in runs at N, start-up included."""
MOST_RIVALS = 2
CLOSE = 0.95
"""Part of the winner's rate that a rival is expected to reach at the study's N."""
CHANGES_WITH_N = ("NB", "grid", "layout", "blas", PROGRAM)
"""Parameters whose best value depends on N most."""


@dataclass(frozen=True)
class _Sized:
    """A configuration with its runs at several N.

    Attributes:
        best: the run that stands for it.
        N: what the whole memory holds.
    """

    entry: Ranked
    best: TrialRecord
    N: int
    samples: Sequence[Sample]


def predict_full(worker: LaunchWorker, ranking: Sequence[Ranked], options: TuneOptions) -> "NotedPrediction | None":
    """Run the winner and its rivals at smaller N, and note what they should do at the whole memory.

    Returns:
        None where the whole memory holds no larger N than the winner's.
    """
    session = worker.session
    if not ranking or session.stopped:
        return None
    winner = _configuration(worker, ranking[0], options)
    if winner is None:
        return None
    from .extrapolation import FARTHEST, extrapolate  # noqa: PLC0415 - needed at the end
    from .prediction import NotedPrediction, Rival, note_prediction, probability_faster  # noqa: PLC0415

    told = winner.N <= FARTHEST * winner.samples[0].N
    close = [_configuration(worker, entry, options) for entry in (rivals_of(ranking) if told else ())]
    rivals = [one for one in close if one is not None]
    session.context.listener(PhaseStarted("extrapolation", sum(len(_due(one)) for one in (winner, *rivals))))
    winner = _at_smaller_sizes(worker, winner)
    ran = [one for one in (_at_smaller_sizes(worker, rival, in_time=True) for rival in rivals) if len(one.samples) > 2]
    shown, ceiling = session.objective.noise_at_first, worker.evaluator.site.ceiling_gflops
    noise = noise_of_runs(session.records((Kind.SMALL,)), drift_corrected(ranking, shown), shown)
    full, *others = (extrapolate(one.samples, one.N, noise, ceiling, max(one.entry.gflops)) for one in (winner, *ran))
    beside = tuple(
        Rival(
            one.best.number,
            _difference(one.entry, winner.entry),
            other,
            probability_faster(one.samples, winner.samples, (one.N, winner.N), noise, ceiling)
            if full.can_tell and other.can_tell
            else None,
        )
        for one, other in zip(ran, others, strict=True)
    )
    noted = NotedPrediction(full, winner.best.number, beside)
    note_prediction(session.context.store, session.study, noted)
    return noted


def rivals_of(ranking: Sequence[Ranked]) -> list[Ranked]:
    """Those that may overtake the winner at a larger N: nearly as fast, and other in what changes with N.

    Of several that are alike in that the best one, at the winner's N.
    """
    winner = ranking[0]
    known, found = {_changing(winner)}, list[Ranked]()
    for entry in ranking[1:]:
        close = CLOSE * winner.expected_gflops <= entry.expected_gflops and not entry.unclear
        if close and entry.params.get("N") == winner.params.get("N") and _changing(entry) not in known:
            known.add(_changing(entry))
            found.append(entry)
    return found[:MOST_RIVALS]


def _changing(entry: Ranked) -> tuple[Scalar | None, ...]:
    return tuple(entry.params.get(name) for name in CHANGES_WITH_N)


def _difference(rival: Ranked, winner: Ranked) -> str:
    """What a rival has in place of the winner's values, of what changes with N."""
    names = [name for name in CHANGES_WITH_N if rival.params.get(name) != winner.params.get(name)]
    return ", ".join(f"{name}={rival.params.get(name, '-')}" for name in names)


def _configuration(worker: LaunchWorker, entry: Ranked, options: TuneOptions) -> _Sized | None:
    """A configuration with its runs of the study; None where the whole memory holds no larger N."""
    session = worker.session
    best = session.context.store.get(session.study, entry.best_record_number)
    if best.hpl is None:
        return None
    site = running(worker.evaluator.site, str(entry.params.get(PROGRAM, "")))
    N = full_memory_n(site, NB=best.hpl.NB, P=best.hpl.P, Q=best.hpl.Q, fraction=options.memory_fraction)
    if N <= best.hpl.N:
        return None
    expected = samples_of([replace(best, gflops=entry.expected_gflops)])
    if not expected:
        return None
    return _Sized(entry, best, N, [*expected, *_at_other_sizes(session.records(), best)])


def _at_other_sizes(records: Sequence[TrialRecord], best: TrialRecord) -> list[Sample]:
    """The runs of the same configuration at any other N that nothing disturbed."""
    alike = {**best.params, "N": None}
    by_n: dict[int, list[TrialRecord]] = defaultdict(list)
    for record in records:
        quiet = record.disturbed is None and record.kind not in UNFINISHED and record.hpl is not None
        if quiet and record.hpl and best.hpl and record.hpl.N != best.hpl.N and {**record.params, "N": None} == alike:
            by_n[record.hpl.N].append(record)
    return [sample for runs in by_n.values() for sample in samples_of(runs)]


def _due(one: _Sized) -> list[int]:
    """The smaller N at which a configuration still has to run."""
    largest_n = one.samples[0].N
    wanted = [max(SMALLEST_N, int(largest_n * part) // STEP * STEP) for part in SMALLER_SIZES]
    return [N for N in wanted if not any(abs(sample.N - N) <= NEAR * N for sample in one.samples[1:])]


def _at_smaller_sizes(worker: LaunchWorker, one: _Sized, *, in_time: bool = False) -> _Sized:
    """Run a configuration at the smaller N that are due, as far as the budget allows.

    Args:
        in_time: a run begins only where the budget has room for all of it.
    """
    session, samples = worker.session, list(one.samples)
    for N in _due(one):
        needed_s = launch_s(samples[:1], N) if in_time else 0.0
        if session.stopped or session.meter.out_of_time(needed_s):
            break
        samples += samples_of([worker.trial({**one.entry.params, "N": N}, Kind.EXTRAPOLATION)])
    return replace(one, samples=samples)
