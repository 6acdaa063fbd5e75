"""The pilots of a study tell its N, what a run will take, and how much of one is worth a cheap hint."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.stats.ranking import hosts_of
from search_spaces.load import load, passed_over, wants_all_blas
from search_spaces.space import SIZES, SearchSpace

from ...engines.outcomes import FULL, Ladder
from ...errors import TunerError
from ...events import PhaseStarted
from ...machine.inventory import Inventory
from ...machine.problem_size import (
    MOST_IN_BUDGET,
    RUNS_IN_BUDGET,
    Sample,
    affordable_n,
    full_memory_n,
    launch_s,
)
from ...options import TuneOptions
from ...settings.dimensions import setting_dimensions
from ...trial.evaluate import Evaluator
from ...trial.ladder import PREFIX_PARTS, ladder
from ...trial.plan import parse_layout
from ...units import duration
from ..lifecycle import withdraw
from ..machine_changes import noise_of_pilots, note_noise
from ..names import SEARCHED
from ..search.search_limits import RunTimeEstimate
from ..search.trials import StudyTrials
from ..session import StudySession
from ..shootout import libraries_of, small_n
from ..sized_study import FINALISTS
from .pilot import on_nodes, pilot, target_s
from .whole_memory import SMALLER_COST

FIRST_RUNS = 2
"""Times that the first run of another workload than HPL is tried."""
MOST_LOOKED_AT = 2000
"""Points among which that run has the most equations: all others then take less time."""


def load_space(options: TuneOptions, site: Inventory, text: str, N: int | None = None) -> SearchSpace:
    """The space of a study on this machine.

    Args:
        text: the TOML as it was when the study began: a file may have changed since.
        N: where the space leaves it to the budget; None before the pilots have told it.
    """
    named = bool(options.blas_only)
    machine = site.machine(all_blas=named or wants_all_blas(options.space, text), N=N, slow_kernels=named)
    return load(options.space, machine, options.overrides, text, setting_dimensions())


def programs_for(space: SearchSpace) -> tuple[Sequence[str], Sequence[int], Sequence[str]]:
    """The BLAS libraries, numbers of threads and MPI libraries that a search may need programs for."""
    names, layouts, mpis = (
        [
            str(one)
            for one in (space.parameters[name].values if name in space.parameters else [space.first.get(name, "")])
        ]
        for name in ("blas", "layout", "mpi")
    )
    return names, sorted({parse_layout(layout)[1] for layout in layouts} | {1}), mpis


def searched_n(earlier: Sequence[TrialRecord]) -> int | None:
    """The N at which a study was already searched, or None."""
    return max(
        (int(record.params["N"]) for record in earlier if record.kind in SEARCHED and "N" in record.params),
        default=None,
    )


def first_runs(earlier: Sequence[TrialRecord], nodes: int) -> list[TrialRecord]:
    """The pilots among records from which the size of a study follows on so many nodes.

    Those that ran on more, as some were lost since, count only where the study was searched already.
    """
    most = math.inf if searched_n(earlier) else nodes
    return [record for record in earlier if record.kind is Kind.PILOT and hosts_of(record) <= most]


class BudgetTooSmallError(TunerError):
    """A budget is smaller than one run.

    Args:
        sentence: what to do.
        run_s: what a run takes.
    """

    def __init__(self, sentence: str, run_s: float) -> None:
        super().__init__(sentence)
        self.run_s = run_s


@dataclass(frozen=True)
class StudySize:
    """What the pilots told.

    Attributes:
        session: with the space at the study's N, and the noise that was seen.
        run_time: what a run at that N should take.
        ladder: the rungs worth having.
    """

    session: StudySession
    run_time: RunTimeEstimate
    ladder: Ladder = (FULL,)


def size(trials: StudyTrials[Evaluator], options: TuneOptions, kept: float) -> StudySize | None:
    """Run the pilots that the study still needs, choose N and say why.

    Args:
        trials: runs the pilots.
        kept: part of the budget for runs at a larger N.

    Returns:
        None where the user stopped during the first runs.

    Raises:
        TunerError: no pilot runs, or the budget or an allocation is smaller than one run.
    """
    session, site = trials.session, trials.site.machine
    if not site.program.workload.is_hpl:
        return _sized_by_first_run(trials, options)
    wanted_s = target_s(options.budget, _runs_wanted(options, session.space), site.longest_s, kept)
    session.context.listener(PhaseStarted("pilot", None))
    earlier = session.records()
    asked_n, known_n = session.space.asked_n, searched_n(earlier)
    samples = pilot(trials, wanted_s, first_runs(earlier, site.node_count), asked_n)
    noise = note_noise(session.context.store, session.study, noise_of_pilots(session.records((Kind.PILOT,))))
    session = replace(session, objective=replace(session.objective, noise_at_first=noise))
    if session.stopped:
        return None
    largest_n = full_memory_n(site, fraction=options.memory_fraction)
    N = known_n or (largest_n if options.full else affordable_n(samples, wanted_s, largest_n))
    if session.shrunk or site.facts().get("nodes") != session.context.store.study(session.study).host.get("nodes"):
        N = min(N, largest_n)
    session = _in_space(session, options, site, N, largest_n=largest_n)
    run_s = launch_s(samples, session.space.largest_n)
    if known_n is None:
        _check_budget(session, run_s, options, asked_n)
        _caution(session, largest_n)
    chosen = asked_n is None and known_n is None and not options.full
    usual = f"N={session.space.largest_n}: a run should take about {duration(run_s)}."
    session.say(_why_n(N, largest_n, run_s, options.budget.wall_s) if chosen else usual)
    if known_n is None and not chosen:
        _check_allocation(session, run_s, site)
    return _sized(session, samples, run_s, site)


def _sized_by_first_run(trials: StudyTrials[Evaluator], options: TuneOptions) -> StudySize | None:
    """Run a first configuration of another workload than HPL, at its smallest N, and say what its runs take.

    Its sizes are those of its space: no budget chooses them, and a smaller run tells nothing of which is the fastest.

    Raises:
        TunerError: it does not run, or the budget or an allocation is smaller than one run.
    """
    session, workload = trials.session, trials.site.machine.program.workload
    terms = trials.site.machine.program.terms
    if session.space.asked_n is None and not terms.lacks("N"):
        raise TunerError(
            f"the space {session.space.name} leaves N to the budget, and the N that is best for {workload.title} is "
            "none that a budget can tell: give some with ⟦set⟧ N=…"
        )
    session.context.listener(PhaseStarted("pilot", None))
    for sentence in passed_over(session.space, options.overrides or {}):
        session.say(sentence)
    first = session.records((Kind.PILOT,))
    while not any(record.ranked for record in first) and len(first) < FIRST_RUNS and not session.stopped:
        first = [*first, trials.trial(session.space.measured(first_point(session.space)), Kind.PILOT)]
    run = next((record for record in first if record.ranked), None)
    if run is None and not session.stopped:
        raise TunerError(f"the first run of {workload.title} failed, so nothing can be tuned: {first[-1].reason}")
    if run is None or run.cost_s is None or run.time_s is None:
        return None
    run_s = run.cost_s
    if not terms.lacks("N"):
        nodes, took = trials.site.machine.node_count, Sample(int(run.params["N"]), run.time_s, run.cost_s)
        run_s = launch_s([on_nodes(took, run, nodes)], session.space.largest_n)
    if not any(record.kind in SEARCHED for record in session.records()):
        _check_budget(session, run_s, options, None)
    _check_allocation(session, run_s, trials.site.machine)
    session.say(f"A run of {workload.title} should take about {duration(run_s)}.")
    for caution in trials.site.machine.program.cautions(run.params):
        session.context.say(f"{caution}.", caution=True)
    return StudySize(session, RunTimeEstimate(run_s, run.cost_s - run.time_s))


def first_point(space: SearchSpace) -> dict[str, Scalar]:
    """Return the first legal point of a space that has the smallest matrix, or without a matrix the most equations."""
    name = next((size for size in SIZES if size in space.parameters), None)
    if name is None:
        run_of = space.machine.terms.run_of
        numbers = range(min(len(space), MOST_LOOKED_AT))
        return space.point(max(numbers, key=lambda number: run_of(space.complete(space.point(number))).N))
    return space.nearest({**space.point(0), name: min(space.parameters[name].values, key=float)}, keep=name)


def _in_space(session: StudySession, options: TuneOptions, site: Inventory, N: int, *, largest_n: int) -> StudySession:
    """The session in the space at a study's N; says which node allows no larger one, and what the space passes over."""
    if site.nodes and site.nodes.scarcest and session.space.asked_n is None and largest_n <= N:
        session.say(f"Node {site.nodes.scarcest} has the least free memory: it allows no larger N.")
    session = replace(session, space=session.space.at(N))
    for sentence in passed_over(session.space, options.overrides or {}):
        session.say(sentence)
    return session


def _caution(session: StudySession, largest_n: int) -> None:
    """Say where libraries are compared at an N at which another one may win than at the whole memory."""
    small = small_n(session.space.largest_n, largest_n) if len(libraries_of(session.space)) > 1 else None
    if small:
        session.context.say(small, caution=True)
        session.context.store.note(session.study, lambda notes: replace(notes, small_n_told=session.space.largest_n))


def _check_allocation(session: StudySession, run_s: float, site: Inventory) -> None:
    """Refuse runs that take longer than an allocation.

    Raises:
        TunerError: they do.
    """
    if run_s > site.longest_s:
        size, smaller = f" of N={session.space.largest_n}", "choose a smaller N with ⟦set⟧ N=…"
        if site.program.terms.lacks("N"):
            size, smaller = "", "let runs compute for less time"
        raise TunerError(
            f"a run{size} takes about {duration(run_s)}, an allocation gives {duration(site.longest_s)}: raise "
            f"time_limit_s or {smaller}"
        )


def _sized(session: StudySession, samples: Sequence[Sample], run_s: float, site: Inventory) -> StudySize:
    """With the rungs worth having.

    Not each program can be stopped at a column; a prefix that only begins the panels of the look-ahead tells nothing.
    """
    starting_s = min(sample.cost_s - sample.time_s for sample in samples)
    N, known = session.space.largest_n, session.space.parameters
    ahead = math.prod(max(map(int, known[name].values)) for name in ("NB", "DEPTH") if name in known)
    tells = site.program.stops_at_column and ahead < PREFIX_PARTS[0] * N
    return StudySize(
        session,
        RunTimeEstimate(run_s, starting_s),
        ladder(N, run_s - starting_s, starting_s, prefixes=tells),
    )


def _runs_wanted(options: TuneOptions, space: SearchSpace) -> int:
    """Full runs that the budget should have room for: all of a small grid, with what repeats and confirms them."""
    points = min(len(space), options.points or len(space))
    all_runs = min(MOST_IN_BUDGET, points * options.repeats + FINALISTS * options.confirm)
    return max(RUNS_IN_BUDGET, all_runs) if options.engine == "grid" else RUNS_IN_BUDGET


def _check_budget(session: StudySession, run_s: float, options: TuneOptions, asked_n: int | None) -> None:
    """Refuse a budget that is smaller than one run of `run_s` seconds; say where the first runs took so much of it.

    Raises:
        BudgetTooSmallError: it is; then nothing is left of a new study.
    """
    too_small = options.budget.too_small(run_s, FINALISTS * (1 + options.confirm) + SMALLER_COST)
    if too_small:
        store = session.context.store
        if session.number == 0 and not store.others(session.study):
            withdraw(store, session.study, session.folder)
        smaller = ", or a smaller N with ⟦set⟧ N=…" if asked_n else ", or a smaller N without ⟦full⟧"
        raise BudgetTooSmallError(too_small + (smaller if asked_n or options.full else ""), run_s)
    if session.meter.out_of_time(run_s):
        session.say("The first runs used most of the budget: only one full run follows.")


def _why_n(N: int, largest_n: int, expected_s: float, wall_s: float | None) -> str:
    if largest_n <= N:
        return f"N={N}: the whole memory fits into the budget, about {duration(expected_s)} a run."
    budget = "" if wall_s is None else f" of {duration(wall_s)}"
    return (
        f"N={N} was chosen from the budget{budget}: a run takes about {duration(expected_s)}. "
        f"The whole memory would hold N={largest_n}: `⟦full⟧` measures there."
    )
