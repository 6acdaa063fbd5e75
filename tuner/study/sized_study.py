"""A study of which it is known what its runs take: its engine, its search and its confirmation, on any sites."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.stats.ranking import Ranked
from search_spaces.load import passed_over
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..clock import ToldClock
from ..engines.base import Engine, EngineContext, in_gflops
from ..engines.outcomes import FULL, Ladder
from ..engines.probes import Probes
from ..engines.registry import make_engine
from ..options import DEFAULT_WALL_S, TuneOptions
from ..trial.early_stopping import EarlyStopping
from ..trial.ladder import rung_of
from ..trial.site import Site
from .again import SteadyLoad
from .confirmation import FINALISTS, Confirmation
from .ledger import Ledger
from .lifecycle import BegunStudy
from .names import SEARCHED, is_compared
from .objective import Objective
from .open import StudyOpener
from .search.budget_rule import BudgetRule, FailuresInARow
from .search.loop import OtherProcesses, Search, replay_records
from .search.reference_runs import ReferenceRuns
from .search.search_limits import RunTime, RunTimeEstimate, SearchLimits, unknown_limit_s
from .search.trials import FixedLimits, Limits, StudyTrials
from .session import StudyContext, StudySession
from .shootout import libraries_of


@dataclass
class ToldRunTime:
    """What a full run takes by a told clock: the longest so far, or a guess from the smaller ones.

    Attributes:
        longest_s, guessed_s: 0 while nothing has told.
    """

    longest_s: float = 0.0
    guessed_s: float = 0.0

    @property
    def full_s(self) -> float:
        """Seconds of a full run; 0 while nothing has told."""
        return self.longest_s or self.guessed_s

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        cost_s = record.cost_s or 0.0
        if is_compared(record):
            self.longest_s = max(self.longest_s, cost_s)
        elif record.ranked:
            self.guessed_s = max(self.guessed_s, cost_s / rung_of(record).operations)


@dataclass(frozen=True, kw_only=True)
class SiteFacts:
    """What is known of sites before anything runs there; where machines run, pilots tell it.

    Attributes:
        probes: what an engine is told.
        ladder: how much of a full run it may ask for.
        noisy: runs of one configuration differ.
        most_runs: how often a complete point can be run and tell something new; None where there is no end.
        told_clock: by which the budget passes where runs take no time; None for a real clock.
    """

    probes: Probes = field(default_factory=Probes)
    ladder: Ladder = (FULL,)
    noisy: bool = True
    most_runs: Callable[[Point], int] | None = None
    told_clock: ToldClock | None = None


@dataclass(frozen=True, kw_only=True)
class SizedStudy:
    """A study on its sites, of which nothing has to be piloted any more.

    Attributes:
        trials: on all sites that it has.
        probes, ladder: as `SiteFacts` has them.
        exact: each run comes out the same again, so that none is repeated to confirm it.
        earlier: what the searches of earlier sessions asked, which a new engine is told.
        failures: in a row; None where any number of them may follow each other.
        each_blas: libraries are compared, so that the best of each is confirmed.
        reference: one configuration runs again every so often, where one site runs all.
        afterwards: full runs that follow the confirmation, for which the budget must have room.
    """

    session: StudySession
    ledger: Ledger
    trials: StudyTrials[Any]
    run_time: RunTime
    load: SteadyLoad
    probes: Probes = field(default_factory=Probes)
    ladder: Ladder = (FULL,)
    exact: bool = False
    earlier: Sequence[TrialRecord] = ()
    failures: FailuresInARow | None = None
    each_blas: bool = False
    reference: bool = False
    afterwards: Callable[[], float] = lambda: 0.0

    @property
    def space(self) -> SearchSpace:
        """What is searched."""
        return self.session.space

    @property
    def virtual_clock(self) -> bool:
        """Whether time passes by what trials cost, and so only when they have ended."""
        return isinstance(self.session.meter.clock, ToldClock)

    def engine(self, name: str, seed: int, points: int | None = None) -> Engine:
        """A new engine that is told what is known of the machine, and what earlier sessions asked."""
        with self.session.context.stop.preparing():
            engine = new_engine(self.session, name, seed, points, self.probes)
            replay_records(engine, self.earlier, self.session.objective)
        return engine

    def search(self, engine: Engine, repeats: int, confirm: int = 0, first: Sequence[Point] = ()) -> str:
        """Ask and run until budget, engine or user end it.

        Args:
            repeats: how often each configuration is run in full.
            confirm: further runs of each finalist that the budget must still have room for.
            first: points to try before the engine is asked.

        Returns:
            The sentence why it ended.
        """
        session, trials, confirm = self.session, self.trials, 0 if self.exact else confirm
        by_table, timed = trials.most_runs is not None, session.meter.budget.timed
        rivals = len(libraries_of(session.space)[1:]) if self.each_blas else 0
        finals = 0 if by_table else confirm * (max(FINALISTS, session.largest_front) + rivals)

        def reserved_runs() -> float:  # of a table those of the finalists that there are then
            due = self._confirmation.runs_due(confirm) if by_table and timed and confirm else finals
            return self.afterwards() + due

        return Search(
            session=session,
            ledger=self.ledger,
            trials=trials,
            rule=BudgetRule(
                meter=session.meter,
                reserved_runs=reserved_runs,
                virtual_clock=self.virtual_clock,
                exact=self.exact,
                wanted_runs=FINALISTS + finals,
                failures=self.failures,
            ),
            run_time=self.run_time,
            ladder=self.ladder,
            repeats=repeats,
            first=first,
            reference=ReferenceRuns(session, trials) if self.reference and len(trials.sites) == 1 else None,
            others=OtherProcesses(session, self.ledger) if self.ledger.joinable else None,
            load=self.load,
        ).run(engine)

    def confirm(self, repeats: int, kind: Kind = Kind.CONFIRMATION) -> Sequence[Ranked]:
        """Run the finalists so often again where runs differ, and rank anew.

        Args:
            kind: of these trials.
        """
        return self._confirmation.run(
            0 if self.exact else repeats,
            lambda params, before: self.trials.launch([params], kind, repeat=before)[0],
        )

    @property
    def _confirmation(self) -> Confirmation:
        return Confirmation(self.session, self.run_time, self.each_blas, self.trials.most_runs, self.load)

    def try_all(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Run complete points, several at a time; those that did not run before."""
        known = {record.key for record in self.session.records() if record.ranked}
        new = {key: point for point in points if (key := self.space.key(point)) not in known}
        self.trials.launch_each(list(new.values()), kind)


def sized_study(
    begun: BegunStudy,
    options: TuneOptions,
    space: SearchSpace,
    sites: Sequence[Site[Any]],
    facts: SiteFacts,
    context: StudyContext,
) -> SizedStudy:
    """A study on sites that need no pilots, with all that its earlier trials told.

    Args:
        space: at the N of the study.
        sites: as many trials run at a time; one may stand several times.
    """
    for sentence in passed_over(space, options.overrides or {}):
        context.say(sentence)
    opened = StudyOpener(
        study=begun.name,
        context=context,
        space=space,
        objective=Objective.of(options.objective, context.store.study(begun.name), options.pareto),
        budget=options.budget,
        earlier=begun.earlier,
        joinable=False,
        told_clock=facts.told_clock,
    ).open()
    session, ledger = opened.session, opened.ledger
    earlier, failures = [record for record in begun.earlier if record.kind in SEARCHED], FailuresInARow()
    run_time: RunTime
    limits: Limits
    if facts.told_clock:
        run_time, limits = ToldRunTime(), FixedLimits(options.limit_s)
        ledger.learners = (run_time.learn, failures.learn)
    else:
        run_time = RunTimeEstimate()
        limits = limits_of(session, ledger, run_time)
        ledger.learners = (limits.learn, failures.learn)
    ledger.count(earlier)
    for record in earlier:
        ledger.remember(record)
    return SizedStudy(
        session=session,
        ledger=ledger,
        trials=StudyTrials(session, sites, ledger, limits, noisy=facts.noisy, most_runs=facts.most_runs),
        run_time=run_time,
        load=SteadyLoad(session.say),
        probes=facts.probes,
        ladder=facts.ladder,
        exact=not facts.noisy,
        earlier=earlier,
        failures=failures,
    )


def limits_of(
    session: StudySession,
    ledger: Ledger,
    run_time: RunTimeEstimate,
    early_stopping: EarlyStopping | None = None,
    *,
    every_rate: bool = False,
) -> SearchLimits:
    """What launches by a real clock may take and must reach, as `SearchLimits` has it."""
    noise = session.objective.noise_at_first
    return SearchLimits(
        session=session,
        incumbent=ledger.incumbent,
        run_time=run_time,
        early_stopping=early_stopping or EarlyStopping(noise_at_first=noise),
        unknown_s=unknown_limit_s(session.meter.budget.whole_s or DEFAULT_WALL_S),
        every_rate=every_rate,
    )


def new_engine(session: StudySession, name: str, seed: int, points: int | None, probes: Probes) -> Engine:
    """A new engine that is told what is known of the machine, and what a GFLOPS of a configuration is worth.

    Where the measured power decides it hears with each trial what that was worth, and of the second objective what runs
    so far let expect.
    """
    space, objective, known = session.space, session.objective, EngineContext(points=points, probes=probes)
    against, power = objective.against, objective.power

    def worth_by(one: Objective) -> Callable[[Point], float]:
        return in_gflops if one.name == "gflops" else lambda point: one.worth(space.complete(point), 1.0)

    if not objective.by_measured_power:
        known = replace(known, worth=worth_by(objective))
    if against and against.by_measured_power:
        known = replace(known, against=lambda point: power.worth(space.complete(point)), against_changes=True)
    elif against:
        known = replace(known, against=worth_by(against))
    return make_engine(name, space, seed, known)
