"""`hpltune tune` from end to end: build, pilot, search, confirm, predict. `tune` reads as the order of things."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from results.metrics import measured_watts, power_by
from results.record import TrialState
from results.stats.ranking import Ranked
from search_spaces.errors import SpaceError
from search_spaces.load import wants_all_blas
from search_spaces.machine import MachineNode
from search_spaces.node_order import LISTED, NODE_PARAMETERS, unlike_parts
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.base import Engine
from ..engines.points import starts_of_each
from ..errors import NodesLostError, TunerError, UsageError
from ..machine.equipment import PROGRAM
from ..machine.left_out import too_slow
from ..machine.problem_size import IN_TURN
from ..machine.quiet import QuietWait, longest_wait_s, look_at
from ..options import DEFAULT_WALL_S, TuneOptions
from ..settings.around_study import prepare_settings
from ..trial.early_stopping import EarlyStopping
from ..trial.evaluate import Evaluator
from ..trial.plan import require_settings
from ..trial.workbench import Workbench
from ..words import listed
from .cautions import note_lost
from .lifecycle import BegunStudy
from .names import resume_command
from .objective import Objective, of_study
from .open import OpenStudy, StudyOpener, next_session
from .search.loop import STOPPED
from .search.reference_runs import tell_changes
from .search.search_limits import RunTimeEstimate, SearchLimits, unknown_limit_s
from .search.trials import LaunchBreaker, StudyTrials, UnavailableParts
from .seeding import Opening, probes, seed_engine
from .session import StudyContext, StudySession
from .sized_study import SiteFacts, SizedStudy, new_engine, tell_earlier
from .sizing.pilot import timed_at_first
from .sizing.size import load_space, programs_for, size
from .sizing.whole_memory import SMALLER_COST, kept_for_turns_s, predict_full

if TYPE_CHECKING:
    from .sizing.prediction import NotedPrediction


@dataclass(frozen=True)
class TuneOutcome:
    """What a study found.

    Attributes:
        ranking: configurations, best median first; empty where no run was valid.
        predicted: of the fastest in turn at the whole memory, or None where that was measured.
        ended: the sentence why the search stopped.
        interrupted: the user stopped it; `hpltune tune --resume` goes on.
        left_to_others: other processes go on with it and confirm its winner.
    """

    study: str
    ranking: Sequence[Ranked]
    predicted: "NotedPrediction | None"
    ended: str
    interrupted: bool
    left_to_others: bool = False


def tune(
    options: TuneOptions,
    begun: BegunStudy,
    workbench: Workbench,
    context: StudyContext,
    space: SearchSpace,
    *,
    opening: Opening | None = None,
) -> TuneOutcome:
    """Run a study that was entered.

    Args:
        space: the study's, on this workbench; the pilots tell its N.
        opening: simulates before the first full run; None where nothing is simulated.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
    """
    name, earlier = begun.name, begun.earlier
    study = context.store.study(name)
    text = study.space_text
    compares = wants_all_blas(options.space, text)
    left_out = None if options.blas_only else too_slow(workbench.site, all_blas=compares)
    if left_out and "blas" in space.parameters and "blas" not in (options.overrides or {}):
        context.say(left_out, detail=True)
    prepare(space, workbench.evaluator, workbench, context)
    opened = StudyOpener(
        study=name,
        context=context,
        space=space,
        objective=Objective.of(options.objective, study, options.pareto),
        budget=options.budget,
        earlier=earlier,
        number=next_session(earlier),
    ).open()
    note_lost(context.store, name, (), workbench)
    quiet = quiet_wait(options, workbench, context)
    quiet.before("the first run")
    unavailable = UnavailableParts(context, name)
    while True:
        session = opened.session
        evaluators, sentence = evaluators_of(session.space, workbench)
        if sentence:
            context.say(sentence)
        campaign = Campaign(
            options=options,
            compares=compares,
            opened=opened,
            unavailable=unavailable,
            evaluators=evaluators,
            joined=begun.joined,
            opening=opening,
        )
        try:
            if sized := campaign.sized():
                return tuned(sized, options, quiet=quiet, joined=begun.joined)
            session.end()
            return TuneOutcome(name, session.ranking(), None, STOPPED, interrupted=True)
        except NodesLostError as lost:
            workbench = _without(lost, session, workbench)
            try:
                require_settings(session.space.parameters, workbench.site)
                space = load_space(options, workbench.site, text)
            except (SpaceError, UsageError) as error:
                raise TunerError(
                    f"no configuration fits what is left without node {', '.join(lost.nodes)} ({error}): "
                    f"{resume_command(session.study, context.store)} goes on once it is repaired"
                ) from error
            left = (workbench.whole or workbench.site).node_names
            session.say(f"Node {', '.join(lost.nodes)} is taken out; the study goes on with the {len(left)} left.")
            opened = replace(opened, session=replace(session, space=space, shrunk=True))


def _note_unmeasured(session: StudySession) -> None:
    """Say that the source that counts told the power of no run; then that counts which the user gave."""
    objective, store = session.objective, session.context.store
    source = objective.machine.power_source
    if not source or any(power_by(measured_watts(record.measurements), source) for record in session.records()):
        return
    decides = any(one.by_measured_power for one in (objective, objective.against) if one is not None)
    given = store.study(session.study).power_w is not None
    if given or not decides:
        store.note(session.study, lambda notes: replace(notes, power_source=""))
    if decides:
        instead = "the power that was given counts" if given else "nothing can be ranked by MFLOPS/W"
        session.say(
            f"The power source {source} told the power of no run, which must solve for 3 s at least: {instead}."
        )


def _power_starts(session: StudySession) -> Sequence[Point]:
    """Points that show what each choice draws on which the power depends most, where the measured power decides."""
    if not any(one.by_measured_power for one in (session.objective, session.objective.against) if one is not None):
        return ()
    return [
        point
        for name in session.space.varying
        if name == "layout" or name.startswith("sys.")
        for point in starts_of_each(session.space, name)
    ]


def quiet_wait(options: TuneOptions, workbench: Workbench, context: StudyContext) -> QuietWait:
    """The waits of a study for a quiet machine."""
    limit_s = longest_wait_s(options.wait_for_quiet, options.budget.whole_s, options.budget.wall_s)
    return QuietWait(look_at(workbench.whole or workbench.site), limit_s, context.listener, context.stop)


def prepare(space: SearchSpace, evaluator: Evaluator, workbench: Workbench, context: StudyContext) -> None:
    """Take the network, and build the programs that a search on some nodes of a workbench may need.

    Raises:
        TunerError, HplError: something is missing; a sentence says what.
    """
    require_settings(space.parameters, evaluator.machine)
    prepare_settings(evaluator, {name: parameter.values for name, parameter in space.parameters.items()})
    names, threads, mpis = programs_for(space)
    with context.stop.preparing():
        workbench.build(names, threads, context.listener, mpis)


def tuned(
    study: SizedStudy,
    options: TuneOptions,
    spent: Callable[[float], str] | None = None,
    quiet: QuietWait | None = None,
    *,
    joined: bool = False,
) -> TuneOutcome:
    """Search a study on whatever sites it has, confirm the winner, and predict its run at the whole memory.

    Args:
        spent: says what so many seconds of HPL runs would have cost on the machine for which the sites stand.
        quiet: waits for a quiet machine before the confirmation; None waits for none.
        joined: who began the study confirms the winner, if somebody still works on it.
    """
    session, trials, predicted = study.session, study.trials, None
    store, name = session.context.store, session.study
    ended = study.search(options.repeats, options.confirm)
    session.say(f"Search stopped: {ended}.")
    if spent:
        session.say(spent(session.meter.run_s))
    if joined and store.others(name):
        store.end_study(name, "interrupted")
        return TuneOutcome(name, session.ranking(), None, ended, session.stopped, left_to_others=True)
    if quiet and options.confirm:
        quiet.before("the best are measured again", session.meter.remaining_s())
    ranking = study.confirm(options.confirm)
    if not study.facts.told_clock:  # what stands for a machine does not change
        tell_changes(session)
        _note_unmeasured(session)
        ranking = replace(session, objective=of_study(store.study(name))).ranking()
        if trials.site.machine and not options.full:
            predicted = predict_full(trials, ranking, options, study.engine)
        session.end()
    return TuneOutcome(name, ranking, predicted, ended, session.stopped)


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A study on machines, whose pilots tell what its runs take: they come before all that is the same on other sites.

    Attributes:
        compares: libraries are compared, so that the best of each is confirmed.
        opened: the study, before N is known.
        evaluators: one for each part of the nodes on which a trial runs.
        joined: who began the study confirms the winner.
        opening: simulates before the first full run; None where nothing is simulated.
        predicts: its end tells of the whole memory.
    """

    options: TuneOptions
    compares: bool
    opened: OpenStudy
    unavailable: UnavailableParts
    evaluators: Sequence[Evaluator]
    joined: bool
    opening: Opening | None = None
    predicts: bool = True

    def sized(self) -> SizedStudy | None:
        """The study with what its pilots told of its runs; None where the user stopped during the pilots.

        Raises:
            NodesLostError: nodes do not come back; a campaign on those that are left can go on.
            TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents the study.
        """
        options, ledger, session = self.options, self.opened.ledger, self.opened.session
        ledger.learners = ()  # from pilots only the study's size is learnt
        pilots = self._on(self.evaluators[:1], self._limits(session, RunTimeEstimate(), EarlyStopping()))
        sized = size(pilots, options, IN_TURN if self.predicts else 0.0)
        if sized is None:
            return None
        session, run_time = sized.session, sized.run_time
        early_stopping = EarlyStopping(noise_at_first=session.objective.noise_at_first)
        engine, first = self._engine(replace(pilots, session=session), early_stopping)
        every_rate = engine.wants_every_rate or options.repeats > 1
        limits = self._limits(session, run_time, early_stopping, every_rate=every_rate)
        ledger.learners = (limits.learn,)
        trials = replace(self._on(self.evaluators, limits), breaker=LaunchBreaker(session))
        predicts = self.predicts and not self.joined
        if predicts:
            session.context.store.note(session.study, lambda notes: replace(notes, whole_memory={}))
        kept_s = kept_for_turns_s(trials, options, IN_TURN) if predicts and not options.full else 0.0
        return SizedStudy(
            session=session,
            ledger=ledger,
            trials=trials,
            run_time=run_time,
            engine=engine,
            facts=SiteFacts(ladder=sized.ladder),
            first=first,
            each_blas=self.compares,
            reference=options.reference and not self.joined,
            afterwards=lambda: SMALLER_COST + kept_s / (run_time.full_s or math.inf),
        )

    def _engine(self, trials: StudyTrials[Evaluator], early_stopping: EarlyStopping) -> tuple[Engine, Sequence[Point]]:
        """A new engine, and the points to try before it is asked; it and the others hear what is known already."""
        session, options, incumbent = trials.session, self.options, self.opened.ledger.incumbent
        measured = timed_at_first(trials, probes(trials.site.machine))
        simulated = self.opening(session, trials.site.machine, measured) if self.opening else None
        with session.context.stop.preparing():
            engine = new_engine(session, options, measured)
            programs = starts_of_each(session.space, PROGRAM)
            first = [*seed_engine(options, session, engine, simulated), *programs, *_power_starts(session)]
            earlier = [record for record in session.records() if record.state is not TrialState.RUNNING]
            tell_earlier(session, engine, incumbent, earlier, early_stopping)
        self.opened.ledger.count(earlier)
        return engine, first

    def _on(self, evaluators: Sequence[Evaluator], limits: SearchLimits) -> StudyTrials[Evaluator]:
        session = limits.session
        sites = [replace(one, left_s=session.meter.remaining_s) for one in evaluators]
        return StudyTrials(session, sites, self.opened.ledger, limits, self.unavailable, clock=session.meter.clock)

    def _limits(
        self,
        session: StudySession,
        run_time: RunTimeEstimate,
        early_stopping: EarlyStopping,
        *,
        every_rate: bool = False,
    ) -> SearchLimits:
        return SearchLimits(
            session=session,
            incumbent=self.opened.ledger.incumbent,
            run_time=run_time,
            early_stopping=early_stopping,
            unknown_s=unknown_limit_s(self.options.budget.whole_s or DEFAULT_WALL_S),
            every_rate=every_rate,
        )


def _without(lost: NodesLostError, session: StudySession, workbench: Workbench) -> Workbench:
    """The workbench without lost nodes.

    Raises:
        TunerError: none is left, or the cluster's file wants a pause instead.
    """
    nodes = workbench.site.nodes
    if nodes is None or nodes.cluster.on_node_loss == "pause" or session.stopped:
        raise TunerError(
            f"{lost}: {resume_command(session.study, session.context.store)} goes on once it is repaired"
        ) from lost
    workbench = workbench.without(lost.nodes)
    note_lost(session.context.store, session.study, lost.nodes, workbench)
    return workbench


def require_alike_parts(space: SearchSpace, workbench: Workbench) -> None:
    """Refuse several trials at a time where the space chooses among nodes, and a choice differs from part to part.

    Raises:
        UsageError: it does; the sentence names two parts.
    """
    sentence = unlike_sentence(space, workbench)
    if sentence:
        raise UsageError(
            f"{sentence}. List the nodes so that all parts are alike, or leave ⟦parallel⟧ out",
            field="parallel",
            given=1 + len(workbench.others),
        )


def evaluators_of(space: SearchSpace, workbench: Workbench) -> tuple[tuple[Evaluator, ...], str]:
    """Return what runs the trials of a study that is stored, and a sentence where only one part of the nodes can."""
    sentence = unlike_sentence(space, workbench)
    if not sentence:
        return (workbench.evaluator, *workbench.others), ""
    nodes = listed(workbench.site.node_names)
    return (workbench.evaluator,), f"One trial at a time from here on, on {nodes}: {sentence}."


def unlike_sentence(space: SearchSpace, workbench: Workbench) -> str:
    """Say which parts are not alike, and which parameters need alike ones; "" if all is well."""
    known, usual = NODE_PARAMETERS & space.parameters.keys(), {0, LISTED}
    asked = sorted(name for name in known if not usual.issuperset(space.parameters[name].values))
    if not asked or workbench.whole is None:
        return ""
    whole, *parts = (
        site.machine(all_blas=False, N=None)
        for site in (workbench.whole, workbench.site, *(one.machine for one in workbench.others))
    )
    unlike = unlike_parts(parts, whole, by_switch="rank_order" in asked)
    if unlike is None:
        return ""
    one, other = (listed([f"{node.name}{_facts(node)}" for node in parts[number].node_list]) for number in unlike)
    means = "means" if len(asked) == 1 else "mean"
    return f"{listed(asked)} {means} other nodes on each part, and the parts differ: {one} against {other}"


def _facts(node: MachineNode) -> str:
    """What is known of a node."""
    facts = [*([f"{node.speed:g}"] if node.speed is not None else []), *([node.switch] if node.switch else [])]
    return f" ({', '.join(facts)})" if facts else ""
