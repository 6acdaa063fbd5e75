"""The one search of a study: ask the engine, run its questions on sites, and tell it what came of them."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from search_spaces.parameters.dimension import Point

from ...budget import Meter
from ...engines.base import Engine
from ...engines.outcomes import FULL, Ladder, Question
from ...events import PhaseStarted
from ...stopping import Interrupted
from ...trial.ask_and_tell import ask_and_tell
from ...trial.ladder import outcomes_of, rung_of
from ...words import counted
from ..ledger import Ledger
from ..names import SEARCHED, is_conclusive
from ..objective import Objective
from ..rounds import FullRuns, SteadyLoad, doubted_sentence
from ..session import StudySession
from .reference_runs import ReferenceRuns
from .search_limits import RunTime
from .trials import StudyTrials


@dataclass
class FailuresInARow:
    """Counts the trials that failed one after the other."""

    count: int = 0

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        self.count = self.count + 1 if record.state is TrialState.FAILED else 0


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """How far a search is when it asks for the next trial.

    Attributes:
        full_s: seconds of a full run; 0 while unknown.
        repeats: full runs that the next question may need.
        running: trials under way, of which the budget does not know yet.
        without_result: no rate is compared yet.
        full_asked: a full run was asked for in this session.
    """

    full_s: float
    repeats: int = 1
    running: int = 0
    without_result: bool = False
    full_asked: bool = False


@dataclass(frozen=True, kw_only=True)
class BudgetRule:
    """When a search has used up its budget.

    On a machine the first trial is always allowed, and until there is a result no time is reserved for later runs. On a
    virtual cluster a full run is always asked before time refuses.

    Attributes:
        reserved_runs: full runs that must still fit after the search; a function where what was found decides.
        exact: each run comes out the same again, so that a cheap one saves nothing but time.
        virtual_clock: time passes only when a trial has ended, so those under way will still take theirs.
        wanted_runs: full runs that a search should have room for: told where not even one fits. None tells nothing.
        failures, most_failures: so many failures in a row end a search that only time limits.
    """

    meter: Meter
    reserved_runs: float | Callable[[], float]
    virtual_clock: bool = False
    exact: bool = False
    wanted_runs: float | None = None
    failures: FailuresInARow | None = None
    most_failures: int = 20

    def out_of_trials(self, now: SearchState) -> str | None:
        """The sentence why no trial is left, or None; time is not looked at."""
        if self.failures and self.failures.count >= self.most_failures and self.meter.budget.trials is None:
            return f"the last {self.failures.count} simulations failed, and failures use up no budget"
        return self.meter.out_of_trials(now.running)

    def must_wait(self, now: SearchState) -> bool:
        """Whether a trial that is under way must tell first what a run takes."""
        return self.virtual_clock and now.running > 0 and not now.full_s and self.meter.budget.timed

    def out_of_time(self, now: SearchState) -> str | None:
        """The sentence why the time that is left is too short, or None."""
        if self.virtual_clock:
            over = self.meter.out_of_time(now.full_s, self._following_runs(now)) if now.full_asked else None
            return over and (self.meter.budget.too_small(now.full_s, self.wanted_runs or 1.0) or over)
        nothing_yet = now.without_result and not now.running
        if nothing_yet and not self.meter.trials:
            return None
        return self.meter.out_of_time(now.full_s, 1.0 if nothing_yet else self._following_runs(now))

    def is_last(self, now: SearchState) -> bool:
        """Whether what is asked next can only be confirmed, not followed up: it has to be a full run."""
        return self.meter.last(now.full_s, self._following_runs(now), now.running)

    def counts_only(self, now: SearchState) -> bool:
        """Whether trials run out before the time does, so that a full run tells more and costs no more."""
        return (
            self.exact
            and now.full_s > 0
            and self.meter.ends_by_trials(now.full_s, self._following_runs(now), now.running)
        )

    def room(self, now: SearchState) -> int:
        """Cheap trials that fit beside the next one."""
        return self.meter.room(now.full_s, self._following_runs(now), now.running) if now.full_s else 0

    def _following_runs(self, now: SearchState) -> float:
        """Full runs that must still fit, the next one included."""
        reserved = self.reserved_runs() if callable(self.reserved_runs) else self.reserved_runs
        return now.repeats + reserved + (now.running if self.virtual_clock else 0)


@dataclass
class OtherProcesses:
    """Tells an engine of the trials of other processes, each when it begins and when it has ended."""

    session: StudySession
    ledger: Ledger
    _expected: set[int] = field(default_factory=set, init=False)

    def hear(self, engine: Engine) -> int:
        """Tell an engine what is new.

        Returns:
            Trials that the others are running.
        """
        if not self.ledger.is_shared():
            return 0
        records = self._new_records()
        if any(record.state is TrialState.RUNNING for record in records) and self._fail_abandoned_trials():
            records = self._new_records()
        for record, outcome in zip(records, outcomes_of(records), strict=True):
            question = Question(dict(record.params), rung_of(record))
            if record.state is TrialState.RUNNING:
                if record.number not in self._expected:
                    engine.expect(question)
                    self._expected.add(record.number)
                continue
            self.ledger.count([record])
            self.ledger.incumbent.note(record)
            if is_conclusive(record):
                engine.tell(question.params, self.session.objective.outcome(record, outcome))
            else:
                engine.release(question)
        return sum(record.state is TrialState.RUNNING for record in records)

    def _new_records(self) -> Sequence[TrialRecord]:
        return [record for record in self.session.records(SEARCHED) if record.number not in self.ledger.known]

    def _fail_abandoned_trials(self) -> bool:
        """End the trials of processes that were killed; whether there were any."""
        store, study, known = self.session.context.store, self.session.study, self.ledger.known
        if not store.left_behind(study, known):
            return False
        left = store.abandon_running(study, "the hpltune that ran this trial was killed", known)
        if left:  # and no other was faster
            self.session.say(f"{counted(left, 'trial')} left behind by a hpltune that was killed.")
        return True


STOPPED = "stopped on request"


@dataclass(kw_only=True)
class Search:
    """Searches one study with one engine.

    Attributes:
        rule: says when the budget is used up.
        run_time: what a full run takes.
        ladder: how much of a full run the engine may ask for.
        repeats: how often each configuration is run in full: at once, because the engine learns from it; or in rounds
            where the machine may drift and the engine's choice does not depend on it, so that drift hits all alike.
        first: points to try before the engine is asked, as far as it does not know them.
        reference: one configuration that runs again every so often; None where the machine cannot change.
        others: tells of other processes; None where there cannot be any.
        load: of the machine, as the study's other runs hear of it, too; None where there are none.
    """

    session: StudySession
    ledger: Ledger
    trials: StudyTrials[Any]
    rule: BudgetRule
    run_time: RunTime
    ladder: Ladder = (FULL,)
    repeats: int = 1
    first: Sequence[Point] = ()
    reference: ReferenceRuns | None = None
    others: OtherProcesses | None = None
    load: SteadyLoad | None = None
    _again: deque[Sequence[Question]] = field(default_factory=deque, init=False)

    @cached_property
    def _full_runs(self) -> FullRuns:
        return FullRuns(self.load or SteadyLoad(self.session.say))

    def run(self, engine: Engine) -> str:
        """Measure what the engine asks until the budget, the engine or the user ends it.

        Returns:
            The sentence why it ended.

        Raises:
            TunerError, results.errors.ResultsError: a site cannot go on.
        """
        self.session.context.listener(PhaseStarted("search", self.session.meter.budget.trials))
        self.session.explain()
        in_rounds = engine.wants_every_rate and not self.rule.virtual_clock
        rounds, repeats = (self.repeats, 1) if in_rounds else (1, self.repeats)
        ended: str | None = None

        def ask() -> Sequence[Question] | None:
            nonlocal ended
            while ended is None and not self.session.stopped:
                batch, ended = self._next(engine, rounds, repeats)
                if batch or self.trials.under_way:
                    return batch or None
            return None

        ask_and_tell(
            self.trials,
            self.session.context.stop,
            ask=ask,
            start=self.trials.start,
            tell=lambda done: self._tell(engine, done),
        )
        ended = ended or "you asked for it"
        self._show_remarks(engine)
        left = engine.unasked()
        return f"{ended}; {left} of {left + len(engine.told)} configurations were not run" if left else ended

    def _next(self, engine: Engine, rounds: int, repeats: int) -> tuple[Sequence[Question], str | None]:
        """What to start next, with nothing where that must wait for what is running; or the sentence why no more."""
        if self._again:
            batch: Sequence[Question] = self._again.popleft()
            return ([] if self.trials.used_up(batch[0]) else batch), None
        for part in self.trials.unavailable.parts if self.trials.unavailable else ():
            engine.bar(part)
        now = self._state(engine, repeats)
        refused = self.rule.out_of_trials(now)
        waits = refused is None and self.rule.must_wait(now)
        refused = refused or (None if waits else self.rule.out_of_time(now))
        if refused or waits or self._reference_ran(now):
            return [], refused
        try:
            batch = self._chosen(engine, now, rounds)
        except Interrupted:
            return [], STOPPED
        self._show_remarks(engine)
        if not batch:
            return [], None if self.trials.under_way else self._nothing_left(engine)
        known = self.trials.used_up(batch[0])
        if known is not None:
            self._tell(engine, [(batch[0], known)])
            return [], None
        if batch[0].rung == FULL:
            self._full_runs.asked = True
            self._again.extend([batch] * (repeats - 1))
        return batch, None

    def _chosen(self, engine: Engine, now: SearchState, rounds: int) -> Sequence[Question]:
        """What runs next: again what was disturbed, a first point, what the engine asks, or one more round; or nothing.

        Raises:
            Interrupted: the user wants nothing more to be started.
        """
        # Whoever wants each rate of a grid wants no run twice before all ran.
        running, best = self.trials.under_way, self.ledger.incumbent.gflops
        batch = [] if engine.wants_every_rate else self._full_runs.take(running, best)
        batch = batch or self._first(engine) or self._asked(engine, now) or self._next_round(rounds)
        return batch or self._full_runs.take(running, best)

    def _nothing_left(self, engine: Engine) -> str:
        """The sentence why an engine asks nothing more; the study keeps that all was tried."""
        if len(engine.history.points) >= len(engine.space):
            self.session.context.store.note(self.session.study, lambda notes: replace(notes, all_tried=True))
        return why_nothing_left(engine)

    def _state(self, engine: Engine, repeats: int) -> SearchState:
        """How far the search is, after hearing of other processes."""
        elsewhere = self.others.hear(engine) if self.others else 0
        return SearchState(
            full_s=self.run_time.full_s,
            repeats=repeats,
            running=elsewhere + len(self.trials.under_way),
            without_result=self.ledger.incumbent.gflops is None,
            full_asked=self._full_runs.asked,
        )

    def _reference_ran(self, now: SearchState) -> bool:
        """Run the reference configuration where it is time, and say whether it ran."""
        if self.reference is None or self.rule.is_last(now) or self.ledger.is_shared():
            return False
        return self.reference.run_if_due()

    def _first(self, engine: Engine) -> list[Question]:
        """The first of the points to try at first that the engine does not know; or nothing."""
        start = engine.first_unseen(self.first)
        if not start:
            return []
        question = Question(start)
        engine.expect(question)
        return [question]

    def _asked(self, engine: Engine, now: SearchState) -> list[Question]:
        """The engine's question, with what may share its launch; or nothing.

        Raises:
            Interrupted: the user wants nothing more to be started.
        """
        rungs = (FULL,) if self.rule.is_last(now) or self.rule.counts_only(now) else self.ladder
        with self.session.context.stop.thinking():
            if self.trials.site.shares_launches:
                batch = engine.choose_launch(rungs, lambda one: self.rule.room(now) if one.rung != FULL else 0)
            else:
                question = engine.choose(rungs)
                batch = [question] if question else []
        if batch and batch[0].doubted:
            key = self.session.space.key(batch[0].params)
            for record in self.session.records((Kind.SEARCH,)):
                if record.ranked and self.session.space.key(record.params) == key:
                    self.session.say(doubted_sentence(record.number, batch[0].doubted))
        return batch

    def _next_round(self, rounds: int) -> list[Question]:
        """The configuration that is to run once more, of those that ran least the one that ran first; or nothing."""
        if rounds < 2:
            return []
        space = self.session.space
        runs = Counter(space.key(question.params) for question in self.trials.under_way)
        params: dict[str, Mapping[str, Scalar]] = {}
        failed = set()
        for record in self.session.records((Kind.SEARCH,)):
            key = space.key(record.params)
            if record.ranked:
                params.setdefault(key, record.params)
            if record.ranked or (record.state is TrialState.RUNNING and record.number not in self.ledger.known):
                runs[key] += 1
            elif record.state is TrialState.FAILED:
                failed.add(key)
        again = [key for key in params if key not in failed and runs[key] < rounds]
        return [Question(dict(params[min(again, key=lambda key: runs[key])]))] if again else []

    def _tell(self, engine: Engine, ended: Sequence[tuple[Question, TrialRecord]]) -> None:
        """Tell the engine what came of a launch; what another process runs is left to that."""
        records = [record for _, record in ended]
        if any(record.state is not TrialState.COMPLETE or record.kind is Kind.GIVEN_UP for record in records):
            self._again = deque(batch for batch in self._again if batch[0] != ended[0][0])
        for (question, record), outcome in zip(ended, outcomes_of(records), strict=True):
            if record.number:
                engine.tell(question.params, self.session.objective.outcome(record, outcome))
                self._full_runs.note(question, record, self.ledger.incumbent.gflops)

    def _show_remarks(self, engine: Engine) -> None:
        """Show what the engine has to say; of a simulated cluster, which is as its file says, no cautions."""
        context = self.session.context
        for remark in engine.take_remarks():
            if not (remark.caution and context.store.study(self.session.study).how == "simulated"):
                context.say(remark.text, caution=remark.caution)


def replay_records(engine: Engine, records: Sequence[TrialRecord], objective: Objective) -> None:
    """Rebuild an engine from the store: the records are the only state a study has.

    Nothing is known of a trial that the user ended, or whose end was not seen because hpltune was killed.
    """
    for record, outcome in zip(records, outcomes_of(records), strict=True):
        if is_conclusive(record):
            engine.tell(record.params, objective.outcome(record, outcome))


def why_nothing_left(engine: Engine) -> str:
    """Why an engine asks nothing more: what it expects does not matter where all configurations ran."""
    count = len(engine.space)
    if engine.nothing_left == Engine.nothing_left and len(engine.history.points) >= count:
        return f"all {count} configurations were tried" if count > 1 else "the only configuration was tried"
    return engine.nothing_left
