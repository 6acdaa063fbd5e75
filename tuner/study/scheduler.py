"""Ask, plan, evaluate, store, tell: a study from its first trial to its confirmed winner."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import RLock

import numpy as np

from hpl.params import Scalar
from hpl.witness import parse_panels
from results.record import Invalidity, Kind, TrialRecord, TrialState
from results.stats.levels import drift_corrected
from results.stats.noise import Noise, noise_of
from results.stats.ranking import Ranked, rank
from search_spaces.dimension import Point

from ..engines.base import Engine
from ..engines.fidelity import FULL, Question, Rung
from ..events import PhaseStarted
from ..stopping import Interrupted
from ..trial.early_stopping import CERTAINTY, EarlyStopping
from ..trial.evaluate import Evaluator
from ..trial.ladder import outcome_of, outcomes_of, rung_of, takes_s
from ..trial.time_limit import RAISED, TELLING, limit_s, outlasted_sentence
from ..words import counted
from .drift_monitor import DriftMonitor
from .launch_worker import LaunchWorker
from .serial_executor import SerialExecutor
from .session import NOTHING_LEFT, RANKED, SEARCHED, STOPPED, StudySession, counts, how_it_ended, is_conclusive
from .unavailable import fact_of, told, unavailable_in

Started = tuple[list[Question], LaunchWorker]
"""What was asked, and where it runs."""


@dataclass(kw_only=True)
class Scheduler(StudySession):
    """One sitting of a study on real machines.

    Attributes:
        walltime_s: seconds after which a launch is ended of which it is not known yet what it should take.
        starting_s: what a launch takes beside HPL's own time.
        session: number of this sitting of the study.
        evaluator: runs plans; `others` do so at the same time, on nodes of their own.
        shrunk: nodes were lost, so that some configurations that were measured cannot be run any more.
    """

    evaluator: Evaluator
    walltime_s: float
    starting_s: float = 0.0
    others: tuple[Evaluator, ...] = ()
    session: int = 0
    prospects: EarlyStopping = field(default_factory=EarlyStopping)
    anchors: DriftMonitor = field(default_factory=DriftMonitor)
    shrunk: bool = field(default=False, init=False)
    _known: set[int] = field(default_factory=set, init=False)
    _shared: bool = field(default=False, init=False)
    _every_rate: bool = field(default=False, init=False)
    _rounds: int = field(default=1, init=False)
    _expected: set[int] = field(default_factory=set, init=False)
    _outlasted: list[float] = field(default_factory=list, init=False)
    _unavailable: Sequence[Point] | None = field(default=None, init=False)
    _writing: RLock = field(default_factory=RLock, init=False)

    def search(self, engine: Engine, *, repeats: int, reserved_runs: float, first: Sequence[Point] = ()) -> str:
        """Ask the engine for configurations and measure each until the budget, the engine or the user ends it.

        Args:
            repeats: how often each configuration is run in full in this phase: at once, because the engine learns from
                it, or in rounds where the engine's choice does not depend on it, so that drift hits all alike.
            reserved_runs: runs that must still fit into the budget afterwards.
            first: points to try before the engine is asked, as far as it does not know them.

        Returns:
            The sentence why it ended.
        """
        self.bench.listener(PhaseStarted("search", self.meter.budget.trials))
        self.explain()
        self._every_rate = engine.wants_every_rate or repeats > 1
        self._rounds, repeats = (repeats, 1) if engine.wants_every_rate else (1, repeats)
        free = deque(LaunchWorker(self, evaluator) for evaluator in (self.evaluator, *self.others))
        running: dict[Future[list[list[TrialRecord]]], Started] = {}
        ended: str | None = None
        with ThreadPoolExecutor(len(free)) if self.others else SerialExecutor() as executor:
            while ended is None or running:
                while free and ended is None:
                    batch, ended = self._next(engine, first, repeats + reserved_runs, running.values())
                    if not batch:
                        break
                    slot = free.popleft()
                    running[executor.submit(slot.measure, batch, repeats)] = (batch, slot)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    batch, slot = running.pop(future)
                    free.append(slot)
                    for records in future.result():
                        self._tell(engine, batch, records)
        return how_it_ended(ended, engine)

    def _next(
        self, engine: Engine, first: Sequence[Point], runs_to_follow: float, running: Collection[Started]
    ) -> tuple[list[Question], str | None]:
        """What to start next, with nothing where that must wait for what is running; or the sentence why no more."""
        for part in self.unavailable:
            engine.bar(part)
        under_way = self._hear_of_others(engine) + sum(len(batch) for batch, _ in running)
        refused = self._refusal(runs_to_follow, under_way)
        if refused:
            return [], refused
        start = engine.first_unseen(first)
        if start:
            batch = [Question(start)]
            engine.expect(batch[0])
        else:
            try:
                batch = self._asked(engine, runs_to_follow, under_way) or self._next_round(running)
            except Interrupted:
                return [], STOPPED
        self.hear(engine)
        if batch or running:
            return batch, None
        return [], NOTHING_LEFT

    def _hear_of_others(self, engine: Engine) -> int:
        """Tell the engine what other processes that work, or have worked, on this study have begun and found since.

        Returns:
            Trials that they are running.
        """
        self._shared = self._shared or bool(self.bench.store.others(self.study))
        if not self._shared:
            return 0
        with self._writing:
            records = self._of_others()
            if any(record.state is TrialState.RUNNING for record in records) and self._fail_abandoned_trials():
                records = self._of_others()
        for record, outcome in zip(records, outcomes_of(records), strict=True):
            question = Question(dict(record.params), rung_of(record))
            if record.state is TrialState.RUNNING:
                if record.number not in self._expected:
                    engine.expect(question)
                    self._expected.add(record.number)
                continue
            self.count([record])
            if is_conclusive(record):
                engine.tell(question.params, self.objective.outcome(record.params, outcome))
            else:
                engine.release(question)
            self._note_best(record)
        return sum(record.state is TrialState.RUNNING for record in records)

    def _of_others(self) -> list[TrialRecord]:
        return [record for record in self.records(SEARCHED) if record.number not in self._known]

    def _fail_abandoned_trials(self) -> bool:
        """End the trials of processes that were killed; whether there were any."""
        if not self.bench.store.left_behind(self.study, self._known):
            return False
        left = self.bench.store.abandon_running(self.study, "the hpltune that ran this trial was killed", self._known)
        if left:  # and no other was faster
            self.say(f"{counted(left, 'trial')} left behind by a hpltune that was killed.")
        return True

    def _refusal(self, runs_to_follow: float, running: int) -> str | None:
        """Why nothing more may be started, or None.

        Time is no reason before the first trial, which has to be; before there is a result nothing need be able to
        follow.

        Args:
            runs_to_follow: full runs that the budget must still have room for, the next one included.
            running: trials under way, which the budget does not know of yet.
        """
        if self.stopped:
            return "you asked for it"
        refused = self.meter.out_of_trials(running)
        if refused:
            return refused
        nothing_yet = self.best_gflops is None and not running
        if nothing_yet and not self.meter.trials:
            return None
        return self.meter.out_of_time(self.expected_s or 0.0, 1.0 if nothing_yet else runs_to_follow)

    def _tell(self, engine: Engine, batch: Sequence[Question], records: Sequence[TrialRecord]) -> None:
        for question, record, outcome in zip(batch, records, outcomes_of(records), strict=True):
            if not record.number:
                self._shared = True
                continue
            engine.tell(question.params, self.objective.outcome(record.params, outcome))
            sentence = self.anchors.note(question, outcome_of(record).gflops)
            if sentence:
                self.say(sentence)

    def _asked(self, engine: Engine, runs_to_follow: float, running: int) -> list[Question]:
        """What to run next: the anchor or what the engine chooses, with what may share the launch; or nothing.

        Args:
            runs_to_follow: full runs that the budget must still have room for.
            running: trials under way.

        Raises:
            Interrupted: the user wants nothing more to be started.
        """
        full_s = self.expected_s or 0.0
        last = self.meter.last(full_s, runs_to_follow, running)
        anchor = None if last or tuple(self.ladder) == (FULL,) else self.anchors.due()
        if anchor:
            return [anchor]

        def room(question: Question) -> int:
            return self.meter.room(full_s, runs_to_follow, running) if full_s and question.rung != FULL else 0

        with self.bench.stop.thinking():
            return engine.choose_launch((FULL,) if last else self.ladder, room)

    def _next_round(self, running: Collection[Started]) -> list[Question]:
        """The configuration that is to run once more, of those that ran least the one that ran first; or nothing."""
        if self._rounds < 2:
            return []
        runs = Counter(self.space.key(question.params) for batch, _ in running for question in batch)
        params: dict[str, Mapping[str, Scalar]] = {}
        failed = set()
        for record in self.records((Kind.SEARCH,)):
            key = self.space.key(record.params)
            if record.ranked:
                params.setdefault(key, record.params)
            if record.ranked or (record.state is TrialState.RUNNING and record.number not in self._known):
                runs[key] += 1
            elif record.state is TrialState.FAILED:
                failed.add(key)
        again = [key for key in params if key not in failed and runs[key] < self._rounds]
        return [Question(dict(params[min(again, key=lambda key: runs[key])]))] if again else []

    def _confirm_once(self, params: Point, before: int) -> None:
        del before
        self.trial(params, Kind.CONFIRMATION)

    def go_on_with(self, evaluator: Evaluator, others: tuple[Evaluator, ...]) -> None:
        """Search on fewer nodes from now on, with an engine that knows nothing of what others run."""
        self.evaluator, self.others, self.shrunk = evaluator, others, True
        self.prospects, self.anchors = EarlyStopping(), DriftMonitor()
        self.expect_noise(self.objective.noise_at_first)
        self._expected.clear()
        self._outlasted.clear()

    def expect_noise(self, sd: float) -> None:
        """Judge by no smaller noise of runs from now on, until repeats tell.

        Args:
            sd: what the machine has shown, as a standard deviation in logarithms.
        """
        self.objective = replace(self.objective, noise_at_first=sd)
        self.prospects.noise_at_first = self.anchors.noise_at_first = sd

    def ranking(self) -> Sequence[Ranked]:
        """As of every sitting, of the configurations that can be run now."""
        return self._runnable(super().ranking())

    def _runnable(self, ranked: Sequence[Ranked]) -> Sequence[Ranked]:
        if not self.shrunk:
            return ranked
        return [entry for entry in ranked if self.space.why_not(entry.params) is None]

    def trial(self, params: Mapping[str, Scalar], kind: Kind, rung: Rung = FULL) -> TrialRecord:
        """Run one complete point and commit its record, whatever happens to it.

        A run that died with a node is repeated once where the node comes back.

        Args:
            rung: how much of it to run.

        Raises:
            NodesLostError: it does not come back.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        return LaunchWorker(self, self.evaluator).launch([params], kind, rung)[0]

    def should_take_s(self, rung: Rung) -> float | None:
        """Seconds that a launch of one run should take; None while no run has told."""
        if self.expected_s is None:
            return None
        starting_s = min(self.starting_s, self.expected_s)
        return takes_s(rung, self.expected_s - starting_s, starting_s)

    def limit_s(self, expected_s: float | None) -> float:
        """Seconds after which a launch that begins now is ended.

        Args:
            expected_s: what it should take, or None.
        """
        return limit_s(expected_s, self.meter.remaining_s(), self.walltime_s)

    def incumbent_lower_bound(self, key: str) -> float | None:
        """The GFLOPS that one more run of some configuration reaches; None where a full run has to go to its end.

        With CERTAINTY, for a noise as repeats tell, small ones too, or as is usual and as the machine has shown before
        anything ran twice, so that luck is no bar. To its end goes the first run, each one where every rate is wanted,
        and a repeat: if only the slow ones were given up, the fast ones would speak for their configuration.

        Args:
            key: of the configuration that is to run.
        """
        shown = self.objective.noise_at_first
        measured = [] if self._every_rate else drift_corrected(self._runnable(rank(self.records(RANKED))), shown)
        if not measured or any(entry.key == key for entry in measured):
            return None
        noise = self.noise(measured)
        return max(noise.one_more(entry.median_gflops, entry.runs, CERTAINTY) for entry in measured)

    def noise(self, measured: Sequence[Ranked]) -> Noise:
        """By how much runs differ: as repeats tell, small ones too, or as is usual and shown before anything ran twice.

        Args:
            measured: the configurations that ran in full, with rates as of the same time.
        """
        small: dict[str, list[float]] = defaultdict(list)
        for record in self.records((Kind.SMALL,)):
            if record.ranked:
                small[record.key].append(record.gflops or 0.0)
        logs = [np.log(rates) for rates in (*small.values(), *(entry.gflops for entry in measured))]
        return noise_of(logs, self.objective.noise_at_first)

    @property
    def unavailable(self) -> Sequence[Point]:
        """What earlier trials of the study found that these nodes cannot have: parameters that go with these values."""
        if self._unavailable is None:
            self._unavailable = unavailable_in(self.bench.store.study(self.study).host)
        return self._unavailable

    def rule_out(self, part: Point) -> None:
        """Ask for no configuration any more that has all these values, in later sittings neither; from any thread.

        Args:
            part: parameters with their values; nothing happens where there are none.
        """
        with self._writing:
            if not part or part in self.unavailable:
                return
            self._unavailable = [*self.unavailable, part]
            self.bench.store.note_host(self.study, fact_of(part))
        self.say(f"{told(part)} cannot be had on these nodes: the search leaves it out from now on.")

    def begin(self, record: TrialRecord) -> int | None:
        """Store that a trial runs, from any thread, and return its number.

        Returns:
            None where somebody else of this study began it, or the budget's last trial, before.
        """
        with self._writing:
            number = (
                self.bench.store.begin_first(record, self._known, SEARCHED, self.meter.budget.trials)
                if record.kind in SEARCHED
                else self.bench.store.begin(record)
            )
            if number is not None:
                self._known.add(number)
        return number

    def count(self, records: Sequence[TrialRecord]) -> None:
        """Charge the budget for trials of earlier times and of others that have ended, each once; from any thread."""
        with self._writing:
            for record in records:
                if record.number in self._known or record.state is TrialState.RUNNING:
                    continue
                self._known.add(record.number)
                self._runs_again(record)
                self.meter.charge(record.cost_s or 0.0, trial=counts(record))

    def commit(self, record: TrialRecord) -> TrialRecord:
        """As every sitting does, from any thread; what was ended by its limit may have been given too little."""
        with self._writing:
            super().commit(record)
            if record.kind is Kind.SEARCH and record.ranked and record.gflops:
                self.prospects.learn(parse_panels(record.errors_text), record.gflops)
            if record.kind is Kind.SEARCH and record.invalidity is Invalidity.TIMEOUT and self.best_gflops is None:
                self._raise_time_estimate(record.cost_s or 0.0)
        return record

    def _raise_time_estimate(self, cost_s: float) -> None:
        """Expect the next run to take at least as long as one that was ended, while none in full came to its end.

        The estimate may be wrong, or the configuration: after RAISED such runs, and where the budget has no room for
        longer ones, it is taken to be the latter.

        Args:
            cost_s: after which it was ended; what was begun before the estimate was last raised tells nothing.
        """
        if self.expected_s is None or cost_s < TELLING * self.expected_s or len(self._outlasted) > RAISED:
            return
        self._outlasted.append(self.expected_s)
        raised = len(self._outlasted) <= RAISED and self.meter.out_of_time(cost_s) is None
        self.expected_s = cost_s if raised else self._outlasted[0]
        if self.meter.out_of_time(self.expected_s) is None:
            self.say(outlasted_sentence(self.space.largest_n, self.limit_s(self.expected_s), raised=raised))

    def _learn(self, record: TrialRecord) -> None:
        if self._note_best(record):
            cost_s = record.cost_s or 0.0
            known_s = None if self._outlasted else self.expected_s
            self.expected_s = cost_s if known_s is None else 0.5 * (known_s + cost_s)
            self._outlasted.clear()
