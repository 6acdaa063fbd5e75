"""The one search of a study: ask the engine, run its questions on workers, and tell it what came of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from search_spaces.parameters.dimension import Point

from ...engines.base import Engine
from ...engines.fidelity import FULL, Ladder, Question
from ...events import PhaseStarted
from ...stopping import Interrupted
from ...trial.ladder import outcomes_of
from ..kinds import is_conclusive
from ..ledger import Ledger
from ..machine_changes import MOVED
from ..objective import Objective
from ..session import StudySession
from .budget_rule import BudgetRule, SearchState
from .drift_monitor import DriftMonitor, anchor_rate
from .others import OtherProcesses
from .search_limits import RunTime
from .unavailable import UnavailableParts
from .workers import Ended, Workers

STOPPED = "stopped on request"


@dataclass(kw_only=True)
class Scheduler:
    """Searches one study with one engine.

    Attributes:
        rule: says when the budget is used up.
        run_time: what a full run takes.
        ladder: how much of a full run the engine may ask for.
        repeats: how often each configuration is run in full: at once, because the engine learns from it; or in rounds
            where the machine may drift and the engine's choice does not depend on it, so that drift hits all alike.
        first: points to try before the engine is asked, as far as it does not know them.
        drift: watches the machine; None where it cannot change.
        others: tells of other processes; None where there cannot be any.
        unavailable: what the nodes cannot have; None where they have all that the space asks for.
    """

    session: StudySession
    ledger: Ledger
    workers: Workers
    rule: BudgetRule
    run_time: RunTime
    ladder: Ladder = (FULL,)
    repeats: int = 1
    first: Sequence[Point] = ()
    drift: DriftMonitor | None = None
    others: OtherProcesses | None = None
    unavailable: UnavailableParts | None = None
    _full_asked: bool = field(default=False, init=False)

    def search(self, engine: Engine) -> str:
        """Measure what the engine asks until the budget, the engine or the user ends it.

        Returns:
            The sentence why it ended.

        Raises:
            TunerError, results.errors.ResultsError: a worker cannot go on.
        """
        self.session.context.listener(PhaseStarted("search", self.session.meter.budget.trials))
        self.session.explain()
        in_rounds = engine.wants_every_rate and self.drift is not None
        rounds, repeats = (self.repeats, 1) if in_rounds else (1, self.repeats)
        ended: str | None = None
        with self.workers:
            while ended is None or self.workers.under_way:
                while self.workers.free and ended is None:
                    batch, ended = self._next(engine, rounds, repeats)
                    if not batch:
                        break
                    self._full_asked |= batch[0].rung == FULL
                    self._tell(engine, self.workers.submit(batch, repeats))
                self._tell(engine, self.workers.wait())
        return how_it_ended(ended, engine)

    def _next(self, engine: Engine, rounds: int, repeats: int) -> tuple[list[Question], str | None]:
        """What to start next, with nothing where that must wait for what is running; or the sentence why no more."""
        for part in self.unavailable.parts if self.unavailable else ():
            engine.bar(part)
        now = self._state(engine, repeats)
        refused = "you asked for it" if self.session.stopped else self.rule.out_of_trials(now)
        if refused is None and self.rule.must_wait(now):
            return [], None
        refused = refused or self.rule.out_of_time(now)
        if refused:
            return [], refused
        if self._reference_ran(now):
            return self._next(engine, rounds, repeats)
        try:
            batch = self._first(engine) or self._asked(engine, now) or self._next_round(rounds)
        except Interrupted:
            return [], STOPPED
        self._show_remarks(engine)
        return batch, None if batch or self.workers.under_way else why_nothing_left(engine)

    def _state(self, engine: Engine, repeats: int) -> SearchState:
        """How far the search is, after hearing of other processes."""
        elsewhere = self.others.hear(engine) if self.others else 0
        return SearchState(
            full_s=self.run_time.full_s,
            repeats=repeats,
            running=elsewhere + len(self.workers.under_way),
            without_result=self.ledger.incumbent.gflops is None,
            full_asked=self._full_asked,
        )

    def _reference_ran(self, now: SearchState) -> bool:
        """Run the reference configuration where it is time, and say whether it ran."""
        reference = self.drift.reference if self.drift else None
        if reference is None or self.rule.is_last(now) or self.ledger.is_shared():
            return False
        return reference.run_if_due()

    def _first(self, engine: Engine) -> list[Question]:
        """The first of the points to try at first that the engine does not know; or nothing."""
        start = engine.first_unseen(self.first)
        if not start:
            return []
        question = Question(start)
        engine.expect(question)
        return [question]

    def _asked(self, engine: Engine, now: SearchState) -> list[Question]:
        """The monitor's question or the engine's, with what may share its launch; or nothing.

        Raises:
            Interrupted: the user wants nothing more to be started.
        """
        last = self.rule.is_last(now)
        watched = self.drift is not None and not last and tuple(self.ladder) != (FULL,)
        question = self.drift.due() if self.drift and watched else None
        if question:
            return [question]
        rungs = (FULL,) if last else self.ladder
        with self.session.context.stop.thinking():
            if self.workers.share_launches:
                return engine.choose_launch(rungs, lambda one: self.rule.room(now) if one.rung != FULL else 0)
            question = engine.choose(rungs)
        return [question] if question else []

    def _next_round(self, rounds: int) -> list[Question]:
        """The configuration that is to run once more, of those that ran least the one that ran first; or nothing."""
        if rounds < 2:
            return []
        space = self.session.space
        runs = Counter(space.key(question.params) for question in self.workers.under_way)
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

    def _tell(self, engine: Engine, ended: Sequence[Ended]) -> None:
        """Tell the engine, and the monitor, what came of batches; what another process runs is left to that."""
        for batch, records in ended:
            for question, record, outcome in zip(batch, records, outcomes_of(records), strict=True):
                if not record.number:
                    continue
                engine.tell(question.params, self.session.objective.outcome(record.params, outcome))
                sentence = self.drift.note(question, anchor_rate(record)) if self.drift else None
                if sentence and self.drift:
                    self.session.context.store.note_host(self.session.study, {MOVED: self.drift.moved})
                    self.session.say(sentence)

    def _show_remarks(self, engine: Engine) -> None:
        for remark in engine.take_remarks():
            self.session.say(remark)


def replay_records(engine: Engine, records: Sequence[TrialRecord], objective: Objective) -> None:
    """Rebuild an engine from the store: the records are the only state a study has.

    Nothing is known of a trial that the user ended, or whose end was not seen because hpltune was killed.
    """
    for record, outcome in zip(records, outcomes_of(records), strict=True):
        if is_conclusive(record):
            engine.tell(record.params, objective.outcome(record.params, outcome))


def why_nothing_left(engine: Engine) -> str:
    """Why an engine asks nothing more: what it expects does not matter where all configurations ran."""
    count = len(engine.space)
    if engine.nothing_left == Engine.nothing_left and len(engine.history.points) >= count:
        return f"all {count} configurations were tried" if count > 1 else "the only configuration was tried"
    return engine.nothing_left


def how_it_ended(reason: str, engine: Engine) -> str:
    """Why a search ended, with what an engine that means to ask a certain number of configurations did not come to."""
    left = engine.unasked()
    return f"{reason}; {left} of {left + len(engine.told)} configurations were not run" if left else reason
