"""The winner runs at smaller N, so that its time at the N of the whole memory can be predicted."""

from collections.abc import Sequence
from dataclasses import replace

from results.record import Kind
from results.stats.levels import drift_corrected
from results.stats.ranking import Ranked

from ..events import PhaseStarted
from ..machine.problem_size import SMALLEST_N, STEP, Sample
from ..machine.textbook import full_memory_n
from ..options import TuneOptions
from ..study.incumbent import noise_of_runs
from ..study.search.launch_worker import LaunchWorker
from .extrapolation import Extrapolation, extrapolate
from .pilot import samples_of
from .prediction_note import NotedPrediction, note_prediction

SMALLER_SIZES = (0.5, 0.25)
"""Parts of the study's N at which the winner is run once more: with N itself they fix the three terms of T(N)."""
SMALLER_RUNS = 0.3
"""What those smaller runs cost in runs at N, start-up included."""


def predict_full(worker: LaunchWorker, ranking: Sequence[Ranked], options: TuneOptions) -> Extrapolation | None:
    """Run the winner at two smaller N and note what it should do at the whole memory; None where that is no larger."""
    session, site = worker.session, worker.evaluator.site
    if not ranking or session.stopped:
        return None
    winner = ranking[0]
    best = session.context.store.get(session.study, winner.best_record_number)
    if best.hpl is None:
        return None
    N = full_memory_n(site, NB=best.hpl.NB, P=best.hpl.P, Q=best.hpl.Q, fraction=options.memory_fraction)
    if N <= best.hpl.N:
        return None
    session.context.listener(PhaseStarted("extrapolation", len(SMALLER_SIZES)))
    samples: list[Sample] = samples_of([replace(best, gflops=winner.expected_gflops)])
    for part in SMALLER_SIZES:
        if session.stopped or session.meter.out_of_time(0.0):
            break
        smaller = max(SMALLEST_N, int(best.hpl.N * part) // STEP * STEP)
        samples += samples_of([worker.trial({**winner.params, "N": smaller}, Kind.EXTRAPOLATION)])
    shown = session.objective.noise_at_first
    noise = noise_of_runs(session.records((Kind.SMALL,)), drift_corrected(ranking, shown), shown)
    full = extrapolate(samples, N, noise, site.ceiling_gflops, max(winner.gflops))
    note_prediction(session.context.store, session.study, NotedPrediction(full, best.number))
    return full
