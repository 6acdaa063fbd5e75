"""`hpltune compare --interleaved`: the best configurations of studies run in turn, here and now, and are compared."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

from hpl.dat import HplDat, render
from hpl.dat_parse import parse
from hpl.params import Scalar
from results.node_check import ranges
from results.record import Kind, TrialRecord
from results.report.model import uncounted
from results.stats.ranking import hosts_of
from results.store.store import Store
from search_spaces.parameters.dimension import dropped_nodes

from ...asks.compare import CompareAsk
from ...budget import Budget, Meter
from ...clock import RealClock
from ...errors import UsageError
from ...events import Listener, Notice, PhaseStarted
from ...machine.equipment import CONTAINER, WRAP
from ...options import TuneOptions
from ...reports.comparison import InTurn
from ...settings.around_study import prepare_settings, recover_at_start, settings_around
from ...stopping import StopRequest
from ...study.enter import machine_facts
from ...study.file_run import FileBook, FileRun
from ...study.lifecycle import SIDE, TURNS, begin_runs, closing_study
from ...study.occasions import MACHINE
from ...study.rounds import Competitor, End, Rounds, RoundsResult, SteadyLoad
from ...study.trust import may_reach
from ...trial.plan import TrialPlan
from ...trial.workbench import Workbench
from ...units import compact, duration
from ...words import counted, listed
from ..session import Session, open_session
from ..stored.compare import CompareResult, compared_in_turn, require_comparable
from .run import (
    Baseline,
    RunRequest,
    baseline_of,
    look_before_runs,
    nodes_like,
    opened,
    plan_of,
    ran_on,
    resolved,
    what_is_not_alike,
)

COMMAND = "a comparison in turn"
"""Words for what refuses sides: `compare ⟦interleaved⟧`, or `check ⟦reference⟧`."""
ROUNDS = 6
"""Rounds where none are asked for: the test of the differences within rounds needs four, and two more help much."""


@dataclass(frozen=True)
class InTurnRequest:
    """Which studies to compare, and how long.

    Attributes:
        compared: names the studies.
        rounds: in each of which every side runs once.
        wall_s: seconds after which no further round begins; None for no limit.
        db: database file or URL; None for the user's own.
        study: name of the study that holds the runs; None takes a new one.
        quiet_s: longest wait for a quiet machine before the first run, in seconds.
    """

    compared: CompareAsk
    rounds: int = ROUNDS
    wall_s: float | None = None
    db: str | None = None
    study: str | None = None
    quiet_s: float = 0.0


@dataclass(frozen=True)
class TurnTaker:
    """A side that takes its turns.

    Attributes:
        name: the study whose best configuration it is.
    """

    name: str
    plan: TrialPlan
    workbench: Workbench
    walltime_s: float


def compare_in_turn(request: InTurnRequest, listener: Listener, stop: StopRequest) -> CompareResult | str:
    """Run the best configurations of studies in turn, keep the runs as a study of their own, and compare them.

    Returns:
        The comparison, or the sentence why there is none: a side has no valid run.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the runs.
    """
    require_comparable(request.compared)
    with open_session(request.db, listener, stop) as session:
        study, takers, played = played_in_turn(request, session)
        ended, failures, names = _ended(request, played), tuple(uncounted(played.records)), [one.name for one in takers]
        ranked = {run.params.get(SIDE) for run in played.records if run.ranked}
        missing = [name for name in names if name not in ranked]
        if missing:
            why = () if stop.requested else failures[:1]
            told = (
                ended or "All rounds ran.",
                f"{listed(missing)} {'has' if len(missing) == 1 else 'have'} no valid run.",
                *why,
            )
            return " ".join([*told, f"Stored as study {study}."])
        rounds, store = counted(played.begun, "round"), session.store
        told_with = InTurn(study, rounds, ended, failures, tuple(_unlike_starts(takers)))
        return compared_in_turn(store, store.study(study), names, told_with, request.compared.difference_percent)


def played_in_turn(
    request: InTurnRequest, session: Session, like: TrialRecord | None = None
) -> tuple[str, list[TurnTaker], RoundsResult]:
    """Run the best configurations of studies in turn: the study that holds the runs, the sides, and the rounds.

    Args:
        like: the trial that is measured again, where the study is a check of it.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the runs.
    """
    with ExitStack() as stack:
        sides = _sides(request, session.store)
        recover_at_start(session.store, partial(may_reach, session.store, session.user_dirs), session.listener)
        takers = _takers(sides, session, stack)
        study, turns = _played(request, takers, session, like)
        return study, takers, turns


def _unlike_starts(takers: Sequence[TurnTaker]) -> Iterator[str]:
    """Say where the sides run in other images, or with other words before their programs."""
    for fact, what in ((CONTAINER, "container"), (WRAP, "words before the program")):
        values = {taker.name: str(taker.workbench.site.facts().get(fact, "none")) for taker in takers}
        if len(set(values.values())) > 1:
            each = listed([f"{name} has {value}" for name, value in values.items()])
            yield f"The sides differ in {what}, which may be the reason for a difference: {each}."


def _sides(request: InTurnRequest, store: Store) -> list[Baseline]:
    """The best configurations, where they can take turns.

    Raises:
        UsageError: they cannot.
        ResultsError: there is no such study.
    """
    names = request.compared.studies
    if request.compared.by:
        raise UsageError(f"{COMMAND} compares studies: leave ⟦by⟧ out, or ⟦interleaved⟧")
    far = [name for name in names if "#" in name]
    if far:
        raise UsageError(
            f"{COMMAND} measures studies of this database, and {far[0]} is in another: what that names is not run here"
        )
    sides = [baseline_of(store, name, command=COMMAND, field="") for name in names]
    clusters = {str(side.study.options.get("real_cluster")): side.study.name for side in sides}
    if len(clusters) > 1:
        one, other, *_ = clusters.values()
        raise UsageError(f"{COMMAND} needs studies of the same hosts: {one} and {other} did not run on the same ones")
    run_s = sum(side.trial.time_s or 0.0 for side in sides)
    if request.wall_s is not None and run_s > request.wall_s:
        enough = compact(run_s * request.rounds)
        raise UsageError(
            f"one round takes about {duration(run_s)}, more than ⟦budget⟧ {compact(request.wall_s)} allows: "
            f"{counted(request.rounds, 'round')} need ⟦budget⟧ {enough} or more"
        )
    return sides


def _takers(sides: Sequence[Baseline], session: Session, stack: ExitStack) -> list[TurnTaker]:
    """Open a workbench for each program, and plan the run of each side.

    Raises:
        TunerError, HplError, ResultsError: a sentence says what prevents it.
    """
    opened_for: list[tuple[TuneOptions, Workbench]] = []
    found = []
    for side in sides:
        asked = resolved(side.again(Path(f"{side.study.name}.dat")), session)
        workbench = next((one for options, one in opened_for if options == asked.options), None)
        if workbench is None:
            if opened_for and asked.options.real_cluster:
                first = sides[0].study.name
                raise UsageError(
                    f"{COMMAND} needs one program for all nodes of a cluster: {first} and {side.study.name} differ"
                )
            workbench = opened(asked, session, stored_nodes=True)
            stack.enter_context(closing(workbench))
            opened_for.append((asked.options, workbench))
        _require_here(side, workbench)
        _require_as_many_nodes(side, workbench)
        found.append(_taker(side, asked, workbench, session))
    for one, other in combinations(found, 2):
        if one.workbench is other.workbench and replace(one.plan, hpl_dat=other.plan.hpl_dat) == other.plan:
            raise UsageError(
                f"{one.name} and {other.name} have the same best configuration, so there is nothing to compare: "
                f"`hpltune check ⟦baseline⟧ {shlex.quote(one.name)}` tells whether the machine got slower"
            )
    return found


def _taker(side: Baseline, asked: RunRequest, workbench: Workbench, session: Session) -> TurnTaker:
    """Plan the run of a side, and build its program."""
    for caution in what_is_not_alike(asked, session.store):
        session.listener(Notice(caution, caution=True))
    text = side.hpl_dat
    dat = parse(text, f"the HPL.dat of {side.name}")
    if len(list(dat.runs())) > 1 and side.trial.hpl is not None:
        dat = HplDat.of(side.trial.hpl)
        text = render(dat)
    plan = plan_of(asked, dat, text, workbench.site, session.store)
    with session.stop.preparing():
        workbench.build([plan.blas], [plan.threads], session.listener, [plan.launch.mpi])
    return TurnTaker(side.study.name, plan, workbench, asked.walltime_s)


def _require_here(side: Baseline, workbench: Workbench) -> None:
    """Refuse a study of another machine.

    Raises:
        UsageError: what is known of the machine shows that it is another.
    """
    if side.study.options.get("real_cluster"):
        return
    here = workbench.site.facts()
    for name, word in MACHINE.items():
        then, now = side.study.host.get(name), here.get(name)
        if then is not None and now is not None and then != now:
            raise UsageError(
                f"{COMMAND} measures this machine, and {side.study.name} ran on another: "
                f"its {word} is {then}, not {now}"
            )


def _require_as_many_nodes(side: Baseline, workbench: Workbench) -> None:
    """Refuse sides whose best ran on different nodes: one of them would run on what it never ran on.

    Raises:
        UsageError: it has others.
    """
    names = workbench.site.node_names
    wanted = nodes_like(side.trial, names)
    missing = len(names) and hosts_of(side.trial) + dropped_nodes(side.trial.params) > len(names)
    if missing or set(wanted) != set(names):
        ran = ranges(ran_on(side.trial)) or counted(hosts_of(side.trial), "node")
        raise UsageError(
            f"{COMMAND} needs studies of the same hosts: the best of {side.study.name} ran on {ran}, "
            f"and this would run on {ranges(names)}"
        )


def _played(
    request: InTurnRequest, takers: Sequence[TurnTaker], session: Session, like: TrialRecord | None
) -> tuple[str, RoundsResult]:
    """Run the rounds in a study of their own: its name, and what came of them."""
    store, listener, stop = session.store, session.listener, session.stop
    first = takers[0].workbench
    most = max((one.plan for one in takers), key=lambda plan: plan.ranks * plan.threads)
    memory_bytes = max(one.plan.memory_bytes for one in takers)
    quiet = look_before_runs(first.site, session, request.quiet_s, (most.ranks, most.threads, memory_bytes))
    names = [one.name for one in takers]
    options = TuneOptions.from_json(store.study(names[0]).options)
    options = replace(options, budget=Budget(wall_s=request.wall_s), shootout=False)
    facts = machine_facts(options, first)
    if len({id(one.workbench) for one in takers}) > 1:
        facts = replace(facts, notes=replace(facts.notes, programs_of=tuple(names)))
    study = begin_runs(store, options, facts, TURNS, like, request.study)
    session.cautions.begun(study)
    wanted: dict[str, list[Scalar]] = {}
    for one in takers:
        for name, value in one.plan.settings.items():
            wanted.setdefault(name, []).append(value)
    with closing_study(study, store, stop), settings_around(first, store, study, listener, wanted) as ready:
        prepare_settings(ready.evaluator, wanted)
        book = FileBook(store, study, session.runs)
        competitors = [
            Competitor(
                one.name,
                FileRun(
                    one.plan,
                    book,
                    replace(one.workbench.evaluator, settings=ready.evaluator.settings),
                    one.walltime_s,
                    listener,
                    stop,
                    kind=Kind.CONFIRMATION,
                    words={SIDE: one.name},
                ).measure,
            )
            for one in takers
        ]
        quiet.before("the first run")
        played = Rounds(
            competitors=competitors,
            order=lambda played, left: left[:: -1 if played.begun % 2 else 1],  # A B B A: a steady drift hits all alike
            ends=lambda played, _: "" if played.begun == request.rounds else None,
            least=1 if like else 2,  # a check goes on without its reference
            meter=Meter(Budget(wall_s=request.wall_s), RealClock()),
            context=session,
            phase=PhaseStarted("turns", request.rounds * len(takers)),
            load=SteadyLoad(session.say),
        ).play()
    session.cautions.ended()
    return study, played


def _ended(request: InTurnRequest, played: RoundsResult) -> str:
    """The sentence why fewer rounds than asked for ran; "" where all did."""
    if played.end is End.STOPPED:
        return f"Stopped in round {max(1, played.begun)} of {request.rounds}."
    if played.end is End.TIME:
        return f"The budget ended after {counted(played.begun, 'round')} of {request.rounds}: {played.why}."
    return played.why and f"The rounds ended: {played.why}."
