"""What `hpltune tune` does once its options are understood: prepare, run the study, write and show what was found."""

import json
import shlex
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from results.store.store import Store
from runners.hosts.host_facts import busy_sentence, unbound_sentence
from search_spaces.load import check_overrides, space_text

from ..console.progress import display, output
from ..database import db_option, folder_of, open_store
from ..engines.registry import check_engine
from ..errors import TunerError, UsageError
from ..events import Listener, Notice
from ..hold_folders import hold_folders
from ..machine.inventory import Inventory
from ..machine.mpi_parameters import require_mpi_parameters
from ..machine.problem_size import SMALLEST_N
from ..network.around_study import networked, recover_at_start
from ..options import TuneOptions
from ..provision.setup import provision_if_needed
from ..reports.summary import StudySummary
from ..signals import announce_stop, stop_on_signals
from ..simulation.cluster import SimulatedCluster, cluster_from
from ..simulation.tune import tune_virtual
from ..study.completion import completion_notice
from ..study.lifecycle import closing_study
from ..study.names import check_name, newest_search
from ..study.objective import check_inputs, ranking_of
from ..study.run_folders import study_folder
from ..study.session import StudyContext
from ..trial.workbench import Workbench
from ..tuning.campaign import Outcome, enter, load_space, tune
from ..tuning.simulated_starts import simulated_ranking
from ..tuning.warm_start import read_source
from ..tuning.winner import Written, write_winner
from ..user_dirs import UserDirs
from ..user_files import require_writable
from .extension import BudgetExtension, prolonged

INTERRUPTED = 130


@dataclass(frozen=True)
class Request:
    """The options of one call of `tune`.

    Attributes:
        study: name to give or, with `resume`, to go on with; None takes a new one or the newest.
        more: with `resume`, limits for the study instead of those it has.
        join: a study that runs elsewhere, to be helped; None for one of one's own.
        out: folder for the winner's files; None takes one in the data directory.
    """

    options: TuneOptions
    study: str | None
    resume: bool
    out: Path | None
    db: str | None
    as_json: bool
    join: str | None = None
    more: BudgetExtension = field(default_factory=BudgetExtension)


def run_tune(request: Request) -> int:
    """Run or resume a study.

    Returns:
        The exit code: 0, 130 when the user stopped it, 1 when no run was valid.
    """
    console = output(stderr=request.as_json)
    check_engine(request.options.engine, of_two_objectives=request.options.pareto is not None)
    places = UserDirs.of_user()
    with hold_folders(places), open_store(request.db, places) as store:
        name, options = _which(request, store)
        if request.resume and name is not None:
            study = store.study(name)
            complete = completion_notice(
                store, study, options, db_option(request.db, store), named=request.study is not None
            )
            if complete:
                console.print(complete, soft_wrap=True)
                if request.as_json:
                    print(json.dumps(StudySummary.of(study, ranking_of(store, study)).to_json(), indent=1))
                return 0
        _check(request, options, store)
        if options.cluster is None:
            with display(console) as listener:
                provision_if_needed(places, listener, options.blas_files, program=options.xhpl is not None)
        with stop_on_signals(announce_stop) as stop, display(console) as listener:
            bench = StudyContext(store, listener, stop, folder_of("runs", store, places))
            run = _real if options.cluster is None else _virtual
            outcome = run(request, name, options, places, bench)
        if outcome.left_to_others:
            console.print(f"The others go on with study {outcome.study} and confirm its winner.")
            return INTERRUPTED if outcome.interrupted else 0
        return _finish(request, options, outcome, places, store, console)


def _check(request: Request, options: TuneOptions, store: Store) -> None:
    """Refuse what is wrong whatever the machine is, before anything is looked at, built or timed there.

    Raises:
        TunerError, SpaceError, ResultsError: a sentence says what.
    """
    if request.out is not None:
        require_writable(request.out, "--out")
    if not (request.resume or request.join):
        space_text(options.space)
        check_overrides(options.overrides or {})
    if options.from_simulation:
        simulated_ranking(store, options.from_simulation)
    if options.cluster is None:
        check_inputs(options.objective, options.pareto, price_usd=options.price_usd, power_w=options.power_w)
    for source in options.warm_start:
        read_source(store, source)


def _real(request: Request, name: str | None, options: TuneOptions, places: UserDirs, bench: StudyContext) -> Outcome:
    store, listener = bench.store, bench.listener
    recover_at_start(store, listener)
    join = request.join is not None
    text = store.study(name).space_text if name and (request.resume or join) else space_text(options.space)
    require_mpi_parameters(options, text, places)
    with bench.stop.preparing():
        workshop = Workbench.open(options, places, listener, leave_out=request.resume or join)
    with closing(workshop):
        if not (request.resume or join):
            load_space(options, workshop.site, SMALLEST_N, text)
        begun = enter(name, options, store, workshop, resume=request.resume, join=join)
        with closing_study(begun.name, store), networked(workshop, store, begun.name, listener) as ready:
            _introduce(begun.name, options, workshop.site, listener)
            return tune(options, begun, ready, bench, joined=join)


def _virtual(
    request: Request, name: str | None, options: TuneOptions, places: UserDirs, bench: StudyContext
) -> Outcome:
    cluster = cluster_from(options.cluster or {})
    with bench.stop.preparing():
        site = SimulatedCluster.open(cluster, places, options.hpl_source, bench.listener)
    return tune_virtual(options, name, site, bench, resume=request.resume)


def _which(request: Request, store: Store) -> tuple[str | None, TuneOptions]:
    """The study's name, None for a free one, and its options: those given, or those stored with it."""
    if request.join:
        return request.join, _joining(request, request.join, store)
    if request.resume:
        study = store.study(request.study) if request.study else newest_search(store, "to go on with")
        if not study.space_text:
            raise TunerError(f"study {study.name} only measured a file: there is nothing to go on with")
        stored = TuneOptions.from_json(study.options)
        _same_cluster(study.name, stored, request.options)
        return study.name, prolonged(stored, request.more)
    if request.study is not None:
        check_name(request.study)
    if request.study in {study.name for study in store.studies()}:
        raise TunerError(_taken(request.study, store, db_option(request.db, store)))
    return request.study, request.options


def _taken(name: str, store: Store, db: str) -> str:
    """The sentence that a study is there already, and what to do."""
    if store.contenders(name).configurations:
        return f"study {name} exists already: add --resume to go on, or choose another --study"
    delete = f"`hpltune study delete {shlex.quote(name)}{db}` frees its name"
    return f"study {name} exists already, without a valid run: add --resume to go on; {delete}"


def _same_cluster(name: str, stored: TuneOptions, given: TuneOptions) -> None:
    """Refuse to go on with a study on another cluster than it was begun on; none has to be given.

    Raises:
        TunerError: it is another.
    """
    asked, known = given.real_cluster or given.cluster, stored.real_cluster or stored.cluster
    if asked is not None and json.loads(json.dumps(asked)) != known:
        other = "on no cluster" if known is None else "on another cluster, or its file was changed since"
        raise TunerError(
            f"study {name} was begun {other}: leave --cluster out to go on there, or leave --resume out for a new study"
        )


def _joining(request: Request, name: str, store: Store) -> TuneOptions:
    """The options of a study that is to be helped, on the nodes that were named now."""
    options = TuneOptions.from_json(store.study(name).options)
    mine = request.options.real_cluster
    if request.study or request.resume:
        raise UsageError("--join helps a study that runs elsewhere: leave --study and --resume out")
    if options.cluster is not None:
        raise TunerError(f"study {name} is simulated: its own --jobs run several simulations at a time")
    if mine is None and any(lease.of_this_host for lease in store.others(name)):
        raise UsageError(f"--join {name}: this machine works on it already; name other nodes with --cluster")
    seed = options.seed + len(store.others(name))
    return replace(options, real_cluster=mine, parallel=request.options.parallel, seed=seed)


def _introduce(name: str, options: TuneOptions, site: Inventory, listener: Listener) -> None:
    listener(Notice(f"Study {name}: {options}"))
    listener(Notice(f"MPI: {site.mpi.name} {site.mpi.version}, {site.mpi.mpirun} ({site.mpi.origin})."))
    listener(Notice(f"{site.rpeak.reasoning[-1]} `hpltune doctor` explains it."))
    unbound = None if options.real_cluster else unbound_sentence()
    for caution in (busy_sentence(site.host.physical_cores), unbound, site.peak_doubt):
        if caution:
            listener(Notice(f"Caution: {caution}."))


def _finish(
    request: Request, options: TuneOptions, outcome: Outcome, places: UserDirs, store: Store, console: Console
) -> int:
    study, db = store.study(outcome.study), db_option(request.db, store)
    resume = f"`hpltune tune --resume --study {shlex.quote(outcome.study)}{db}` goes on."
    if not outcome.ranking and outcome.interrupted:
        console.print(f"Stopped before its first result: {resume}", soft_wrap=True)
        return INTERRUPTED
    if not outcome.ranking:
        failed = [record for record in store.records(outcome.study) if record.reason]
        last = f"; the last one: {failed[-1].reason}" if failed else ""
        free = f"`hpltune study delete {shlex.quote(outcome.study)}{db}` frees the name {outcome.study}"
        raise TunerError(f"no run was valid, so there is no best configuration{last}. {free}")
    out = request.out or folder_of("best", store, places) / study_folder(outcome.study)
    found = StudySummary.of(study, outcome.ranking)
    try:
        written = write_winner(out, outcome, store, db, found.front[1:])
    except (TunerError, OSError):
        if request.as_json:
            print(json.dumps(found.to_json(), indent=1))
        else:
            found.show(console, count=5)
        raise
    if request.as_json:
        full = outcome.full and outcome.full.to_json()
        print(json.dumps(found.to_json(more={**written.to_json(), "full": full}), indent=1))
    else:
        found.show(console, count=5)
        _tell_written(console, written, outcome, options)
        if outcome.interrupted:
            console.print(f"Stopped before its budget was used: {resume}", soft_wrap=True)
    return INTERRUPTED if outcome.interrupted else 0


def _tell_written(console: Console, written: Written, outcome: Outcome, options: TuneOptions) -> None:
    for told_line in written.sentences:
        console.print(told_line, soft_wrap=True)
    full = outcome.full
    if full is not None and written.confirm is not None:
        measure = "Confirm it with" if full.can_tell else "Measure it with"
        console.print(
            f"The whole memory ({options.memory_fraction:.0%}) holds N={full.N}: {full.sentence}. "
            f"{measure}\n  {written.confirm}",
            soft_wrap=True,
        )
