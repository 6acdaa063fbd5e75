"""The engine `hpl`: which run, of which configuration and how much of it, gains most by the second of machine time."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from hpl.params import Scalar
from results.stats.belief import posterior_rates
from search_spaces.dimension import Point
from search_spaces.space import SearchSpace

from ..arrays import Codes, Vector
from ..base import GIVEN_UP, Engine, Outcome
from ..companions import Group, alone_seconds, shared_seconds
from ..context import NOTHING_KNOWN, EngineContext
from ..fidelity import FULL, Fidelity, Ladder, Question, Rung
from ..model.acquisition import expected_improvement
from ..model.belief import Belief
from ..model.feasible import chance_to_run
from ..model.fitting import Fitting
from ..model.front import to_surpass
from ..model.growth import Growth
from ..model.pool import Pool
from ..model.process import FitError, Process
from ..model.remembered import MeasuredRun
from .joining import LaunchJoining
from .opening import Opening
from .pending import PendingRuns

VERIFY = 1.5
"""Full runs' worth of seconds in cheap runs after which the best so far is measured in full."""
WORTHLESS = 1e-4
"""Gain in the logarithm of the rate that any further run is expected to bring, below which the search ends."""
DOUBT = 4.0
"""How many times as unsure as it says the model is taken to be before it ends the search; it was seen four sd off."""
UNSURE = 2.0
"""The same while it searches with full runs only, where no cheap ones explore."""
MOST_REPEATS = 5
"""Full runs of one configuration during a search, where repeating it tells more than trying another."""
LARGEST_BATCH = 8
"""Runs in one launch: what is in it was decided before the first of them was known."""


class HplEngine(Engine):
    """A Gaussian process on HPL's algorithm, told of runs on every rung, asked for what is worth most by the second.

    Where dgemm was timed, it begins with what HPL's algorithm holds for the fastest by that, in full. Every choice then
    weighs what a run is expected to gain against what it costs; once the cheap runs since the last full one cost half
    as much again as a full one, the most promising configuration is measured in full, so that not much more than half
    of the time is lost where cheap runs mislead. Where the model cannot be fitted, TPE takes over.

    Where `against` says what a GFLOPS is worth in another objective too, it searches the front of both.
    """

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        known = context.probes
        self._pool = Pool(space, seed, known, context.worth, context.against)
        self._exact = known.exact
        self._fitting = Fitting(self._pool)
        self._failed: list[int] = []
        self._asked = PendingRuns()
        self._growth = Growth(self._pool, self.neighbours, self._asked.places)
        self._opening = Opening(self, self._pool, self._growth, self._asked, knows_dgemm=bool(known.dgemm_gflops))
        self._since_full: list[Outcome] = []
        self._instead: Engine | None = None

    def choose(self, ladder: Ladder) -> Question | None:
        """The run that is worth most by the second, on any rung; a full run may come again where runs differ."""
        question, _ = self._weighed(ladder)
        return question

    def choose_launch(self, ladder: Ladder, room: Callable[[Question], int]) -> list[Question]:
        """As the contract; small runs may share a launch where they are worth much for each further second.

        Full runs stay alone, so that each can be given up: sharing launches gained nothing more with them.
        """
        question, belief = self._weighed(ladder)
        if question is None:
            return []
        if belief is None or question.rung.fidelity is not Fidelity.SMALL:
            return [question]
        try:
            with threadpool_limits(1):
                found = self._gathered(belief, question, min(room(question), LARGEST_BATCH - 1))
        except FitError:
            return [question]
        also = [Question(point, question.rung) for point in found]
        for one in also:
            self._take(one)
        return [question, *also]

    def choice(self) -> dict[str, Scalar] | None:
        """What is believed to be the fastest of what was run in full, as `tune` ranks it; the median before repeats.

        The model is not asked: its noise is normal, so a few runs that are slow by half make it smooth over all others.
        """
        belief = posterior_rates(list(self._rates.values())) if self._rates else None
        if belief is None:
            return super().choice()
        keys, medians = list(self._rates), belief.medians()
        return dict(self._complete[keys[max(medians, key=lambda place: medians[place])]])

    def model(self) -> tuple[Process, Pool]:
        """What was learnt: the process fitted to all runs, and its configurations.

        Raises:
            FitError: the runs cannot be described.
        """
        self._fitting.fit_to_all()
        with threadpool_limits(1):
            process, _ = self._fitting.process((FULL,))
        return process, self._pool

    def expected_gflops(self, point: Point) -> float:
        """The rate of a full run of a legal point without noise, as the model has it now."""
        place = self._pool.place(self.key(point), point)
        process, _ = self._fitting.process((FULL,))
        mean, _ = process.believed(self._pool.codes[[place]], self._pool.modelled_at([place], FULL))
        return float(np.exp(mean[0]))

    def _weighed(self, ladder: Ladder) -> tuple[Question | None, Belief | None]:
        """The question that is asked next, and the belief that chose it, None where no model did."""
        if self._instead is not None:
            return self._instead.choose(ladder), None
        try:
            with threadpool_limits(1):
                question, belief = self._decide(ladder)
        except FitError as error:
            question, belief = self._give_up(error, ladder), None
        if question is not None:
            self._take(question)
        return question, belief

    def _propose(self) -> dict[str, Scalar] | None:
        question = self.choose((FULL,))
        return None if question is None else question.params

    def bar(self, part: Point) -> None:
        """As the contract."""
        super().bar(part)
        if self._instead is not None:
            self._instead.bar(part)

    def expect(self, question: Question) -> None:
        """Hear that somebody else runs this now; it is reckoned with as one's own runs under way are."""
        point = self._known_here(question.params)
        if point is None:
            return
        place = self._pool.places.get(self.key(point))
        if place is None or not self._asked.waits(place, question.rung):
            self._take(Question(point, question.rung))
        if self._instead is not None:
            self._instead.expect(question)

    def release(self, question: Question) -> None:
        """As the contract; it is weighed anew, and not asked before others."""
        point = self._known_here(question.params)
        if point is None:
            return
        key = self.key(point)
        place = self._pool.places.get(key)
        if place is None or not self._asked.waits(place, question.rung):
            return
        self._asked.free(place, question.rung)
        if question.rung == FULL:
            self._pending.discard(key)
        if self._instead is not None:
            self._instead.release(question)

    def _take(self, question: Question) -> None:
        key = self.key(question.params)
        place = self._pool.place(key, question.params)
        self._asked.take(place, question.rung)
        if question.rung == FULL:
            self._pending.add(key)

    def _learn(self, point: Point, outcome: Outcome) -> None:
        self._since_full.clear()
        self._note(point, outcome)
        if self._instead is not None:
            self._instead.tell(point, outcome)

    def _learn_part(self, point: dict[str, Scalar], outcome: Outcome) -> None:
        given_up = outcome.state == GIVEN_UP
        if given_up:
            self._since_full.clear()
        elif outcome.rung.fidelity is not Fidelity.EARLIER:
            self._since_full.append(outcome)
        self._note(point, outcome)
        if given_up:
            key, lost = self.key(point), replace(outcome, gflops=None, rung=FULL)
            self._pending.discard(key)
            self._asked.settle(self._pool.place(key, point), FULL)
            self.told.setdefault(key, []).append(lost)
            if self._instead is not None:
                self._instead.tell(point, lost)

    def _note(self, point: Point, outcome: Outcome) -> None:
        place = self._pool.place(self.key(point), point)
        self._asked.settle(place, outcome.rung)
        if outcome.gflops is None or not np.isfinite(outcome.gflops) or outcome.gflops <= 0:
            self._failed.append(place)
            return
        rest_s = None if outcome.cost_s is None or outcome.time_s is None else outcome.cost_s - outcome.time_s
        self._fitting.learn(
            MeasuredRun(place, outcome.rung, float(np.log(outcome.gflops)), outcome.session, rest_s, outcome.sharing)
        )

    def _decide(self, ladder: Ladder) -> tuple[Question | None, Belief | None]:
        pool = self._pool
        rungs = sorted({*ladder, FULL}, key=lambda rung: rung.operations)
        first = self._opening.question(rungs[0], len(self._runs))
        if first is not None:
            return first, None
        if not self._runs:
            return self._any(rungs[-1]), None
        belief = self._belief(rungs)
        full_left = self._left(FULL)
        if not full_left.any():
            return self._any(FULL), None
        runs_at_all = self._chance_to_run(pool.codes)
        may_win = full_left * runs_at_all
        if (len(rungs) > 1 or self._exact) and float((self._hoped(belief, DOUBT) * may_win).max()) < WORTHLESS:
            return None, None
        full_s = belief.full_s
        hopeful = int(np.argmax(self._hoped(belief) * may_win))
        if len(rungs) > 1 and self._to_verify(float(full_s[hopeful])):
            return Question(dict(pool.points[hopeful]), FULL), belief
        return self._worthiest(belief, rungs, runs_at_all, full_s) or self._any(FULL), belief

    def _worthiest(self, belief: Belief, rungs: Ladder, runs_at_all: Vector, full_s: Vector) -> Question | None:
        """The run that is worth most by the second; None where none is left that may run at all.

        Args:
            runs_at_all: chance of each configuration, `full_s` the seconds that HPL is expected to take for it.
        """
        sound, found = self._left(FULL), list[tuple[float, int, Rung]]()
        sound[self._run_in_full] = True
        doubt = 1.0 if len(rungs) > 1 else UNSURE
        if len(rungs) == 1 and self._pool.of_two_objectives:
            full_s = np.ones(len(full_s))  # mostly runs are counted then, and on few nodes each would seem dear
        for rung in rungs:
            left = self._left(rung) & sound
            if rung == FULL and len(rungs) > 1:
                left |= self._repeatable()
            places = np.flatnonzero(left & (runs_at_all > 0))
            if not len(places):
                continue
            seconds = self._rest_s(rung) + rung.operations * full_s[places]
            worth = self._gain(belief, rung, doubt)[places] * runs_at_all[places] / seconds
            best = int(np.argmax(worth))
            found.append((float(worth[best]), int(places[best]), rung))
        if not found:
            return None
        _, place, rung = max(found, key=lambda entry: entry[0])
        return Question(dict(self._pool.points[place]), rung)

    def _gain(self, belief: Belief, rung: Rung, doubt: float) -> Vector:
        """What a run of each configuration is expected to gain by what it tells; a full one may also win by itself."""
        told = belief.worth(rung)
        if rung != FULL or not self._run_in_full:
            return told
        return np.where(self._left(FULL), np.maximum(told, self._hoped(belief, doubt)), told)

    def _to_verify(self, full_s: float) -> bool:
        """Whether so much was spent on cheap runs, those under way included, that a full one must follow.

        Args:
            full_s: seconds that HPL is expected to take for it.
        """
        waiting = self._asked.under_way
        if FULL in waiting:
            return False
        expected_s = [self._rest_s(rung) + rung.operations * full_s for rung in waiting]
        known_s = [run.rung.operations * full_s if run.cost_s is None else run.cost_s for run in self._since_full]
        return sum(expected_s) + sum(known_s) >= VERIFY * (self._rest_s(FULL) + full_s)

    def _belief(self, rungs: Sequence[Rung]) -> Belief:
        """What is believed, with the runs that were asked and not told yet, as if each came out as expected."""
        process, kinds = self._widened(rungs)
        for kind, rung in enumerate(kinds):
            waiting = self._asked.waiting(rung)
            if waiting:
                at_rung = self._pool.modelled_at(waiting, rung)
                process = process.fantasise(self._pool.codes[waiting], at_rung, kind)
        beaten = sorted(set(self._run_in_full).difference(self._to_beat))
        return Belief.over(process, self._pool, kinds, beaten)

    def _gathered(self, belief: Belief, question: Question, most: int) -> Group:
        starting_s, own_s = self._launch(question.rung)

        def free(point: Point) -> bool:
            place = self._pool.places.get(self.key(point))
            taken = place is not None and any(self._asked.took(place, one) for one in (question.rung, FULL))
            return not taken and not self.barred(point)

        joining = LaunchJoining(belief, question.rung, starting_s, own_s, self._chance_to_run, self.key, free)
        return joining.companions(self.space, question.params, most)

    def _launch(self, rung: Rung) -> tuple[float, float]:
        """Seconds of starting, which the runs of a launch share, and those that each run adds beside HPL's own time."""
        rests = [(run.sharing, run.rung.size, run.rest_s) for run in self._runs if run.rest_s is not None]
        return shared_seconds(rests, rung.size)

    def _hoped(self, belief: Belief, doubt: float = 1.0) -> Vector:
        """Expected gain of each configuration over those measured in full that stand in its way."""
        mean, known, against = belief.mean, self._to_beat, self._pool.against
        if not known:
            return np.asarray(np.maximum(mean - mean.min(), WORTHLESS))
        _, bars = to_surpass(mean[known], against[known], against)
        return expected_improvement(mean - bars, doubt * belief.sd)

    @property
    def _runs(self) -> Sequence[MeasuredRun]:
        return self._fitting.runs

    @property
    def _run_in_full(self) -> list[int]:
        """Places of the full runs that gave a rate, a place as often as it was run."""
        return [run.place for run in self._runs if run.rung == FULL]

    @property
    def _to_beat(self) -> list[int]:
        """Places of those full runs that the process knows: all but slower ones of a large study."""
        return [run.place for run in self._fitting.remembered() if run.rung == FULL]

    def _left(self, rung: Rung) -> np.typing.NDArray[np.bool_]:
        return self._asked.left(rung, len(self._pool)) & self._allowed()

    def _repeatable(self) -> np.typing.NDArray[np.bool_]:
        """Configurations that may be run in full once more."""
        counts = np.bincount(np.array(self._run_in_full, dtype=np.intp), minlength=len(self._pool))
        most = 1 if self._exact else MOST_REPEATS
        counts[self._asked.waiting(FULL)] = most
        return (counts > 0) & (counts < most) & self._allowed()

    def _allowed(self) -> np.typing.NDArray[np.bool_]:
        """Configurations that are not barred."""
        if not self._barred:
            return np.ones(len(self._pool), dtype=bool)
        return np.array([not self.barred(point) for point in self._pool.points], dtype=bool)

    def _chance_to_run(self, codes: Codes) -> Vector:
        known = self._pool.codes
        ran = known[[run.place for run in self._runs if run.rung.fidelity is not Fidelity.EARLIER]]
        return chance_to_run(codes, ran, known[self._failed] if self._failed else known[:0])

    def _rest_s(self, rung: Rung) -> float:
        """Seconds of a launch beside HPL's own time."""
        return alone_seconds([(run.rung, run.rest_s) for run in self._runs if run.sharing == 1], rung)

    def _widened(self, rungs: Sequence[Rung]) -> tuple[Process, list[Rung]]:
        """The process, over a pool that has taken in the neighbours of what looks best where it is a sample."""
        pool = self._pool
        process, kinds = self._fitting.process(rungs)
        for _ in self._growth.rounds:
            if not self._growth.took_in_around(process.expected(pool.codes, pool.modelled(FULL), 0)):
                break
            process, kinds = self._fitting.process(rungs)
        return process, kinds

    def _any(self, rung: Rung) -> Question | None:
        """Some point that was not taken and most likely runs; one drawn by chance where only the pool is used up."""
        left = np.flatnonzero(self._left(rung))
        runs_at_all = self._chance_to_run(self._pool.codes[left])
        left = left[runs_at_all == runs_at_all.max(initial=0.0)]
        chance = random.Random(f"{self.seed} {len(self._asked)}")  # noqa: S311 - not for secrets
        if len(left):
            return Question(dict(self._pool.points[int(chance.choice(list(left)))]), rung)
        if not self._pool.whole:
            size = len(self.space)
            found = self.first_unseen(self.space.point(chance.randrange(size)) for _ in range(1_000))
            return None if found is None else Question(found, rung)
        return None

    def _give_up(self, error: FitError, ladder: Ladder) -> Question | None:
        from ..baselines.tpe import Bayes  # noqa: PLC0415 - Optuna is slow to import, and seldom needed here

        alone = ", for GFLOPS alone" if self._pool.of_two_objectives else ""
        self._remarks.append(
            f"The model cannot describe the runs so far ({error}): Optuna's TPE goes on instead{alone}."
        )
        self._instead = Bayes(self.space, self.seed)
        for part in self._barred:
            self._instead.bar(part)
        for key, outcomes in self.told.items():
            for outcome in outcomes:
                self._instead.tell(self._pool.points[self._pool.places[key]], outcome)
        return self._instead.choose(ladder)
