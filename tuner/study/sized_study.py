"""A study of which it is known what its runs take: its engine, its search and its confirmation, on any sites."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

from hpl.params import Scalar
from hpl.witness import parse_panels
from results.record import Kind, TrialRecord
from results.stats.ranking import Ranked, rank
from search_spaces.load import passed_over
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..clock import ToldClock
from ..engines.base import Engine, EngineContext, in_gflops
from ..engines.outcomes import FULL, Ladder
from ..engines.probes import Probes
from ..engines.registry import make_engine
from ..events import PhaseStarted
from ..options import TuneOptions
from ..trial.early_stopping import EarlyStopping, updated
from ..trial.ladder import rung_of
from ..trial.site import Site
from ..words import counted
from .ledger import Incumbent, Ledger
from .lifecycle import BegunStudy
from .names import RANKED, SEARCHED, is_compared
from .objective import Objective
from .open import StudyOpener
from .rounds import Competitor, End, Rounds, SteadyLoad
from .search.loop import BudgetRule, FailuresInARow, OtherProcesses, Search, replay_records
from .search.reference_runs import ReferenceRuns
from .search.search_limits import RunTime
from .search.trials import FixedLimits, StudyTrials
from .session import StudyContext, StudySession
from .shootout import libraries_of, with_rivals

FINALISTS = 3
"""Configurations that are measured again before one is called the winner."""


@dataclass
class LongestRun:
    """What a full run takes where no pilot told it: as long as the longest so far, or a guess from the smaller ones.

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
    """What differs for a search between machines, a simulator and a table.

    Attributes:
        probes: what an engine is told before the first run.
        ladder: how much of a full run it may ask for.
        noisy: runs of one configuration differ, so that the best are confirmed.
        most_runs: how often a complete point can be run and tell something new; None where there is no end.
        told_clock: by which the budget passes where runs take no time; None for a real clock.
    """

    probes: Probes = field(default_factory=Probes)
    ladder: Ladder = (FULL,)
    noisy: bool = True
    most_runs: Callable[[Point], int] | None = None
    told_clock: ToldClock | None = None


@dataclass(frozen=True)
class Confirmation:
    """Repeats the finalists of a study as far as its budget allows.

    Attributes:
        trials: runs them.
        each_blas: libraries are compared, so that the best of each is confirmed.
        load: of the machine, as the search hears of it.
    """

    trials: StudyTrials[Any]
    run_time: RunTime
    each_blas: bool
    load: SteadyLoad

    def run(self, repeats: int, kind: Kind = Kind.CONFIRMATION) -> Sequence[Ranked]:
        """Run each of the best so often again, interleaved so that drift hits all alike, and rank anew.

        What was disturbed runs again at once where the runs that are left still fit the budget.
        """
        session, full_s = self.trials.session, self.run_time.full_s
        ranking = session.ranking()
        finalists = session.objective.finalists(ranking, FINALISTS)
        if self.each_blas:
            finalists = with_rivals(session.objective, finalists, ranking)
        competitors = {
            one.key: Competitor.of(one.key, partial(self.trials.trial, one.params, kind), full_s) for one in finalists
        }
        due = self._due(finalists, repeats)
        played = Rounds(
            competitors=list(competitors.values()),
            order=lambda *_: [competitors[one.key] for one in due],
            ends=lambda played, _: "" if played.begun or not due else None,
            meter=session.meter,
            context=session.context,
            phase=PhaseStarted("confirmation", len(due)),
            load=self.load,
            apart=True,
            best_gflops=ranking[0].expected_gflops if ranking else None,
        ).play()
        if played.end in {End.TIME, End.LOAD}:
            planned = counted(len(due), "run")
            done = f"after {played.turns} of {planned}" if played.turns else f"before the first of {planned}"
            session.say(f"The confirmation ends {done}: {played.why}.")
        return session.ranking()

    def runs_due(self, repeats: int) -> int:
        """How many runs would confirm the finalists that there are now."""
        session = self.trials.session
        return len(self._due(session.objective.finalists(rank(session.records(RANKED)), FINALISTS), repeats))

    def _due(self, finalists: Sequence[Ranked], repeats: int) -> list[Ranked]:
        """Which of the finalists run, in their order: each as often as that tells something new."""
        ran, most = Counter(record.key for record in self.trials.session.records(RANKED)), self.trials.most_runs
        turns = product(range(repeats), finalists)
        return [one for turn, one in turns if most is None or ran[one.key] + turn < most(one.params)]


@dataclass(frozen=True, kw_only=True)
class SizedStudy:
    """A study of which it is known what its runs take, on its sites.

    Attributes:
        trials: on all sites that it has.
        engine: chooses what runs, and knows what earlier sessions asked.
        facts: of the sites.
        first: points to try before the engine is asked.
        failures: in a row; None where any number of them may follow each other.
        each_blas: libraries are compared, so that the best of each is confirmed.
        reference: one configuration runs again every so often, where one site runs all.
        afterwards: full runs that follow the confirmation, for which the budget must have room.
    """

    session: StudySession
    ledger: Ledger
    trials: StudyTrials[Any]
    run_time: RunTime
    engine: Engine
    facts: SiteFacts
    first: Sequence[Point] = ()
    failures: FailuresInARow | None = None
    each_blas: bool = False
    reference: bool = False
    afterwards: Callable[[], float] = lambda: 0.0

    def search(self, repeats: int = 1, confirm: int = 0) -> str:
        """Ask and run until budget, engine or user end it.

        Args:
            repeats: how often each configuration is run in full.
            confirm: further runs of each finalist that the budget must still have room for.

        Returns:
            The sentence why it ended.
        """
        session, by_table = self.session, self.facts.most_runs is not None
        rivals = len(libraries_of(session.space)[1:]) if self.each_blas else 0
        most = max(FINALISTS, session.largest_front) + rivals if self.facts.noisy and not by_table else 0
        changing = by_table and self.facts.noisy and session.meter.budget.timed

        def reserved_runs() -> float:  # of a table those of the finalists that there are then
            return self.afterwards() + (self._confirmation.runs_due(confirm) if changing else most * confirm)

        return Search(
            session=session,
            ledger=self.ledger,
            trials=self.trials,
            rule=BudgetRule(
                meter=session.meter,
                reserved_runs=reserved_runs,
                virtual_clock=self.facts.told_clock is not None,
                exact=not self.facts.noisy,
                wanted_runs=FINALISTS + most * confirm,
                failures=self.failures,
            ),
            run_time=self.run_time,
            ladder=self.facts.ladder,
            repeats=repeats,
            first=self.first,
            reference=ReferenceRuns(session, self.trials) if self.reference and len(self.trials.sites) == 1 else None,
            others=OtherProcesses(session, self.ledger) if self.ledger.joinable else None,
            load=self._confirmation.load,
        ).run(self.engine)

    def confirm(self, repeats: int, kind: Kind = Kind.CONFIRMATION) -> Sequence[Ranked]:
        """Run the finalists so often again where runs differ, as trials of that kind, and rank anew."""
        return self._confirmation.run(repeats if self.facts.noisy else 0, kind)

    @cached_property
    def _confirmation(self) -> Confirmation:
        return Confirmation(self.trials, self.run_time, self.each_blas, SteadyLoad(self.session.say))

    def try_all(self, points: Sequence[Mapping[str, Scalar]], kind: Kind) -> None:
        """Run complete points, several at a time; those that did not run before."""
        known = {record.key for record in self.session.records() if record.ranked}
        new = {key: point for point in points if (key := self.session.space.key(point)) not in known}
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
    run_time, failures = LongestRun(), FailuresInARow()
    opened = StudyOpener(
        study=begun.name,
        context=context,
        space=space,
        objective=Objective.of(options.objective, context.store.study(begun.name), options.pareto),
        budget=options.budget,
        earlier=begun.earlier,
        joinable=False,
        told_clock=facts.told_clock,
        learners=(run_time.learn, failures.learn),
    ).open()
    session, ledger, limits = opened.session, opened.ledger, FixedLimits(options.limit_s)
    for record in begun.earlier:
        if record.kind in SEARCHED:
            run_time.learn(record)
            failures.learn(record)
    with context.stop.preparing():
        engine = new_engine(session, options, facts.probes)
        tell_earlier(session, engine, ledger.incumbent, begun.earlier)
    return SizedStudy(
        session=session,
        ledger=ledger,
        trials=StudyTrials(session, sites, ledger, limits, noisy=facts.noisy, most_runs=facts.most_runs),
        run_time=run_time,
        engine=engine,
        facts=facts,
        failures=failures,
    )


def new_engine(session: StudySession, options: TuneOptions, probes: Probes) -> Engine:
    """A new engine that is told what is known of the machine, and what a GFLOPS of a configuration is worth.

    Where the measured power decides it hears with each trial what that was worth, and of the second objective what runs
    so far let expect.
    """
    space, objective, against = session.space, session.objective, session.objective.against

    def worth_by(one: Objective | None) -> Callable[[Point], float]:
        if one is None or one.name == "gflops":
            return in_gflops
        if one.by_measured_power:
            return lambda point: one.power.worth(space.complete(point))
        return lambda point: one.worth(space.complete(point), 1.0)

    known = EngineContext(
        points=options.points,
        probes=probes,
        worth=in_gflops if objective.by_measured_power else worth_by(objective),
        against=worth_by(against),
        against_changes=against is not None and against.by_measured_power,
    )
    return make_engine(options.engine, space, options.seed, known)


def tell_earlier(
    session: StudySession,
    engine: Engine,
    incumbent: Incumbent,
    earlier: Sequence[TrialRecord],
    early_stopping: EarlyStopping | None = None,
) -> None:
    """Tell an engine, and what else learns from trials, all that the study has found so far.

    Args:
        earlier: its trials that have ended.
        early_stopping: learns how full runs began; None where no run is ended early.
    """
    searched = [record for record in earlier if record.kind in SEARCHED]
    if not searched:
        return
    confirmed = [record for record in earlier if record.kind is Kind.CONFIRMATION]
    replay_records(engine, [*searched, *confirmed], session.objective)
    legal = [record for record in earlier if session.space.why_not(record.params) is None]
    if early_stopping:
        outputs = session.context.store.records(session.study, kinds=(Kind.SEARCH,), outputs=True)
        numbers = {record.number for record in legal if record.disturbed is None and record.ranked and record.gflops}
        for record in outputs:
            if record.number in numbers:
                early_stopping.learn(updated(parse_panels(record.errors_text), record.hpl), record.gflops or 0.0)
    incumbent.remember(earlier)
    incumbent.replace_by(legal)
