"""`hpltune tune` from end to end: build, pilot, search, confirm, predict. `tune` reads as the order of things."""

import shlex
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.record import Kind, TrialState
from results.stats.ranking import Ranked
from search_spaces.errors import SpaceError
from search_spaces.load import wants_all_blas
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..budget import Meter
from ..clock import RealClock
from ..engines.base import Engine
from ..engines.context import EngineContext
from ..engines.registry import make_engine
from ..errors import NodesLostError, TunerError, UsageError
from ..machine.left_out import too_slow
from ..machine.problem_size import SMALLEST_N
from ..network.around_study import prepare_network
from ..options import DEFAULT_WALL_S, TuneOptions
from ..study.confirmation import Confirmation
from ..study.incumbent import Incumbent
from ..study.ledger import LearningBook, Ledger
from ..study.lifecycle import Begun, elapsed_s
from ..study.objective import Objective, of_study
from ..study.search.budget_rule import BudgetRule
from ..study.search.drift_monitor import DriftMonitor
from ..study.search.launch_breaker import LaunchBreaker
from ..study.search.launch_limits import LaunchLimits
from ..study.search.launch_worker import LaunchWorker
from ..study.search.others import OtherProcesses
from ..study.search.reference_runs import ReferenceRuns, tell_changes
from ..study.search.run_time import RunTimeEstimate
from ..study.search.scheduler import Scheduler
from ..study.search.unavailable import UnavailableParts
from ..study.search.workers import LaunchWorkers
from ..study.session import StudyContext, StudySession
from ..trial.early_stopping import EarlyStopping
from ..trial.evaluate import Evaluator
from ..trial.plan import require_network
from ..trial.time_limit import unknown_limit_s
from ..trial.workbench import Workbench
from .extrapolation import Extrapolation
from .full_memory import SMALLER_RUNS, predict_full
from .parts import evaluators_of
from .ping_pong import timed_at_first
from .seeding import probes, seed_engine, tell_earlier
from .sizing import Sized, size
from .space import load_space, programs_for, searched_n


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


def tune(
    options: TuneOptions, begun: Begun, workbench: Workbench, context: StudyContext, *, joined: bool = False
) -> TuneOutcome:
    """Run a study that was entered.

    Args:
        joined: other processes work on it too, on nodes of their own; who began it confirms the winner.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    name, earlier = begun.name, begun.earlier
    study = context.store.study(name)
    text = study.space_text
    space = load_space(options, workbench.site, searched_n(earlier) or SMALLEST_N, text)
    _prepare(space, options, text, workbench, context)
    objective = Objective.of(options.objective, study, options.pareto)
    meter = Meter(options.budget, RealClock(), spent_wall_s=elapsed_s(earlier))
    session = StudySession(
        context=context,
        study=name,
        space=space,
        objective=objective,
        meter=meter,
        number=1 + max((record.session for record in earlier), default=-1),
    )
    ledger = Ledger(context=context, study=name, meter=meter, incumbent=Incumbent(objective))
    ledger.count(earlier)
    unavailable = UnavailableParts(context, name)
    while True:
        evaluators, sentence = evaluators_of(space, workbench)
        if sentence:
            context.say(sentence)
        campaign = Campaign(
            options=options,
            text=text,
            session=session,
            ledger=ledger,
            unavailable=unavailable,
            evaluators=evaluators,
            joined=joined,
        )
        try:
            return campaign.run()
        except NodesLostError as lost:
            workbench = _without(lost, session, workbench)
            try:
                space = load_space(options, workbench.site, searched_n(session.records()) or SMALLEST_N, text)
            except (SpaceError, UsageError) as error:
                raise TunerError(
                    f"no configuration fits what is left without node {', '.join(lost.nodes)} ({error}): "
                    f"{_goes_on(session)} once it is repaired"
                ) from error
            session = replace(session, space=space, shrunk=True)


def _prepare(space: SearchSpace, options: TuneOptions, text: str, workbench: Workbench, context: StudyContext) -> None:
    """Take the network, say which libraries are left out, and build the programs that a search may need.

    Raises:
        TunerError, HplError: something is missing; a sentence says what.
    """
    names, threads, mpis = programs_for(space)
    require_network(space.parameters, workbench.site)
    prepare_network(workbench.evaluator, {name: parameter.values for name, parameter in space.parameters.items()})
    all_blas = wants_all_blas(options.space, text)
    left_out = None if options.blas_only else too_slow(workbench.site, all_blas=all_blas)
    if left_out and "blas" in space.parameters and "blas" not in (options.overrides or {}):
        context.say(left_out)
    with context.stop.preparing():
        workbench.build(names, threads, context.listener, mpis)


@dataclass(frozen=True)
class Searched:
    """A search that has ended.

    Attributes:
        confirmation: repeats what it found.
        worker: runs further trials.
        ended: the sentence why it ended.
    """

    confirmation: Confirmation
    worker: LaunchWorker
    ended: str


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A study on the nodes that are there: pilots, search, confirmation, prediction.

    Attributes:
        text: the TOML of the space as it was when the study began.
        session: before N is known.
        evaluators: one for each part of the nodes on which a trial runs.
        joined: who began the study confirms the winner.
    """

    options: TuneOptions
    text: str
    session: StudySession
    ledger: Ledger
    unavailable: UnavailableParts
    evaluators: Sequence[Evaluator]
    joined: bool

    def run(self) -> TuneOutcome:
        """From the pilots to what was found.

        Raises:
            NodesLostError: nodes do not come back; a campaign on those that are left can go on.
            TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
        """
        return self._finish(self.search())

    def search(self) -> Searched:
        """From the pilots to the end of the search.

        Raises:
            NodesLostError, TunerError, SpaceError, HplError, ResultsError: as `run`.
        """
        sized = size(self._pilot_worker(), self.options, self.text)
        session, options = sized.session, self.options
        noise = session.objective.noise_at_first
        early_stopping, drift = EarlyStopping(noise_at_first=noise), DriftMonitor(noise_at_first=noise)
        engine, first = self._engine(session, drift, early_stopping)
        workers = self._workers(sized, early_stopping, every_rate=engine.wants_every_rate or options.repeats > 1)
        confirmation = Confirmation(session, sized.run_time, wants_all_blas(options.space, self.text))
        reserved_runs = confirmation.most_finalists * options.confirm + SMALLER_RUNS
        if options.reference and len(workers) == 1 and not self.joined:
            drift.reference = ReferenceRuns(session, workers[0])
        scheduler = Scheduler(
            session=session,
            ledger=self.ledger,
            workers=LaunchWorkers(deque(workers)),
            rule=BudgetRule(meter=session.meter, reserved_runs=reserved_runs),
            run_time=sized.run_time,
            ladder=sized.ladder,
            repeats=options.repeats,
            first=first,
            drift=drift,
            others=OtherProcesses(session, self.ledger),
            unavailable=self.unavailable,
        )
        ended = scheduler.search(engine)
        session.say(f"Search stopped: {ended}.")
        return Searched(confirmation, workers[0], ended)

    def _engine(
        self, session: StudySession, drift: DriftMonitor, early_stopping: EarlyStopping
    ) -> tuple[Engine, Sequence[Point]]:
        """A new engine, and the points to try before it is asked; it and the others hear what is known already."""
        evaluator, options, incumbent = self.evaluators[0], self.options, self.ledger.incumbent
        measured = timed_at_first(session, evaluator, probes(evaluator.site))
        with session.context.stop.preparing():
            known = EngineContext(points=options.points, probes=measured)
            engine = make_engine(options.engine, session.space, options.seed, known)
            first = seed_engine(options, session, engine)
            earlier = [record for record in session.records() if record.state is not TrialState.RUNNING]
            tell_earlier(session, engine, earlier, drift=drift, early_stopping=early_stopping, incumbent=incumbent)
        self.ledger.count(earlier)
        return engine, first

    def _finish(self, searched: Searched) -> TuneOutcome:
        """Confirm the winner and predict its run at the whole memory, unless the others do."""
        confirmation, worker, ended = searched.confirmation, searched.worker, searched.ended
        session = confirmation.session
        store, study = session.context.store, session.study
        if self.joined and store.others(study):
            store.end_study(study, "interrupted")
            return TuneOutcome(
                study=study, ranking=session.ranking(), ended=ended, interrupted=session.stopped, left_to_others=True
            )
        confirmation.run(self.options.confirm, lambda params, _: worker.trial(params, Kind.CONFIRMATION))
        tell_changes(session)
        session = replace(session, objective=of_study(store.study(study)))
        ranking = session.ranking()
        full = None if self.options.full else predict_full(worker, ranking, self.options)
        session.end()
        return TuneOutcome(study=study, ranking=ranking, full=full, ended=ended, interrupted=session.stopped)

    def _pilot_worker(self) -> LaunchWorker:
        """Runs the pilots, of which nothing is known."""
        limits = self._limits(self.session, RunTimeEstimate(), EarlyStopping())
        return LaunchWorker(self.session, self.ledger, limits, self.unavailable, self.evaluators[0])

    def _workers(self, sized: Sized, early_stopping: EarlyStopping, *, every_rate: bool) -> list[LaunchWorker]:
        """Run the search's trials, one for each part of the nodes."""
        limits = self._limits(sized.session, sized.run_time, early_stopping, every_rate=every_rate)
        book = LearningBook(self.ledger, (limits.learn,))
        breaker = LaunchBreaker(sized.session.study, sized.session.space)
        return [
            LaunchWorker(sized.session, book, limits, self.unavailable, evaluator, breaker)
            for evaluator in self.evaluators
        ]

    def _limits(
        self,
        session: StudySession,
        run_time: RunTimeEstimate,
        early_stopping: EarlyStopping,
        *,
        every_rate: bool = False,
    ) -> LaunchLimits:
        return LaunchLimits(
            session=session,
            incumbent=self.ledger.incumbent,
            run_time=run_time,
            early_stopping=early_stopping,
            unknown_s=unknown_limit_s(self.options.budget.whole_s or DEFAULT_WALL_S),
            every_rate=every_rate,
        )


def _goes_on(session: StudySession) -> str:
    return f"`hpltune tune «resume» «study» {shlex.quote(session.study)}` goes on"


def _without(lost: NodesLostError, session: StudySession, workbench: Workbench) -> Workbench:
    """The workbench without lost nodes.

    Raises:
        TunerError: none is left, or the cluster's file wants a pause instead.
    """
    nodes = workbench.site.nodes
    if nodes is None or nodes.cluster.on_node_loss == "pause" or session.stopped:
        raise TunerError(f"{lost}: {_goes_on(session)} once it is repaired") from lost
    workbench = workbench.without(lost.nodes)
    left = len((workbench.whole or workbench.site).node_names)
    session.say(f"Node {', '.join(lost.nodes)} is taken out; the study goes on with the {left} left.")
    require_network(session.space.parameters, workbench.site)
    return workbench
