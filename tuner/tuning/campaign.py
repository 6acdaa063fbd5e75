"""`hpltune tune` from end to end: build, pilot, search, confirm, predict. `tune` reads as the order of things."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.record import Kind, TrialRecord, TrialState
from results.stats.levels import drift_corrected
from results.stats.ranking import Ranked
from results.store.store import Store
from runners.hosts.host_facts import busy_sentence
from search_spaces.load import load, passed_over, wants_all_blas
from search_spaces.space import SearchSpace

from ..budget import Meter
from ..clock import RealClock
from ..engines.context import EngineContext
from ..engines.fidelity import FULL, Ladder
from ..engines.registry import make_engine
from ..errors import TunerError
from ..events import Notice, PhaseStarted
from ..machine.cluster_nodes import NodesLostError
from ..machine.inventory import Inventory
from ..machine.left_out import too_slow
from ..machine.problem_size import MOST_IN_BUDGET, RUNS_IN_BUDGET, SMALLEST_N, STEP, Sample, affordable_n, launch_s
from ..machine.textbook import full_memory_n
from ..machine.versions import versions
from ..network.around_study import prepare
from ..options import DEFAULT_WALL_S, TuneOptions
from ..study.lifecycle import Begun, MachineFacts, begin, elapsed_s, go_on, withdraw
from ..study.noise_at_first import BUSY_NOISE, noise_of_pilots, note_noise
from ..study.objective import Objective
from ..study.run_folders import study_folder
from ..study.scheduler import Scheduler
from ..study.session import FINALISTS, SEARCHED, StudyContext
from ..study.shootout import libraries_of, small_n
from ..trial.ladder import ladder
from ..trial.plan import parse_layout, require_network
from ..trial.time_limit import unknown_limit_s
from ..trial.workbench import Workbench
from ..units import duration
from .extrapolation import Extrapolation, extrapolate
from .pilot import pilot, samples_of, target_s
from .ping_pong import timed_at_first
from .seeding import probes, seed_engine, tell_earlier

SMALLER_SIZES = (0.5, 0.25)
"""Parts of the study's N at which the winner is run once more: with N itself they fix the three terms of T(N)."""
SMALLER_RUNS = 0.3
"""What those smaller runs cost in runs at N, start-up included."""


@dataclass(frozen=True, kw_only=True)
class TuneOutcome:
    """What a study found.

    Attributes:
        ranking: configurations, best median first; empty where no run was valid.
        full: predicted run of the winner at the whole memory, or None where it was measured or cannot be told.
        ended: the sentence why the search stopped.
        interrupted: the user stopped it; `hpltune tune --resume` goes on.
        left_to_others: other processes go on with it and confirm its winner.
    """

    study: str
    ranking: Sequence[Ranked]
    full: Extrapolation | None = None
    ended: str
    interrupted: bool
    left_to_others: bool = False


def enter(
    name: str | None, options: TuneOptions, store: Store, workshop: Workbench, *, resume: bool, join: bool
) -> Begun:
    """Create a study, go on with one that is stored, or become one of those that work on it.

    Args:
        name: of the study; a new one may be None, which takes a free one.

    Raises:
        TunerError, ResultsError: a new one's name is taken, or the stored one cannot be gone on with or helped here.
    """
    if name is None or not (resume or join):
        begun = begin(store, name, options, _facts(options, workshop))
    elif join:
        begun = Begun(name, _joined(store, name, workshop.site))
    else:
        begun = go_on(store, name, options, run="trial")
    if options.real_cluster is None and busy_sentence(workshop.site.host.physical_cores):
        note_noise(store, begun.name, BUSY_NOISE)
    return begun


def tune(
    options: TuneOptions, begun: Begun, workshop: Workbench, bench: StudyContext, *, joined: bool = False
) -> TuneOutcome:
    """Run a study that was entered.

    Args:
        joined: other processes work on it too, on nodes of their own; who began it confirms the winner.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    name, earlier = begun.name, begun.earlier
    study = bench.store.study(name)
    text = study.space_text
    space = load_space(options, workshop.site, _study_n(earlier) or SMALLEST_N, text)
    names, threads, mpis = _programs(space, workshop.site)
    require_network(space.parameters, workshop.site)
    prepare(workshop.evaluator, {name: parameter.values for name, parameter in space.parameters.items()})
    each_blas = wants_all_blas(options.space, text)
    left_out = None if options.blas_only else too_slow(workshop.site, all_blas=each_blas)
    if left_out and "blas" in space.parameters and "blas" not in (options.overrides or {}):
        bench.listener(Notice(left_out))
    with bench.stop.preparing():
        workshop.build(names, threads, bench.listener, mpis)
    loop = Scheduler(
        objective=Objective.of(options.objective, study, options.pareto),
        each_blas=each_blas,
        bench=bench,
        study=name,
        space=space,
        evaluator=workshop.evaluator,
        others=workshop.others,
        meter=Meter(options.budget, RealClock(), spent_wall_s=elapsed_s(earlier)),
        walltime_s=unknown_limit_s(options.budget.whole_s or DEFAULT_WALL_S),
        session=1 + max((record.session for record in earlier), default=-1),
    )
    loop.count(earlier)
    while True:
        try:
            _size(loop, options, workshop.site, text)
            return _search(loop, options, workshop.site, joined=joined)
        except NodesLostError as lost:
            workshop = _go_on_without(lost, loop, workshop)


def _search(loop: Scheduler, options: TuneOptions, site: Inventory, *, joined: bool) -> TuneOutcome:
    """Search, confirm, predict: what follows once N is known."""
    loop.ladder = _ladder(loop, site)
    known = EngineContext(points=options.points, probes=timed_at_first(loop, site, probes(site)))
    with loop.bench.stop.preparing():
        engine = make_engine(options.engine, loop.space, options.seed, known)
        first = seed_engine(options, loop, engine)
        earlier = [record for record in loop.records() if record.state is not TrialState.RUNNING]
        tell_earlier(loop, engine, earlier)
    loop.count(earlier)
    reserved_runs = loop.most_finalists * options.confirm + SMALLER_RUNS
    ended = loop.search(engine, repeats=options.repeats, reserved_runs=reserved_runs, first=first)
    loop.say(f"Search stopped: {ended}.")
    if joined and loop.bench.store.others(loop.study):
        loop.bench.store.end_study(loop.study, "interrupted")
        return TuneOutcome(
            study=loop.study, ranking=loop.ranking(), ended=ended, interrupted=loop.stopped, left_to_others=True
        )
    ranking = loop.confirm(options.confirm)
    full = None if options.full else _predict_full(loop, site, ranking, options)
    loop.end()
    return TuneOutcome(study=loop.study, ranking=ranking, full=full, ended=ended, interrupted=loop.stopped)


def _go_on_without(lost: NodesLostError, loop: Scheduler, workshop: Workbench) -> Workbench:
    """Take lost nodes out and fit the loop to those that are left.

    Raises:
        TunerError: none is left, or the cluster's file wants a pause instead.
    """
    nodes = workshop.site.nodes
    on = f"`hpltune tune --resume --study {shlex.quote(loop.study)}` goes on"
    if nodes is None or nodes.cluster.on_node_loss == "pause" or loop.stopped:
        raise TunerError(f"{lost}: {on} once it is repaired") from lost
    workshop = workshop.without(lost.nodes)
    left = len(workshop.site.node_names)
    loop.say(f"Node {', '.join(lost.nodes)} is taken out; the study goes on with the {left} left.")
    require_network(loop.space.parameters, workshop.site)
    loop.go_on_with(workshop.evaluator, workshop.others)
    return workshop


def _joined(store: Store, name: str, site: Inventory) -> Sequence[TrialRecord]:
    """Become one of those that work on a study.

    Raises:
        TunerError: this machine is not like the one it was begun on.
        results.errors.ResultsError: nobody works on it.
    """
    host = store.study(name).host
    mine = site.facts()
    for fact in ("nodes", "physical_cores", "cpu_model"):
        if host.get(fact) != mine.get(fact):
            raise TunerError(
                f"study {name} was begun with {fact.replace('_', ' ')} {host.get(fact, 1)}, here it is "
                f"{mine.get(fact, 1)}: only nodes that are alike can work on one study"
            )
    store.join(name)
    return store.records(name)


def load_space(options: TuneOptions, site: Inventory, N: int, text: str) -> SearchSpace:
    """The space of a study on this machine, with N where the space leaves it to the budget.

    Args:
        text: the TOML as it was when the study began: a file may have changed since.
    """
    machine = site.machine(all_blas=_compares(options, text), N=N, slow_kernels=bool(options.blas_only))
    return load(options.space, machine, options.overrides, text)


def _compares(options: TuneOptions, text: str) -> bool:
    """Whether slow libraries belong into the search."""
    return wants_all_blas(options.space, text) or bool(options.blas_only)


def _facts(options: TuneOptions, workshop: Workbench) -> MachineFacts:
    """What the study keeps of its machine; where several trials run at a time, of the nodes that one of them has."""
    site = workshop.site
    return MachineFacts(
        host=site.facts(),
        rpeak_gflops=site.rpeak.gflops,
        price_usd=site.share_of(options.price_usd),
        power_w=site.share_of(options.power_w),
        versions=versions(site, workshop.evaluator.source),
    )


def _programs(space: SearchSpace, site: Inventory) -> tuple[Sequence[str], Sequence[int], Sequence[str]]:
    """The BLAS libraries, numbers of threads and MPI libraries that a search may need programs for."""
    fixed = space.first
    names, layouts, mpis = (
        [str(value) for value in (space.parameters[name].values if name in space.parameters else [fixed.get(name, "")])]
        for name in ("blas", "layout", "mpi")
    )
    threads = sorted({parse_layout(layout)[1] for layout in layouts} | {1})
    return ([] if site.xhpl else names), threads, mpis


def _study_n(earlier: Sequence[TrialRecord]) -> int | None:
    """The N an interrupted study was already being searched at."""
    sizes = [int(record.params["N"]) for record in earlier if record.kind in SEARCHED and "N" in record.params]
    return max(sizes, default=None)


def _runs_wanted(options: TuneOptions, space: SearchSpace) -> int:
    """Full runs that the budget should have room for: all of a small grid, with what repeats and confirms them."""
    if options.engine != "grid":
        return RUNS_IN_BUDGET
    points = min(len(space), options.points or len(space))
    return max(RUNS_IN_BUDGET, min(MOST_IN_BUDGET, points * options.repeats + FINALISTS * options.confirm))


def _size(loop: Scheduler, options: TuneOptions, site: Inventory, text: str) -> None:
    """Run the pilots and give the loop its N and what a run should take."""
    wanted_s = target_s(options.budget, _runs_wanted(options, loop.space), site.longest_s)
    loop.bench.listener(PhaseStarted("pilot", None))
    earlier = loop.records()
    pilots = [record for record in earlier if record.kind is Kind.PILOT]
    asked_n = loop.space.asked_n
    samples = pilot(loop, site, wanted_s, pilots, asked_n)
    loop.expect_noise(note_noise(loop.bench.store, loop.study, noise_of_pilots(loop.records((Kind.PILOT,)))))
    if not samples:
        return
    largest_n = full_memory_n(site, NB=STEP, P=1, Q=site.host.physical_cores, fraction=options.memory_fraction)
    chosen = largest_n if options.full else affordable_n(samples, wanted_s, largest_n)
    known_n = _study_n(earlier)
    N = known_n or chosen
    if loop.shrunk or site.facts().get("nodes") != loop.bench.store.study(loop.study).host.get("nodes"):
        N = min(N, largest_n)
    if site.nodes and site.nodes.scarcest and asked_n is None and largest_n <= N:
        loop.say(f"Node {site.nodes.scarcest} has the least free memory: it allows no larger N.")
    loop.space = load_space(options, site, N, text)
    for sentence in passed_over(loop.space, options.overrides or {}):
        loop.say(sentence)
    largest_asked = loop.space.largest_n
    loop.expected_s = launch_s(samples, largest_asked)
    if known_n is None:
        _check_budget(loop, loop.expected_s, options, asked_n)
    small = small_n(largest_asked, largest_n) if len(libraries_of(loop.space)) > 1 else None
    if small and known_n is None:
        loop.say(f"Caution: {small}")
    if asked_n is None and known_n is None and not options.full:
        loop.say(_why_n(N, largest_n, loop.expected_s, loop.meter.budget.wall_s))
        return
    loop.say(f"N={largest_asked}: a run should take about {duration(loop.expected_s)}.")
    if loop.expected_s > site.longest_s and known_n is None:
        raise TunerError(
            f"a run of N={largest_asked} takes about {duration(loop.expected_s)}, an allocation gives "
            f"{duration(site.longest_s)}: raise time_limit_s or choose a smaller N with --set N=…"
        )


def _check_budget(loop: Scheduler, run_s: float, options: TuneOptions, asked_n: int | None) -> None:
    """Refuse a budget that is smaller than one run of `run_s` seconds; say where the first runs took so much of it.

    Raises:
        TunerError: it is; then nothing is left of a new study.
    """
    too_small = options.budget.too_small(run_s, FINALISTS * (1 + options.confirm) + SMALLER_RUNS)
    if too_small:
        if loop.session == 0 and not loop.bench.store.others(loop.study):
            withdraw(loop.bench.store, loop.study, loop.bench.runs / study_folder(loop.study))
        smaller = ", or a smaller N with --set N=…" if asked_n else ", or a smaller N without --full"
        raise TunerError(too_small + (smaller if asked_n or options.full else ""))
    if loop.meter.out_of_time(run_s):
        loop.say("The first runs used most of the budget: only one full run follows.")


def _ladder(loop: Scheduler, site: Inventory) -> Ladder:
    """The rungs worth having at this study's N; a program the user brought cannot be stopped at a column."""
    N = loop.space.largest_n
    samples = samples_of(loop.records((Kind.PILOT,)))
    if not samples or loop.expected_s is None:
        return (FULL,)
    loop.starting_s = min(sample.cost_s - sample.time_s for sample in samples)
    return ladder(N, loop.expected_s - loop.starting_s, loop.starting_s, prefixes=site.xhpl is None)


def _why_n(N: int, largest_n: int, expected_s: float, wall_s: float | None) -> str:
    if largest_n <= N:
        return f"N={N}: the whole memory fits into the budget, about {duration(expected_s)} a run."
    budget = "" if wall_s is None else f" of {duration(wall_s)}"
    return (
        f"N={N} was chosen from the budget{budget}: a run takes about {duration(expected_s)}. "
        f"The whole memory would hold N={largest_n}: `--full` measures there."
    )


def _predict_full(
    loop: Scheduler, site: Inventory, ranking: Sequence[Ranked], options: TuneOptions
) -> Extrapolation | None:
    """Run the winner at two smaller N and predict its time at the whole memory; None where that is no larger."""
    if not ranking or loop.stopped:
        return None
    winner = ranking[0]
    best = loop.bench.store.get(loop.study, winner.best_record_number)
    if best.hpl is None:
        return None
    N = full_memory_n(site, NB=best.hpl.NB, P=best.hpl.P, Q=best.hpl.Q, fraction=options.memory_fraction)
    if N <= best.hpl.N:
        return None
    loop.bench.listener(PhaseStarted("extrapolation", len(SMALLER_SIZES)))
    samples: list[Sample] = samples_of([replace(best, gflops=winner.expected_gflops)])
    for part in SMALLER_SIZES:
        if loop.stopped or loop.meter.out_of_time(0.0):
            break
        smaller = max(SMALLEST_N, int(best.hpl.N * part) // STEP * STEP)
        samples += samples_of([loop.trial({**winner.params, "N": smaller}, Kind.EXTRAPOLATION)])
    noise = loop.noise(drift_corrected(ranking, loop.objective.noise_at_first))
    return extrapolate(samples, N, noise, site.ceiling_gflops, max(winner.gflops))
