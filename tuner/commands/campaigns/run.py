"""`hpltune run`: measure an HPL.dat that is already there."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from hpl.dat import DEVICE_STDOUT, HplDat, render
from hpl.dat_parse import parse
from hpl.log import untold_words
from results.node_check import ranges
from results.record import Kind, Study, TrialRecord
from results.report.model import Report, Sentence
from results.stats.headline import disturbed_text
from results.stats.occasions import Occasions
from results.stats.ranking import hosts_of
from results.store.store import Store
from search_spaces.node_order import NODE_PARAMETERS
from search_spaces.parameters.dimension import dropped_nodes

from ...errors import UsageError
from ...events import Listener, Notice
from ...machine.equipment import PROGRAM
from ...machine.inventory import Inventory, cores_told, running
from ...machine.problem_size import first_choice
from ...machine.quiet import QuietWait, look_at
from ...machine.survey import require_hpl
from ...options import TuneOptions, user_program
from ...preflight.looking import before_runs
from ...reports.ranking import run_facts, run_sentences
from ...settings.around_study import prepare_settings, recover_at_start, settings_around
from ...stopping import StopRequest
from ...study.enter import machine_facts
from ...study.file_run import FileBook, FileRun
from ...study.lifecycle import begin_runs, closing_study, elapsed_s
from ...study.objective import ranking_of
from ...study.rounds import SteadyLoad, extra_runs, extra_sentence, may_win
from ...study.sizing.prediction import prediction_of
from ...study.trust import may_reach, note_named, require_trusted
from ...trial.ask_and_tell import ask_and_tell
from ...trial.launch import LaunchOutcome
from ...trial.plan import Launch, Placement, TrialPlan, parse_layout, placed, settings_of
from ...trial.workbench import Workbench
from ...user_files import read_text
from ...words import counted, listed
from ..session import Session, open_session

SPARE_S = 600.0
"""A run is ended after this time and SLOWEST times the time of the baseline: it hangs."""
SLOWEST = 10


@dataclass(frozen=True)
class RunRequest:
    """The HPL.dat to measure, and how to launch it.

    Attributes:
        options: the machine or cluster, and the BLAS.
        like: STUDY#TRIAL whose launch the run shall have, or STUDY for its best trial, or for that of its HPL-full.dat
            where the file is this; None for none.
        layout, kernel: ranks and threads, and the BLAS kernel, where the user names them.
        walltime_s: seconds after which a launch is ended.
        db: database file or URL; None for the user's own.
        oversubscribe: more ranks and threads than cores are allowed.
        study: name of the study that holds the runs; None takes a new one after the file.
        quiet_s: longest wait for a quiet machine before the first run, in seconds.
    """

    file: Path
    options: TuneOptions
    like: str | None = None
    layout: str | None = None
    kernel: str | None = None
    repeats: int = 1
    walltime_s: float = 86400.0
    db: str | None = None
    oversubscribe: bool = False
    study: str | None = None
    quiet_s: float = 0.0


@dataclass(frozen=True)
class Baseline:
    """The best configuration of a stored study.

    Attributes:
        trial: the run that represents it.
        gflops: the rates of all its runs that count.
        doubt: that these were disturbed, or may have been, in words that follow their number; "" where they were not.
        occasions: how the machine differs between occasions, as earlier checks of it and its like tell.
    """

    study: Study
    trial: TrialRecord
    gflops: tuple[float, ...]
    occasions: Occasions = field(default_factory=Occasions)
    doubt: str = ""

    @property
    def name(self) -> str:
        """STUDY#TRIAL."""
        return f"{self.study.name}#{self.trial.number}"

    @property
    def hpl_dat(self) -> str:
        """The text of the HPL.dat of its trial."""
        return self.trial.hpl_dat or (render(HplDat.of(self.trial.hpl)) if self.trial.hpl else "")

    def again(self, file: Path) -> RunRequest:
        """What runs its HPL.dat as its trial ran.

        Args:
            file: holds `hpl_dat`.
        """
        trial, cores = self.trial, self.study.host.get("physical_cores")
        return RunRequest(
            file,
            TuneOptions(),
            like=self.name,
            layout=f"{trial.ranks}x{trial.threads}" if trial.ranks and trial.threads else None,
            walltime_s=SPARE_S + SLOWEST * (trial.time_s or 0.0),
            oversubscribe=isinstance(cores, int) and (trial.ranks or 0) * (trial.threads or 1) > cores,
        )


@dataclass(frozen=True)
class RunResult:
    """What came of the runs of a file.

    Attributes:
        study: holds them; "run-NAME-K" unless the request names it.
        records: a record for each configuration of the file and repeat.
        interrupted: somebody stopped it.
    """

    study: Study
    records: tuple[TrialRecord, ...]
    interrupted: bool

    @property
    def all_count(self) -> bool:
        """Whether every run gave a valid result."""
        return all(record.ranked for record in self.records)

    def report(self) -> Report:
        """The rates of the file's best configurations, and what does not count and why."""
        sentences = tuple(map(Sentence, run_sentences(self.study, self.records)))
        return Report(f"Runs of {self.study.space_name}", sentences, run_facts(self.study, self.records))


def run(request: RunRequest, listener: Listener, stop: StopRequest) -> RunResult:
    """Measure a file; every result line it gives becomes a record of a new study.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the runs.
    """
    dat, text = read_dat(request.file)
    with open_session(request.db, listener, stop) as session:
        for caution in dat.cautions:
            session.listener(Notice(f"{request.file}: {caution}.", caution=True))
        if dat.device != DEVICE_STDOUT:
            listener(Notice(f"{request.file} prints to {dat.output_file}; it is run with standard output instead."))
        recover_at_start(session.store, partial(may_reach, session.store, session.user_dirs), listener)
        stored_nodes = bool(request.like) and not request.options.real_cluster
        note_named(session.store, session.user_dirs, request.options)
        request = resolved(request, session)
        with closing(opened(request, session, stored_nodes=stored_nodes)) as workbench:
            study, records = _measured(
                request, plan_of(request, dat, text, workbench.site, session.store), workbench, session
            )
        return RunResult(session.store.study(study), tuple(records), stop.requested)


def look_before_runs(site: Inventory, session: Session, quiet_s: float, planned: tuple[int, int, int]) -> QuietWait:
    """Say what would spoil runs on a site, and return what waits for a quiet machine.

    Args:
        planned: ranks, threads of each, and bytes of memory.
    """
    quiet = QuietWait(look_at(site), quiet_s, session.listener, session.stop)
    for spoiler in before_runs(site, session.runs, *planned, waits=quiet.waits):
        session.listener(Notice(f"{spoiler}.", caution=True))
    return quiet


def _measured(
    request: RunRequest, plan: TrialPlan, workbench: Workbench, session: Session
) -> tuple[str, list[TrialRecord]]:
    """Launch a plan as often as was asked, in a study of its own: its name, and the records."""
    store, listener, stop = session.store, session.listener, session.stop
    for caution in what_is_not_alike(request, store):
        listener(Notice(caution, caution=True))
    model = like_trial(request.like, store) if request.like else None
    quiet = look_before_runs(workbench.site, session, request.quiet_s, (plan.ranks, plan.threads, plan.memory_bytes))
    with stop.preparing():
        workbench.build([plan.blas], [plan.threads], listener, [plan.launch.mpi])
    facts = machine_facts(request.options, workbench)
    study = begin_runs(store, request.options, facts, request.file, model, request.study)
    session.cautions.begun(study)
    with closing_study(study, store, stop), settings_around(workbench, store, study, listener, plan.settings) as ready:
        prepare_settings(ready.evaluator, {name: [value] for name, value in plan.settings.items()})
        book = FileBook(store, study, session.runs)
        run_of_file = FileRun(plan, book, ready.evaluator, request.walltime_s, listener, stop)
        quiet.before("the first run")
        records = _repeated(run_of_file, request.repeats)
    session.cautions.ended()
    return study, records


def resolved(request: RunRequest, session: Session) -> RunRequest:
    """The request with the options of the study whose trial the run shall be like.

    Raises:
        TunerError, ResultsError: that study or its program is gone, it holds runs of several programs, or only a shared
            database names its program, cluster or library.
    """
    request = replace(request, like=_of_whole_memory(request, session.store))
    model = like_trial(request.like, session.store) if request.like else None
    if model is not None:
        require_trusted(session.store, session.user_dirs, session.store.study(model.study))
    return replace(request, options=_where(request, session.store))


def _of_whole_memory(request: RunRequest, store: Store) -> str | None:
    """The trial of a study's HPL-full.dat where the file is this; else what was asked."""
    like = request.like
    predicted = prediction_of(store.study(like)) if like and "#" not in like else None
    if like is None or predicted is None:
        return like
    hpl, (dat, _) = store.get(like, predicted.trial).hpl, read_dat(request.file)
    same = hpl is not None and dat == replace(HplDat.of(replace(hpl, N=predicted.full.N)), title=dat.title)
    return f"{like}#{predicted.trial}" if same else like


def opened(request: RunRequest, session: Session, *, stored_nodes: bool) -> Workbench:
    """The workbench of a resolved request.

    Args:
        stored_nodes: on as many nodes as the trial had that the run shall be like, and without those that are silent.

    Raises:
        TunerError, HplError: a sentence says what is missing, or that the program runs no HPL.dat.
    """
    require_hpl(request.options)
    with session.stop.preparing():
        workbench = Workbench.open(request.options, session.user_dirs, session.listener, leave_out=stored_nodes)
    return _on_its_nodes(request, workbench, session) if stored_nodes else workbench


def _where(request: RunRequest, store: Store) -> TuneOptions:
    """The options with the machine, BLAS files, program and source of the study whose trial the run shall be like.

    Of these what is given now counts; a BLAS given now also stands for the study's program, and the other way round.
    A cluster given now comes with its own peak, price and power.

    Raises:
        TunerError: the study's program is gone.
    """
    given = request.options
    if not request.like:
        return given
    study = store.study(request.like.partition("#")[0])
    if len(study.notes.programs_of) > 1:
        ran = listed(sorted(study.notes.programs_of))
        raise UsageError(f"study {study.name} ran the programs of several studies in turn: name {ran} in place of it")
    stored = TuneOptions.from_json(study.options)
    on = given if given.real_cluster else stored
    own = bool(given.blas_only or given.xhpl)
    program = like_trial(request.like, store).params.get(PROGRAM)
    if program is not None and not own:
        given = replace(given, programs=stored.programs, overrides={PROGRAM: (str(program),)})
    return replace(
        given,
        real_cluster=on.real_cluster,
        node_speeds=on.node_speeds,
        nodes_left_out=on.nodes_left_out,
        blas_files=given.blas_files if own else stored.blas_files,
        xhpl=given.xhpl
        if own or stored.xhpl is None
        else user_program(str(stored.xhpl), image=given.image or on.image),
        container=given.container or on.container,
        wrap=given.wrap or on.wrap,
        hpl_source=given.hpl_source or stored.hpl_source,
        rpeak_gflops=given.rpeak_gflops or on.rpeak_gflops,
        price_usd=on.price_usd,
        power_w=on.power_w,
    )


def what_is_not_alike(request: RunRequest, store: Store) -> list[str]:
    """What the trial that the run shall be like does not tell of this machine, where nothing else was asked for."""
    model = like_trial(request.like, store) if request.like else None
    if model is None or request.options.blas_only or request.options.xhpl:
        return []
    caution = f"⟦like⟧ {request.like} was"
    if model.simulated:
        study = store.study(model.study)
        where = f"simulated on {study.host.get('virtual_cluster', 'a virtual cluster')}"
        how, of = (f"replayed from {study.table}", "table") if study.replayed else (where, "cluster")
        said = f"{how}. Its BLAS, {model.blas}, is the best of that {of}, perhaps not of this machine"
        return [f"{caution} {said}: ⟦blas⟧ NAME chooses another."]
    if model.kind is Kind.IMPORTED:
        untold = listed([*([] if model.blas else ["BLAS"]), "kernel", "number of threads"])
        taken = "kernel of that BLAS" if model.blas else "BLAS and kernel"
        here = f"the fastest {taken} here and all cores are taken"
        return [f"{caution} not run by hpltune. Its output does not tell the {untold}: {here}."]
    return []


def _on_its_nodes(request: RunRequest, workshop: Workbench, session: Session) -> Workbench:
    """The workshop on the nodes of the trial that the run shall be like, or on as many others where one is missing."""
    names, model = workshop.site.node_names, like_trial(request.like or "", session.store)
    chosen = nodes_like(model, names)
    ran = ran_on(model)
    if names and ran and set(ran) != set(chosen):
        session.listener(
            Notice(
                f"{request.like} ran on {ranges(ran)}, and this runs on {ranges(chosen)}: not all are there.",
                caution=True,
            )
        )
    return workshop.without([name for name in names if name not in chosen]) if len(chosen) < len(names) else workshop


def ran_on(model: TrialRecord) -> tuple[str, ...]:
    """The nodes of a trial, where it left out none of its own accord; else, and where it does not say, none."""
    return model.observed.hosts if model.observed and not dropped_nodes(model.params) else ()


def nodes_like(model: TrialRecord, names: Sequence[str]) -> Sequence[str]:
    """Those of the nodes on which a run like a trial runs: the trial's own, or as many where one is not there."""
    ran = ran_on(model)
    if ran and set(ran) <= set(names):
        return [name for name in names if name in ran]
    count = hosts_of(model) + dropped_nodes(model.params)
    return names[:count] if count else names


def baseline_of(store: Store, name: str, *, command: str = "check", field: str = "baseline") -> Baseline:
    """The best configuration of a stored study.

    Args:
        command: what asks for it.
        field: of what was asked that names it; "" for none.

    Raises:
        TunerError: it was simulated or replayed, no run of it counts, or an imported output does not tell all of it.
        ResultsError: there is no such study.
    """
    study = store.study(name)
    given = study.name if field else None
    head = "" if field else f"{study.name}: "
    if study.simulated:
        asked = f"⟦{field}⟧ {study.name}" if field else study.name
        raise UsageError(f"{command} measures real machines: {asked} was {study.how}", field=field)
    if not study.workload.is_hpl:
        of = f"{head}that study is of {study.workload.title}, which reads no HPL.dat: only `hpltune tune` runs it"
        raise UsageError(of, field=field, given=given)
    ranking = ranking_of(store, study)
    if not ranking:
        raise UsageError(f"{head}that study has no valid run to compare with", field=field, given=given)
    trial = store.get(study.name, ranking[0].best_record_number)
    if not trial.hpl_dat and trial.hpl is None:
        untold = listed(untold_words(trial.params)) or "what HPL.dat says"
        raise UsageError(
            f"{head}the output of {study.name}#{trial.number} does not tell {untold}: "
            "import it beside its HPL.dat as another ⟦study⟧, or write one for `hpltune run`",
            field=field,
            given=given,
        )
    doubt = disturbed_text(ranking[0]) or ("not known to be undisturbed" if ranking[0].unknown else "")
    return Baseline(study, trial, ranking[0].gflops, doubt=doubt)


def read_dat(file: Path) -> tuple[HplDat, str]:
    """A file's meaning and its text.

    Raises:
        TunerError: it cannot be read.
        hpl.dat_parse.HplDatError: HPL would reject or misread it; every problem with its line.
    """
    text = read_text(file, f"{file} cannot be read")
    return parse(text, str(file)), text


def plan_of(request: RunRequest, dat: HplDat, text: str, site: Inventory, store: Store) -> TrialPlan:
    """How to launch a file: as the trial it shall be like, as asked, or with the fastest BLAS filling the cores."""
    cores = site.host.physical_cores
    model = like_trial(request.like, store) if request.like else None
    site = running(site, next(iter(site.programs), ""))
    choice = first_choice(site)
    if request.layout:
        ranks, threads = parse_layout(request.layout)
    else:
        ranks = dat.ranks
        threads = model.threads if model and model.threads else max(1, cores // ranks)
    if ranks < dat.ranks:
        raise UsageError(
            f"{request.file} needs {counted(dat.ranks, 'rank')}, but ⟦layout⟧ {request.layout} starts {ranks}"
        )
    if ranks * threads > cores and not request.oversubscribe:
        raise UsageError(
            f"{request.file} needs {counted(ranks, 'rank')} with {counted(threads, 'thread')}, "
            f"but this machine has {cores_told(site)}: more would "
            "measure the scheduler, not HPL; change its Ps and Qs, or add ⟦oversubscribe⟧"
        )
    named = request.options.blas_only[0] if request.options.blas_only else None
    blas = site.program.stands_for(named or (model.blas if model and model.blas else str(choice["blas"])))
    foreign = NODE_PARAMETERS if model and model.simulated else ()  # nodes of a virtual cluster are none of this site
    placement = Placement(
        blas=blas,
        kernel=_kernel(request, blas, model, site),
        ranks=ranks,
        threads=threads,
        launch=Launch.of({name: value for name, value in model.params.items() if name not in foreign}, site)
        if model
        else Launch(),
        settings=settings_of(model.params, site) if model and not model.simulated else {},
        own=model.params if model else {},
    )
    printed = text if dat.device == DEVICE_STDOUT else render(replace(dat, device=DEVICE_STDOUT))
    return replace(placed(site, tuple(dat.runs()), printed, placement), oversubscribe=request.oversubscribe)


def _kernel(request: RunRequest, blas: str, model: TrialRecord | None, site: Inventory) -> str:
    """The kernel that was asked for, else that of the trial which the run shall be like, else the fastest here.

    A simulated trial ran no kernel, an imported output does not tell it, and another library has kernels of its own.
    """
    known = tuple(dict.fromkeys(("auto", *site.kernels(blas, slow=True))))
    here = f"{blas} has {', '.join(known)} on this CPU"
    if request.kernel:
        if request.kernel not in known:
            raise UsageError(here, field="kernel", given=request.kernel)
        return request.kernel
    if model and model.kernel and not model.simulated and blas == model.blas:
        if model.kernel not in known:
            raise UsageError(
                f"⟦like⟧ {request.like} ran the kernel {model.kernel}, but {here}: choose one by ⟦kernel⟧", field="like"
            )
        return model.kernel
    probe = site.best_probe(blas)
    return probe.kernel if probe else "auto"


def like_trial(name: str, store: Store) -> TrialRecord:
    """The trial STUDY#TRIAL, or the best of STUDY."""
    study, mark, number = name.partition("#")
    if mark:
        if not number.isdecimal():
            raise UsageError("write STUDY or STUDY#TRIAL, for example default-1#12", field="like", given=name)
        return store.get(study, int(number))
    ranking = ranking_of(store, store.study(study))
    if not ranking:
        raise UsageError("that study has no valid run", field="like", given=name)
    return store.get(study, ranking[0].best_record_number)


def _repeated(run: FileRun, repeats: int) -> list[TrialRecord]:
    """Run a file several times, and return all records; a stop, or what no repeat mends, ends it earlier.

    Where runs were disturbed, a few more follow in their place, until there are as many quiet ones as were asked for;
    none where the machine was loaded all the time.
    """
    records, disturbed, befell = list[TrialRecord](), 0, False
    load = SteadyLoad(lambda sentence: run.listener(Notice(sentence)))

    def wanted() -> Iterator[int]:
        for number in range(repeats + extra_runs(repeats)):
            more = min(repeats - number + disturbed, extra_runs(repeats))
            if befell or (number >= repeats and (more <= 0 or load.lasts(records[-1]))):
                return
            if number == repeats:
                run.listener(Notice(extra_sentence(list(filter(may_win, records)), len(records), more)))
            yield number

    def tell(done: LaunchOutcome) -> None:
        nonlocal disturbed, befell
        disturbed, befell = disturbed + any(map(may_win, done.in_order)), done.event is not None
        records.extend(done.in_order)
        for record in done.in_order:
            load.hear(record)

    ask_and_tell(
        run.launching,
        run.stop,
        ask=wanted(),
        start=lambda number: run.start(elapsed_s(records) / number if number else None),
        tell=tell,
    )
    return records
