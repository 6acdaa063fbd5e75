"""The end of a study at a smaller N: which configuration is the fastest at a larger one, and what it gives there."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from statistics import median
from typing import TYPE_CHECKING

from hpl.params import Scalar
from hpl.sizing import process_grids
from results.metrics import prefix_gflops, updated_part
from results.record import SMALLER_RUNS, Kind, TrialRecord
from results.stats.disturbed_runs import DisturbedRuns
from results.stats.headline import UNFINISHED
from results.stats.levels import drift_corrected
from results.stats.ranking import Ranked
from search_spaces.parameters.dimension import dropped_nodes

from ...engines.base import Engine
from ...engines.outcomes import FULL, Fidelity, Rung
from ...events import PhaseStarted
from ...machine.equipment import PROGRAM
from ...machine.inventory import running
from ...machine.problem_size import (
    IN_TURN,
    NB_UNKNOWN,
    SMALLEST_N,
    STEP,
    Sample,
    affordable_n,
    full_memory_n,
    launch_s,
    natural_nb,
)
from ...options import TuneOptions
from ...stopping import Interrupted
from ...trial.evaluate import Evaluator
from ...trial.ladder import PREFIX_PARTS
from ..ledger import noise_of_runs
from ..names import TEXTBOOK
from ..search.trials import StudyTrials
from ..session import StudySession
from .pilot import pilot_point, samples_of

if TYPE_CHECKING:
    from .prediction import NotedPrediction

ROUNDS = 2
"""How often the best of them run there; once more what was disturbed in one of them."""
STAY = 2
"""How many run again after the first round, beside the textbook and those that were disturbed."""
ROUNDED = 1.2
"""Times the columns of a prefix that it takes where NB is a large part of them: it ends with a panel."""
MOST_HOPEFUL = 3
"""Configurations that run because the engine expects them to be the fastest at the whole memory."""
LARGER = 1.2
"""Times the winner's N from which a larger one tells more of the whole memory."""
SMALLER_SIZES = (0.5, 0.25)
"""Parts of a configuration's largest N at which it is run once more: with that N they fix the three terms of T(N)."""
NEAR = 0.25
"""Part of such an N by which one that ran already may differ, so that it stands for it."""
SMALLER_COST = 0.5
"""What those smaller runs cost in runs at the largest N, start-up included."""
CHANGES_WITH_N = ("NB", "grid", "layout", "blas", PROGRAM)
"""Parameters whose best value depends on N most."""
BEST = "the best of the search"


@dataclass(frozen=True)
class _Runner:
    """A configuration that may be the fastest at the whole memory.

    Attributes:
        N: what the whole memory holds.
        stops: its program can be stopped at a column.
        in_turn: its runs beside the others at a larger N.
        out: its run of the first round was slower than those of others, so that it was its last.
    """

    called: str
    params: Mapping[str, Scalar]
    N: int
    stops: bool
    in_turn: tuple[TrialRecord, ...] = ()
    out: bool = False

    @property
    def gflops(self) -> float:
        """The median rate of undisturbed runs in turn, or that of the fastest of others; 0 without a valid run."""
        quiet = [_rate(run) for run in self.in_turn if _rate(run) and run.undisturbed]
        return median(quiet) if quiet else max(map(_rate, self.in_turn), default=0.0)

    @property
    def quiet(self) -> bool:
        """Whether the run whose rate counts is not known to be disturbed."""
        return any(
            run.disturbed is None and (run.undisturbed or _rate(run) >= self.gflops)
            for run in self.in_turn
            if _rate(run)
        )


def kept_for_turns_s(trials: StudyTrials[Evaluator], options: TuneOptions, of_left: float) -> float:
    """Seconds that runs in turn may take: a third of all; 0 where none will be made.

    A budget of time keeps them a third. Where only trials are limited, they take about half as long as all runs
    before them: the trials are the search. None are made where the user named N or another objective, and where the
    memory holds no N that is clearly larger.

    Args:
        of_left: the most that they may have of what is left of a budget of time, as a part of it.
    """
    session, site = trials.session, trials.site.machine
    left_s, space, whole_s = session.meter.remaining_s(), session.space, options.budget.whole_s
    if space.asked_n is not None or not site.program.workload.is_hpl or session.objective.name != "gflops":
        return 0.0
    larger = full_memory_n(site, fraction=options.memory_fraction) >= LARGER * space.largest_n
    earlier_s = sum(run.cost_s or 0.0 for run in session.records((Kind.EXTRAPOLATION,)))
    before_s = IN_TURN / (1 - IN_TURN) * max(0.0, min(session.meter.run_s, session.meter.wall_s) - earlier_s)
    may_s = before_s if left_s is None or whole_s is None else min(IN_TURN * whole_s, of_left * max(left_s, 0.0))
    return may_s if larger else 0.0


def predict_full(
    trials: StudyTrials[Evaluator], ranking: Sequence[Ranked], options: TuneOptions, engine: Engine
) -> "NotedPrediction | None":
    """Find which configuration is the fastest at a larger N, and note what it should do at the whole memory.

    Args:
        engine: names those that may be.

    Returns:
        None where the whole memory holds no larger N than the winner's.
    """
    session = trials.session
    if not ranking or session.stopped:
        return None
    stands = session.context.store.get(session.study, ranking[0].best_record_number)
    if stands.hpl is None or not samples_of([stands]):
        return None
    winner = _runner(trials, BEST, ranking[0].params, options)
    if winner.N <= stands.hpl.N:
        return None
    from .extrapolation import extrapolate  # noqa: PLC0415 - needed at the end
    from .prediction import NotedPrediction, RivalInTurn, note_prediction, probability_faster  # noqa: PLC0415

    runners: Sequence[_Runner] = [winner]
    if turns_s := kept_for_turns_s(trials, options, 1.0):
        points = list[dict[str, Scalar]]()
        with suppress(Interrupted), session.context.stop.thinking():
            points = engine.hopeful(winner.N / stands.hpl.N, CHANGES_WITH_N, MOST_HOPEFUL)
        hopeful = [
            _runner(trials, _difference(params, winner.params), params, options)
            for params in map(session.space.measured, points)
        ]
        runners = _in_turn(trials, [winner, *_textbooks(trials, options), *hopeful], samples_of([stands]), turns_s)
    shown, site = session.objective.noise_at_first, trials.site.machine
    noise = noise_of_runs(session.records((Kind.SMALL,)), drift_corrected(ranking, shown), shown)
    first = max(runners, key=lambda one: (not one.out, one.gflops, one.called == BEST))
    samples = _at_smaller_sizes(trials, first, {entry.key: entry.expected_gflops for entry in ranking})
    fastest = max(run.gflops or 0.0 for run in session.records() if run.ranked and run.kind not in UNFINISHED)
    dgemm_gflops = site.host.physical_cores * site.dgemm_gflops / site.rpeak.strongest or inf
    full = extrapolate(samples, first.N, noise, site.ceiling_gflops, fastest, dgemm_gflops)
    trial = next((run for run in first.in_turn if _rate(run)), stands)
    N = trial.hpl.N if first.gflops and trial.hpl else None
    doubt = DisturbedRuns.of(run for one in runners for run in one.in_turn).sentence()

    def faster(one: _Runner, larger: float) -> float | None:
        beside = _rate(first.in_turn[0]) if one.out else first.gflops
        told = one.gflops and beside and not doubt
        return probability_faster(one.gflops / beside, larger, trial.part, noise) if told else None

    others = tuple(
        RivalInTurn(one.in_turn[0].number, one.called, one.gflops, faster(one, first.N / N), one.out, one.quiet)
        for one in runners
        if N and one.in_turn and one is not first
    )
    noted = NotedPrediction(full, trial.number, first.called, N, first.gflops, others, doubt, trial.part, first.quiet)
    note_prediction(session.context.store, session.study, noted)
    return noted


def _difference(params: Mapping[str, Scalar], winner: Mapping[str, Scalar]) -> str:
    """What a configuration has in place of the winner's values; of what changes with N, if it differs in that."""
    differing = [name for name in params if name != "N" and params[name] != winner.get(name)]
    names = [name for name in CHANGES_WITH_N if name in differing] or differing[:MOST_HOPEFUL]
    return ", ".join(f"{name}={params[name]}" for name in names) + " and others" * (len(names) < len(differing))


def _textbooks(trials: StudyTrials[Evaluator], options: TuneOptions) -> list[_Runner]:
    """The textbook's configuration, and that with the NB that fits the BLAS, but for what the space holds fast.

    A layout that is held has its squarest grid, a library that is held chooses its own kernel, and of the NB that were
    asked for each takes the nearest.
    """
    space, site = trials.session.space, trials.site.machine
    held = {name: value for name, value in space.first.items() if name not in space.varying and name != "N"}
    point = {**pilot_point(site, full_memory_n(site)), **({"kernel": "auto"} if "blas" in held else {}), **held}
    if "layout" in held and "grid" not in held:
        P, Q = process_grids(int(str(held["layout"]).split("x")[0]))[0]
        point["grid"] = f"{P}x{Q}"
    binds = "NB" in space.parameters and "NB" in {*held, *(options.overrides or {})}
    asked = [int(value) for value in space.parameters["NB"].values] if binds else []
    sizes = [NB_UNKNOWN, natural_nb(site, str(point["blas"]))] if site.program.takes_blas else [int(str(point["NB"]))]
    sizes = [min(asked or [NB], key=lambda one: abs(one - NB)) for NB in sizes]
    return [
        _runner(trials, f"{TEXTBOOK} with NB={NB}" if number else TEXTBOOK, {**point, "NB": NB}, options)
        for number, NB in enumerate(sizes)
    ]


def _runner(trials: StudyTrials[Evaluator], called: str, params: Mapping[str, Scalar], options: TuneOptions) -> _Runner:
    site = running(trials.site.machine, str(params.get(PROGRAM, "")))
    run, machine = site.program.terms.run_of(params), trials.session.space.machine
    fraction = options.memory_fraction * machine.without(dropped_nodes(params)).memory_bytes / machine.memory_bytes
    return _Runner(called, params, full_memory_n(site, run.NB, run.P, run.Q, fraction), site.program.stops_at_column)


def _in_turn(
    trials: StudyTrials[Evaluator], runners: Sequence[_Runner], samples: Sequence[Sample], turns_s: float
) -> Sequence[_Runner]:
    """Run configurations in turn, at the largest N that these seconds pay for.

    The first columns of a larger N tell more of the whole memory than a whole run that costs as much does
    (docs/search.md); where the program cannot be stopped at a column, the runs end.

    Those that are alike run once, by the name of the first; the textbook keeps its name. Nothing runs where the time
    pays for no N that is clearly larger, and a round counts only if all that are still in the race ran in it.
    """
    session, alike = trials.session, dict[object, _Runner]()
    for one in sorted(runners, key=lambda one: one.called != TEXTBOOK):
        alike.setdefault(tuple(sorted({**one.params, "N": 0}.items())), one)
    found = list(alike.values())
    if len(found) < 2:
        return runners
    runs = len(found) + (ROUNDS - 1) * min(len(found), STAY + 1)
    share_s = turns_s / (runs + SMALLER_COST)
    rung = Rung(Fidelity.PREFIX, PREFIX_PARTS[0]) if all(one.stops for one in found) else FULL
    parts = [sample.first(min(1.0, ROUNDED * rung.part)) for sample in samples]
    N = affordable_n(parts, share_s, min(one.N for one in found))
    if N < LARGER * samples[0].N:
        return runners
    run_s = launch_s(parts, N)
    session.context.listener(PhaseStarted("extrapolation", runs))
    complete, began_s, limited = runners, session.meter.run_s, session.meter.remaining_s() is not None
    for turn in range(ROUNDS + 1):
        for place in sorted(range(len(found)), reverse=turn % 2 == 1):
            one = found[place]
            if one.out or (turn == ROUNDS and all(run.disturbed is None for run in one.in_turn)):
                continue
            over = not limited and session.meter.run_s - began_s >= turns_s
            if over or session.stopped or session.meter.out_of_time(run_s, 1 + SMALLER_COST):
                return complete
            record = trials.trial({**one.params, "N": N}, Kind.EXTRAPOLATION, rung, run_s / rung.operations)
            found[place] = replace(one, in_turn=(*one.in_turn, record))
        complete = list(found)
        if turn == 0:
            others = sorted((one for one in found if one.called != TEXTBOOK), key=lambda one: -one.gflops)
            found = [replace(one, out=one in others[STAY:] and one.in_turn[0].disturbed is None) for one in found]
    return found


def _samples(session: StudySession, one: _Runner, expected: Mapping[str, float]) -> list[Sample]:
    """The runs of a configuration at any N; what was repeated at the study's N counts with what is expected there.

    Disturbed ones only where all of that N were.
    """
    alike, found = {**one.params, "N": None}, defaultdict[object, list[TrialRecord]](list)
    for record in session.records():
        if record.kind not in UNFINISHED and {**record.params, "N": None} == alike:
            there = {} if record.kind in SMALLER_RUNS else expected
            found[record.params.get("N")].append(replace(record, gflops=there.get(record.key, record.gflops)))
    return sorted([sample for runs in found.values() for sample in samples_of(runs)], key=lambda sample: sample.N)


def _at_smaller_sizes(trials: StudyTrials[Evaluator], one: _Runner, expected: Mapping[str, float]) -> list[Sample]:
    """Run a configuration at the smaller N that are due, as far as the budget allows, and return all its runs."""
    session = trials.session
    samples = _samples(session, one, expected)
    sizes = [max(SMALLEST_N, int(samples[-1].N * part) // STEP * STEP) for part in SMALLER_SIZES]
    due = [N for N in sizes if all(abs(sample.N - N) > NEAR * N for sample in samples[:-1])]
    if due:
        session.context.listener(PhaseStarted("extrapolation", len(due)))
    for N in due:
        if session.stopped or session.meter.out_of_time(
            launch_s([one for one in samples if one.part == 1] or samples, N)
        ):
            break
        trials.trial({**one.params, "N": N}, Kind.EXTRAPOLATION)
    return _samples(session, one, expected)


def _rate(run: TrialRecord) -> float:
    """The rate of a run in turn, of its first columns where it was stopped there; 0 where it does not count."""
    return (updated_part(run) and prefix_gflops(run) if run.part < 1 else run.ranked and run.gflops) or 0.0
