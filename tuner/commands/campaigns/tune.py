"""`hpltune tune`: prepare a machine or a virtual cluster, run a study, and keep the files of its best configuration."""

import json
import shlex
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hpl.sizing import seconds
from hpl.workload import HPL
from results.errors import ResultsError
from results.record import Study
from results.report.model import Part, Report, Sentence, Tone
from results.store.store import Store
from search_spaces.load import check_overrides, entries, space_text
from search_spaces.parameters.dimension import MPI_PARAMETERS

from ...asks.shared import USUAL_QUIET
from ...budget import Budget
from ...database import db_option, folder_of
from ...engines.registry import check_engine
from ...errors import OUR_ERRORS, TunerError, UsageError
from ...events import CAUTION, Listener, Notice
from ...machine.peak import dgemm_beats_peak
from ...machine.problem_size import matrix_bytes
from ...machine.quiet import longest_wait_s
from ...machine.survey import program_of, require_gpus
from ...options import TuneOptions
from ...preflight.looking import before_runs
from ...settings.around_study import recover_at_start, settings_around
from ...settings.dimensions import require_settings, setting_dimensions
from ...stopping import StopRequest
from ...study import campaign
from ...study.campaign import TuneOutcome, require_alike_parts
from ...study.cautions import cautions_of, fewer_nodes
from ...study.enter import enter
from ...study.lifecycle import closing_study, completion_notice
from ...study.names import check_name, newest_search, resume_command, study_folder
from ...study.objective import check_inputs, fastest_of, ranking_of
from ...study.seeding import Opening, simulated_ranking
from ...study.sizing.size import load_space, searched_n
from ...study.trust import may_reach, note_named, require_trusted
from ...trial.workbench import Workbench, measures_power
from ...units import duration
from ...user_files import require_writable
from ...words import counted
from ..session import Session, open_session
from ..set_up import set_up

if TYPE_CHECKING:
    from ...reports.summary import StudySummary
    from ...study.sizing.prediction import NotedPrediction
    from ...study.winner import WinnerFiles


@dataclass(frozen=True)
class BudgetExtension:
    """The limits given beside `--resume`.

    Attributes:
        wall: a time, node-hours or money as the user wrote it: the study's cluster tells how much time that is.
        trials: search trials.
        run_s: seconds of HPL runs.
    """

    wall: str | None = None
    trials: int | None = None
    run_s: float | None = None


def prolonged(options: TuneOptions, more: BudgetExtension) -> TuneOptions:
    """A study's options, with the limits given now in place of all it had, and of which it has spent a part already.

    Raises:
        TunerError: the limit is no time.
    """
    if more == BudgetExtension():
        return options
    from ...simulation.options import time_budget  # noqa: PLC0415 - only another budget needs it

    nodes = 1
    if options.real_cluster:
        from runners.hosts.cluster import stored_cluster  # noqa: PLC0415 - only a cluster needs it

        nodes = stored_cluster(options.real_cluster).taken(options.parallel)
    timed = time_budget(more.wall, options.cluster, nodes) if more.wall else Budget()
    return replace(options, budget=replace(timed, trials=more.trials, run_s=more.run_s))


OTHER_ENGINE = "bayes"
"""Searches workloads of which the usual engine knows nothing."""
SHOWN = 5
"""Configurations that the report of a study shows."""


@dataclass(frozen=True)
class TuneRequest:
    """What one call of `tune` is asked for.

    Attributes:
        options: of a new study; of a stored one only its cluster and `parallel` count.
        study: name to give or, with `resume`, to go on with; None takes a new one or the newest.
        more: with `resume`, limits for the study instead of those it has.
        join: a study that runs elsewhere, to be helped; None for one of one's own.
        out: folder for the winner's files; None takes one in the data directory.
        db: database file or URL; None for the user's own.
    """

    options: TuneOptions
    study: str | None = None
    resume: bool = False
    out: Path | None = None
    db: str | None = None
    join: str | None = None
    more: BudgetExtension = field(default_factory=BudgetExtension)


@dataclass(frozen=True, kw_only=True)
class TuneResult:
    """What came of a call of `tune`.

    Attributes:
        study: name of the study.
        notices: sentences on how it ended, and how to go on.
        summary: its best configurations; None where there are none yet, or others go on with it.
        written: files of the best one; None where none were written.
        predicted: of the fastest in turn at the whole memory, or None.
        failure: what ended the study, or why the files could not be written; None where all went well.
        nothing_to_do: it was complete already; `summary` tells what was found then.
        interrupted: somebody stopped it; `--resume` goes on.
        db: the option that names the store, for commands; "" where it is the user's own.
    """

    study: str
    notices: tuple[Sentence, ...] = ()
    summary: "StudySummary | None" = None
    written: "WinnerFiles | None" = None
    predicted: "NotedPrediction | None" = None
    failure: Exception | None = None
    nothing_to_do: bool = False
    interrupted: bool = False
    db: str = ""

    def report(self) -> Report:
        """The best configurations with their files, and in short what the whole memory should give."""
        title = f"Study {self.study}"
        if self.summary is None:
            return Report(title)
        study, written = self.summary.study, self.written
        said = [f"{CAUTION}{text}." for text in (study.notes.disturbed, *fewer_nodes(study)) if text]
        ranking = (
            *self.summary.parts(SHOWN, sure=written is None, short=True),
            *(Sentence(text, tone=Tone.CAUTION) for text in said),
        )
        if written is None:
            return Report(title, ranking, self.summary.to_json(more={"cautions": cautions_of(study)}))
        sentences = [Sentence(text, unbroken=True) for text in written.sentences]
        facts = self.summary.to_json(more={**written.to_json(), "cautions": cautions_of(study)})
        return Report(title, (*ranking, *sentences, *self._end(self.summary, written)), facts)

    def _end(self, summary: "StudySummary", written: "WinnerFiles") -> Iterable[Part]:
        """What a reader in a hurry needs: the best, how sure that is, and what to do next."""
        from ...reports.answer_card import in_short, is_doubtful, next_step  # noqa: PLC0415 - only the end needs it

        if self.interrupted:
            return in_short(summary, None)  # `notices` tell how to go on
        again = is_doubtful(summary.ranking[0]) and not summary.study.simulated
        if self.predicted is not None and written.confirm is not None and not again:
            full = self.predicted.full
            measure = "confirm the prediction with"
            if not full.can_tell:
                takes = duration(seconds(full.N, summary.ranking[0].median_gflops))
                measure = f"measure the whole memory, which takes about {takes} at the rate of the best, with"
            return in_short(summary, Sentence(f"{measure}\n  {written.confirm}", unbroken=True))
        return in_short(summary, Sentence(next_step(summary, "complete", self.db, written.hpl_dat)))


def tune(request: TuneRequest, listener: Listener, stop: StopRequest) -> TuneResult:
    """Run a new study, go on with a stored one, or help one that runs elsewhere.

    Any thread may call this, and several at once; one study is worked on by one call in a process.

    Raises:
        TunerError, SpaceError, HplError, RunnerError, ResultsError: a sentence says what prevents the study, or that no
            run of it was valid.
    """
    check_engine(request.options.engine, of_two_objectives=request.options.pareto is not None)
    with open_session(request.db, listener, stop) as session:
        with stop.preparing():
            name, options = _which(request, session.store)
            if not (request.resume or request.join) and options.on_machines:
                options = of_its_workload(options, listener)
            complete = _completed(request, name, options, session)
            if complete is not None:
                return complete
            _check(request, options, session.store)
            _trust(request, name, options, session)
            if options.on_machines:
                set_up(options, session.user_dirs, listener, stored=(request.resume or request.join is not None))
        run = _on_machines if options.on_machines else _on_no_machine
        try:
            outcome = run(request, name, options, session)
        except OUR_ERRORS as error:
            found = _found_so_far(request, options, error, session)
            if found is None:
                raise
            return found
        if outcome.left_to_others:
            notice = Sentence(f"The others go on with study {outcome.study} and confirm its winner.")
            return TuneResult(study=outcome.study, notices=(notice,), interrupted=outcome.interrupted)
        return _result(request, outcome, session)


def _found_so_far(request: TuneRequest, options: TuneOptions, error: Exception, session: Session) -> TuneResult | None:
    """What a study on machines had found when an error ended it; None where that is nothing, or of others."""
    study, store = session.cautions.study, session.store
    if study is None or not options.on_machines or request.join is not None:
        return None
    try:
        ranking = ranking_of(store, store.study(study))
    except ResultsError:  # it had no trial, and is deleted again
        return None
    if not ranking:
        return None
    outcome = TuneOutcome(study, ranking, None, str(error), interrupted=False)
    return replace(_result(request, outcome, session), failure=error)


def _completed(request: TuneRequest, name: str | None, options: TuneOptions, session: Session) -> TuneResult | None:
    """The result of a study that has nothing left to do, or None."""
    if not request.resume or name is None:
        return None
    study, db = session.store.study(name), db_option(session.store)
    notice = completion_notice(session.store, study, options, db, named=request.study is not None)
    if notice is None:
        return None
    from ...reports.summary import StudySummary  # noqa: PLC0415 - needed at the end

    summary = StudySummary.of(study, ranking_of(session.store, study), fastest=fastest_of(session.store, study))
    return TuneResult(study=name, notices=(Sentence(notice, unbroken=True),), summary=summary, nothing_to_do=True)


def _check(request: TuneRequest, options: TuneOptions, store: Store) -> None:
    """Refuse what is wrong whatever the machine is, before anything is looked at, built or timed there.

    Raises:
        TunerError, SpaceError, ResultsError: a sentence says what.
    """
    if request.out is not None:
        require_writable(request.out, "out")
    if not (request.resume or request.join):
        if not options.whole_table:
            space_text(options.space)
        check_overrides(options.overrides or {}, setting_dimensions())
    require_gpus(options)
    if options.from_simulation:
        simulated_ranking(store, options.from_simulation)
    if options.cluster is None:
        check_inputs(options.objective, options.pareto, **facts_that_count(options))
    if options.warm_start:
        from ...study.warm_start import read_source, require_same_workload  # noqa: PLC0415 - most learn from no other

        for source in options.warm_start:
            read_source(store, source)
            require_same_workload(store, source, program_of(options).workload if options.on_machines else HPL)


def facts_that_count(options: TuneOptions) -> dict[str, float | None]:
    """What an objective may need and the user has to give: the power only where nothing measures it."""
    decides = "mflops-per-watt" in {options.objective, options.pareto}
    measured = options.power_w is None and decides and measures_power(options)
    return {"price_usd": options.price_usd, **({} if measured else {"power_w": options.power_w})}


def _trust(request: TuneRequest, name: str | None, options: TuneOptions, session: Session) -> None:
    """Note what the user names now, and refuse to run what only a shared database names.

    Raises:
        UsageError: a stored study names something that this user has not named.
    """
    store, folders = session.store, session.user_dirs
    if options.on_machines:
        stored = name is not None and (request.resume or request.join is not None)
        note_named(store, folders, request.options)
        if stored and name is not None:
            require_trusted(store, folders, store.study(name))


def _on_machines(request: TuneRequest, name: str | None, options: TuneOptions, session: Session) -> TuneOutcome:
    """Run a study on this machine or on the nodes of a cluster."""
    store, listener = session.store, session.listener
    recover_at_start(store, partial(may_reach, store, session.user_dirs), listener)
    join = request.join is not None
    stored = request.resume or join
    text = store.study(name).space_text if name and stored else space_text(options.space)
    names = entries(options.space, options.overrides, text)
    require_settings(options, names)
    if any(name.startswith(MPI_PARAMETERS) for name in names):
        from ...machine.mpi_parameters import require_mpi_parameters  # noqa: PLC0415 - most spaces have none

        require_mpi_parameters(options, text, session.user_dirs)
    with session.stop.preparing():
        if options.nodes_check and not stored:
            from ...nodes.ready_nodes import with_ready_nodes  # noqa: PLC0415 - needs SciPy, which most studies do not

            options = with_ready_nodes(options, listener, session.stop)
        if options.real_cluster is not None and not stored:
            from ...nodes.ready_nodes import known_slow  # noqa: PLC0415 - only a cluster needs it

            for notice in known_slow(options, store):
                listener(notice)
        built = "" if options.xhpl or options.programs else " and HPL is built"
        listener(Notice(f"First the machine is looked at{built}; then the budget begins."))
        workbench = Workbench.open(options, session.user_dirs, listener, leave_out=stored)
    with closing(workbench):
        space = load_space(options, workbench.site, text)
        if not stored:
            require_alike_parts(space, workbench)
        begun = enter(name, options, store, workbench, resume=request.resume, join=join)
        session.cautions.begun(begun.name)
        meters = workbench.evaluator.meters
        if meters and (meters.sources or meters.refused):
            for sentence in meters.sentences():
                listener(Notice(sentence))
        around = settings_around(workbench, store, begun.name, listener, names)
        with closing_study(begun.name, store), around as ready:
            introduce(
                begun.name,
                options,
                workbench,
                session,
                max(space.largest_n, searched_n(store.records(begun.name)) or 0),
            )
            opening = None if join else _opening(options, session)
            return campaign.tune(options, begun, ready, session, space, opening=opening)


def _opening(options: TuneOptions, session: Session) -> Opening | None:
    """What simulates before the first full run; None where that was not asked, or something else is known already."""
    known = options.warm_start or options.from_simulation
    if not options.simulated_opening or options.real_cluster is None or options.engine != "hpl" or known:
        return None
    from ...simulation.opening import SimulatedOpening  # noqa: PLC0415 - only a cluster needs it

    return SimulatedOpening(session.user_dirs, options.hpl_source, options.seed)


def _on_no_machine(request: TuneRequest, name: str | None, options: TuneOptions, session: Session) -> TuneOutcome:
    """Run a study on a table of runs, or in simulation."""
    if options.replay:
        from ...replay.tune import tune_replayed  # noqa: PLC0415 - only a table needs it

        outcome = tune_replayed(options, name, session, resume=request.resume)
        session.cautions.begun(outcome.study)
        return outcome
    from ...simulation.session import tune_virtual  # noqa: PLC0415 - only a virtual cluster needs it

    return tune_virtual(options, name, session.user_dirs, session, resume=request.resume)


def of_its_workload(options: TuneOptions, listener: Listener) -> TuneOptions:
    """The options of a study with the space and the engine of what its program computes.

    Raises:
        UsageError: something is asked for that only HPL has.
        hpl.programs.family.UserProgramError: the program cannot be started as it is.
    """
    workload = program_of(options).workload
    if workload.is_hpl:
        return options
    engine, space = options.engine, options.space
    peak, this = not workload.has_peak and options.objective == "percent-of-peak", f"and this is {workload.title}"
    for field_, asked, why in (
        ("full", options.full, f"⟦full⟧ gives the N of HPL, {this}: name sizes with ⟦set⟧"),
        ("pareto", options.pareto, f"⟦pareto⟧ is for HPL, {this}: leave it out"),
        ("objective", peak, f"the peak in double precision is none of {workload.title}: choose gflops"),
        ("from_simulation", options.from_simulation, f"simulations are of HPL, {this}: leave it out"),
    ):
        if asked:
            raise UsageError(why, field=field_, given=options.objective if field_ == "objective" else None)
    if engine == TuneOptions.engine:
        engine = OTHER_ENGINE
        listener(Notice(f"This is {workload.title}: the engine {options.engine} knows HPL only, so {engine} searches."))
    if space == TuneOptions.space:
        space = workload.space
    return replace(options, engine=engine, space=space)


def _which(request: TuneRequest, store: Store) -> tuple[str | None, TuneOptions]:
    """The study's name, None for a free one, and its options: those given, or those stored with it."""
    if request.join:
        return request.join, _joining(request, request.join, store)
    if request.resume:
        study = store.study(request.study) if request.study else newest_search(store, "to go on with")
        if not study.space_text:
            made = "was imported" if study.imported else "only measured a file"
            raise TunerError(f"study {study.name} {made}: there is nothing to go on with")
        stored = TuneOptions.from_json(study.options)
        _is_search(study.name, stored)
        return study.name, waiting_as(
            prolonged(_on_its_cluster(study.name, stored, request.options), request.more), request.options
        )
    if request.study is not None:
        require_free(request.study, store)
    return request.study, request.options


def require_free(name: str, store: Store) -> None:
    """Refuse what is no name, or that of a study which is there, and say what to do.

    Raises:
        UsageError: it can name no study.
        TunerError, StudyBusyError: a study has it, which runs now or does not.
    """
    check_name(name)
    if not store.queue.is_study(name):
        return
    store.others(name, refused=True)
    if store.contenders(name).configurations:
        raise TunerError(f"study {name} exists already: add ⟦resume⟧ to go on, or choose another ⟦study⟧")
    delete = f"`hpltune study delete {shlex.quote(name)}{db_option(store)}` frees its name"
    raise TunerError(f"study {name} exists already, without a valid run: add ⟦resume⟧ to go on; {delete}")


def waiting_as(stored: TuneOptions, given: TuneOptions) -> TuneOptions:
    """A study's options, with the wait for a quiet machine that is asked for now, if one is.

    Raises:
        UsageError: it leaves nothing of the study's budget.
    """
    if given.wait_for_quiet == USUAL_QUIET:
        return stored
    longest_wait_s(given.wait_for_quiet, stored.budget.whole_s, stored.budget.wall_s)
    return replace(stored, wait_for_quiet=given.wait_for_quiet)


def _is_search(name: str, options: TuneOptions) -> None:
    """Refuse a study of `hpltune blas`, whose libraries are searched one after another.

    Raises:
        UsageError: it is one.
    """
    if options.shootout:
        raise UsageError(
            f"study {name} compares BLAS libraries: `hpltune blas ⟦resume⟧ ⟦study⟧ {shlex.quote(name)}` goes on with it"
        )


def _on_its_cluster(name: str, stored: TuneOptions, given: TuneOptions) -> TuneOptions:
    """A study's own options, with the hosts that its cluster file names now where they are those of an allocation.

    Raises:
        TunerError: another cluster than the study was begun on is given, or as many hosts as it needs are not there.
    """
    asked, known = given.real_cluster or given.cluster, stored.real_cluster or stored.cluster
    if asked is None:
        return stored
    now, then = json.loads(json.dumps(asked)), dict(known or {})
    if now == then:
        return stored
    if now.get("hosts_from") and {**now, "hosts": ()} == {**then, "hosts": ()}:
        if len(now["hosts"]) != len(then["hosts"]):
            raise TunerError(
                f"study {name} was begun on {counted(len(then['hosts']), 'node')}, and {now['hosts_from']} names "
                f"{len(now['hosts'])}: take an allocation of as many, or leave ⟦resume⟧ out for a new study"
            )
        return replace(stored, real_cluster=now, node_speeds=None, nodes_left_out=())
    other = "on no cluster" if known is None else "on another cluster, or its file was changed since"
    raise TunerError(
        f"study {name} was begun {other}: leave ⟦cluster⟧ out to go on there, or leave ⟦resume⟧ out for a new study"
    )


def _joining(request: TuneRequest, name: str, store: Store) -> TuneOptions:
    """The options of a study that is to be helped, on the nodes that were named now."""
    options = TuneOptions.from_json(store.study(name).options)
    mine = request.options.real_cluster
    if request.study or request.resume:
        raise UsageError("⟦join⟧ helps a study that runs elsewhere: leave ⟦study⟧ and ⟦resume⟧ out", field="join")
    _is_search(name, options)
    if options.replay is not None:
        raise TunerError(f"study {name} is replayed from a table: it is done in seconds, so that nobody has to help")
    if options.cluster is not None:
        raise TunerError(f"study {name} is simulated: its own ⟦jobs⟧ run several simulations at a time")
    if mine is None and any(lease.of_this_host for lease in store.others(name)):
        raise UsageError("this machine works on it already; name other nodes with ⟦cluster⟧", field="join", given=name)
    seed = options.seed + len(store.others(name))
    return waiting_as(
        replace(options, real_cluster=mine, parallel=request.options.parallel, seed=seed), request.options
    )


def introduce(name: str, options: TuneOptions, workbench: Workbench, session: Session, N: int = 0) -> None:
    """Say what the study searches, on which machine, and what would spoil its runs.

    Args:
        N: the largest order of a matrix; 0 where nobody knows it yet.
    """
    inventory, listener = workbench.site, session.listener
    listener(Notice(f"Study {name}: {options}"))
    mpi = inventory.mpi
    listener(Notice(f"MPI: {mpi.name} {mpi.version}, {mpi.mpirun} ({mpi.origin}).", detail=True))
    if inventory.program.workload.is_hpl:
        listener(Notice(f"{inventory.rpeak.reasoning[-1]} `hpltune doctor ⟦all⟧` explains it.", detail=True))
    waits = campaign.quiet_wait(options, workbench, session).waits
    spoilers = before_runs(workbench.whole or inventory, session.runs, memory_bytes=matrix_bytes(N), waits=waits)
    for caution in (*spoilers, dgemm_beats_peak(inventory.rpeak, inventory.dgemm_gflops)):
        if caution:
            listener(Notice(f"{caution}.", caution=True))


def _result(request: TuneRequest, outcome: TuneOutcome, session: Session) -> TuneResult:
    """Write the files of the best configuration, and say how the study ended.

    Raises:
        TunerError: no run was valid.
    """
    store = session.store
    session.cautions.ended()
    study, db = store.study(outcome.study), db_option(store)
    resume = f"{resume_command(outcome.study, store)} goes on."
    if not outcome.ranking and outcome.interrupted:
        piloted = any(record.ranked for record in store.records(outcome.study))
        before = "after its pilot runs, before the search had a result" if piloted else "before its first result"
        notice = Sentence(f"Stopped {before}: {resume}", unbroken=True)
        return TuneResult(study=outcome.study, notices=(notice,), interrupted=True)
    if not outcome.ranking:
        raise TunerError(_no_result(study, store, db))
    stopped = Sentence(f"Stopped before its budget was used: {resume}", unbroken=True)
    from ...reports.summary import StudySummary  # noqa: PLC0415 - needed at the end
    from ...study.winner import write_winner  # noqa: PLC0415 - needed at the end

    summary = StudySummary.of(study, outcome.ranking, fastest=fastest_of(store, study))
    result = TuneResult(
        study=outcome.study,
        notices=(stopped,) if outcome.interrupted else (),
        summary=summary,
        predicted=outcome.predicted,
        interrupted=outcome.interrupted,
        db=db,
    )
    folder = request.out or folder_of("best", store, session.user_dirs) / study_folder(outcome.study)
    try:
        return replace(result, written=write_winner(folder, outcome, store, db, summary.front[1:]))
    except (TunerError, OSError) as error:
        return replace(result, failure=error)


def _no_result(study: Study, store: Store, db: str) -> str:
    """The sentence why a study has no best configuration, and how to remove it."""
    failed = [record for record in store.records(study.name) if record.reason]
    last = f"; the last one: {failed[-1].reason}" if failed else ""
    free = f"`hpltune study delete {shlex.quote(study.name)}{db}` frees the name {study.name}"
    return f"no run was valid, so there is no best configuration{last}. {free}"
