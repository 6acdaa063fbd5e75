"""The engine `hpl` chooses the run that gains most per second of machine time, on any rung."""

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from hpl.params import Scalar
from results.stats.belief import posterior_rates
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..base import CLOSE, NOTHING_KNOWN, Engine, EngineContext, EngineRemark
from ..companions import Group, gathered
from ..model.belief import Belief, Growth
from ..model.covariance import FitError
from ..model.fitting import Fitting
from ..model.pool import PointRows, Pool
from ..model.process import Process
from ..outcomes import FULL, GIVEN_UP, Fidelity, Ladder, Outcome, Question, Rung
from ..points import Codes, Vector, neighbours, own_point, starts, unlike
from .pending import PendingRuns
from .promise import Promise
from .search_state import EngineState
from .weighing import Weighing

LARGEST_BATCH = 8
"""Runs in one launch: what is in it was decided before the first of them was known."""

AS_FAST = 0.03
"""Difference in the logarithm of the rate up to which the untaught model does not know better than experience."""

ENOUGH = 1.5
"""A companion must be worth so many times as much by the second, without a launch, as the question with its launch: it
is chosen before that is answered."""


@dataclass(frozen=True)
class Decision:
    """The question that the engine asks next, or None, and the belief that chose it; None where no model did."""

    question: Question | None
    belief: Belief | None = None


class HplEngine(Engine):
    """An engine with a Gaussian process on top of HPL's algorithm; it learns from the runs of every rung.

    Where dgemm was timed, it begins with what HPL's algorithm holds for the fastest by that, in full. Every choice then
    weighs what a run is expected to gain against what it costs; once the cheap runs since the last full one cost half
    as much again as a full one, the most promising configuration is measured in full, so that not much more than half
    of the time is lost where cheap runs mislead. Where the model cannot be fitted, TPE takes over.

    Where `against` says what a GFLOPS is worth in another objective too, it searches the front of both.

    Args:
        fit: makes what describes the runs over a pool.
    """

    def __init__(
        self,
        space: SearchSpace,
        seed: int,
        context: EngineContext = NOTHING_KNOWN,
        fit: Callable[[Pool], Fitting] = Fitting,
    ) -> None:
        super().__init__(space, seed, context)
        pool, pending = Pool(space, seed, context.probes, context.worth, context.against), PendingRuns()
        self._against_changes = context.against_changes
        growth = Growth(pool, partial(neighbours, space), pending.places)
        self._state = EngineState(pool, growth, pending, self.blocked, fit(pool))
        self._opening = Opening(self, pool, growth, pending, knows_dgemm=bool(context.probes.dgemm_gflops))
        self._promise = Promise(pool, context.probes)
        self._instead: Engine | None = None

    def choose(self, ladder: Ladder) -> Question | None:
        """Choose the run that is worth most per second, on any rung; a full run may come again where runs differ."""
        return self._choose(ladder).question

    def choose_launch(self, ladder: Ladder, room: Callable[[Question], int]) -> list[Question]:
        """Choose the runs of the next launch; small runs share it where they are worth enough per further second.

        Full runs stay alone, so that each can be given up: sharing launches gained nothing more with them.
        """
        choice = self._choose(ladder)
        question, belief = choice.question, choice.belief
        if question is None:
            return []
        if belief is None or question.rung.fidelity is not Fidelity.SMALL:
            return [question]
        try:
            with threadpool_limits(1):
                found = self._companions(belief, question, min(room(question), LARGEST_BATCH - 1))
        except FitError:
            return [question]
        also = [Question(point, question.rung) for point in found]
        for one in also:
            self._take(one)
        return [question, *also]

    def choice(self) -> dict[str, Scalar] | None:
        """The configuration that is probably the fastest of those run in full, as `tune` ranks them.

        The model is not asked: its noise is normal, so a few runs that are slow by half make it smooth over all others.
        """
        rates = self.history.rates
        belief = posterior_rates(list(rates.values())) if rates else None
        if belief is None:
            return super().choice()
        keys, medians = list(rates), belief.medians()
        return dict(self.history.points[keys[max(medians, key=lambda place: medians[place])]])

    def hopeful(self, larger: float, names: Collection[str], most: int) -> list[dict[str, Scalar]]:
        """Points that the model expects to be the fastest at an N so many times as large, whether they ran or not."""
        if self._instead is not None or not self._state.run_in_full:
            return super().hopeful(larger, names, most)
        try:
            with threadpool_limits(1):
                rate = self._state.expected_at(Rung(Fidelity.SMALL, larger))
        except FitError:
            return super().hopeful(larger, names, most)
        close = np.isfinite(rate) & (rate >= rate.max() + np.log(CLOSE))
        return unlike((self._state.pool.points[place] for place in np.argsort(-rate) if close[place]), names, most)

    def model(self) -> tuple[Process, Pool]:
        """The process fitted to all runs, and its configurations.

        Raises:
            FitError: the runs cannot be described.
        """
        self._state.fitting.fit_to_all()
        with threadpool_limits(1):
            process, _ = self._state.fitting.process((FULL,))
        return process, self._state.pool

    def expect_noise(self, usual: float, least: float) -> None:
        """Take repeated full runs to differ so much, as `Fitting.expect_noise`."""
        self._state.fitting.expect_noise(usual, least)

    def expected_gflops(self, point: Point) -> float:
        """The rate of a full run of a legal point without noise, as the model has it now."""
        pool = self._state.pool
        place = pool.place(self.key(point), point)
        process, _ = self._state.fitting.process((FULL,))
        mean, _ = process.believed(pool.codes[[place]], pool.modelled_at([place], FULL))
        return float(np.exp(mean[0]))

    def bar(self, part: Point) -> None:
        """Note that no point with all these values can run."""
        super().bar(part)
        if self._instead is not None:
            self._instead.bar(part)

    def expect(self, question: Question) -> None:
        """Note that another process runs this now; it counts like a run of this engine that is under way."""
        point = own_point(self.space, question.params)
        if point is None:
            return
        place = self._state.pool.places.get(self.key(point))
        if place is None or not self._state.pending.waits(place, question.rung):
            self._take(Question(point, question.rung))
        if self._instead is not None:
            self._instead.expect(question)

    def release(self, question: Question) -> None:
        """Note that another process did not finish this; the engine weighs it again among all others."""
        point = own_point(self.space, question.params)
        if point is None:
            return
        key = self.key(point)
        place = self._state.pool.places.get(key)
        if place is None or not self._state.pending.waits(place, question.rung):
            return
        self._state.pending.free(place, question.rung)
        if question.rung == FULL:
            self._pending.discard(key)
        if self._instead is not None:
            self._instead.release(question)

    def _propose(self) -> dict[str, Scalar] | None:
        question = self.choose((FULL,))
        return None if question is None else question.params

    def _take(self, question: Question) -> None:
        key = self.key(question.params)
        self._state.pending.take(self._state.pool.place(key, question.params), question.rung)
        if question.rung == FULL:
            self._pending.add(key)

    def _learn(self, point: Point, outcome: Outcome) -> None:
        place = self._state.pool.place(self.key(point), point)
        self._state.learn(place, outcome)
        said = self._promise.learn(place, outcome)
        if said:
            self._remarks.append(EngineRemark(f"{said}.", caution=True))
        if self._instead is not None:
            self._instead.tell(point, outcome)

    def _learn_part(self, point: dict[str, Scalar], outcome: Outcome) -> None:
        key = self.key(point)
        self._state.learn(self._state.pool.place(key, point), outcome)
        if outcome.state != GIVEN_UP:
            return
        lost = replace(outcome, gflops=None, rung=FULL)
        self._pending.discard(key)
        self._state.pending.settle(self._state.pool.place(key, point), FULL)
        self.history.add(key, point, lost)
        if self._instead is not None:
            self._instead.tell(point, lost)

    def _choose(self, ladder: Ladder) -> Decision:
        if self._instead is not None:
            return Decision(self._instead.choose(ladder))
        try:
            with threadpool_limits(1):
                choice = self._decide(ladder)
        except FitError as error:
            choice = Decision(self._give_up(error, ladder))
        if choice.question is not None:
            self._take(choice.question)
        return choice

    def _decide(self, ladder: Ladder) -> Decision:
        state = self._state
        if self._against_changes:
            state.pool.weigh_again()
        rungs = sorted({*ladder, FULL}, key=lambda rung: rung.operations)
        first = self._opening.question(rungs[0], len(state.runs))
        if first is not None:
            return Decision(first)
        if not state.runs:
            return Decision(self._any(rungs[-1]))
        below = self._promise.question(state.left(FULL))
        if below is not None:
            return Decision(below)
        belief = state.belief(rungs)
        if not state.left(FULL).any():
            return Decision(self._any(FULL))
        weighing = Weighing(state, belief, rungs)
        if weighing.nothing_to_gain():
            return Decision(None)
        return Decision(weighing.question() or self._any(FULL), belief)

    def _companions(self, belief: Belief, question: Question, most: int) -> Group:
        state = self._state
        starting_s, own_s = state.launch_s(question.rung)

        def free(point: Point) -> bool:
            place = state.pool.places.get(self.key(point))
            taken = place is not None and any(state.pending.took(place, one) for one in (question.rung, FULL))
            return not taken and not self.barred(point)

        joining = LaunchJoining(belief, question.rung, starting_s, own_s, state.chance_to_run, self.key, free)
        return joining.companions(self.space, question.params, most)

    def _any(self, rung: Rung) -> Question | None:
        """A point that is left and most likely runs; a random one where the pool is used up but the space is not."""
        pool, left = self._state.pool, self._state.most_likely_to_run(rung)
        chance = random.Random(f"{self.seed} {len(self._state.pending)}")  # noqa: S311 - not for secrets
        if len(left):
            return Question(dict(pool.points[int(chance.choice(list(left)))]), rung)
        if not pool.whole:
            size = len(self.space)
            found = self.first_unseen(self.space.point(chance.randrange(size)) for _ in range(1_000))
            return None if found is None else Question(found, rung)
        return None

    def _give_up(self, error: FitError, ladder: Ladder) -> Question | None:
        from ..baselines.tpe import Bayes  # noqa: PLC0415 - Optuna is slow to import, and seldom needed here

        pool = self._state.pool
        alone = ", for GFLOPS alone" if pool.of_two_objectives else ""
        told = f"The model cannot describe the runs so far ({error}): Optuna's TPE goes on instead{alone}."
        self._remarks.append(EngineRemark(told))
        self._instead = Bayes(self.space, self.seed)
        for part in self.blocked:
            self._instead.bar(part)
        for key, outcomes in self.told.items():
            for outcome in outcomes:
                self._instead.tell(pool.points[pool.places[key]], outcome)
        return self._instead.choose(ladder)


class Opening:
    """The first questions of a search.

    Args:
        engine: whose search it is.
        knows_dgemm: dgemm was timed, so that what HPL's algorithm says untaught is worth a full run.
    """

    def __init__(self, engine: Engine, pool: Pool, growth: Growth, asked: PendingRuns, *, knows_dgemm: bool) -> None:
        self._engine, self._pool, self._growth, self._asked = engine, pool, growth, asked
        self._knows_dgemm = knows_dgemm
        self._started = False

    def question(self, rung: Rung, runs: int) -> Question | None:
        """The next of the first questions, or None when it is the model's turn.

        Args:
            rung: the cheapest, `runs` how many gave a rate so far.
        """
        return self._favourite() or self._start(rung, runs)

    def _favourite(self) -> Question | None:
        """The first full run, of what HPL's model predicts to be the fastest; only where dgemm was timed."""
        if self._asked or not self._knows_dgemm:
            return None
        for _ in self._growth.rounds:
            if not self._growth.took_in_around(self._pool.modelled(FULL).mean):
                break
        usual, found = next(starts(self._engine.space)), dict[str, Scalar]()
        while found != (found := self._pool.fastest_modelled(usual)):
            self._pool.add(neighbours(self._engine.space, found))
        return Question(found, FULL)

    def _start(self, rung: Rung, runs: int) -> Question | None:
        """The point that experience suggests, once, on the cheapest rung.

        It is measured in full where the model holds it for about as fast as its favourite.
        """
        if self._started or runs > 1:
            return None
        self._started = True
        start = self._engine.first_unseen(starts(self._engine.space))
        if start is None:
            return None
        place = self._pool.place(self._engine.key(start), start)
        asked = FULL if self._as_fast(place) else rung
        return None if self._asked.took(place, asked) else Question(start, asked)

    def _as_fast(self, place: int) -> bool:
        rate = self._pool.modelled(FULL).mean
        return self._knows_dgemm and bool(rate[place] > rate.max() - AS_FAST)


@dataclass(frozen=True)
class LaunchJoining:
    """A launch on a rung that others may join, whether the pool holds them or not.

    Attributes:
        belief: what is believed before it.
        starting_s: seconds of starting, which the runs share; `own_s` those that each adds beside HPL's own time.
        chance: of configurations, by their value numbers, that they run at all.
        key: identity of a point.
        free: whether a point may be asked on the rung.
    """

    belief: Belief
    rung: Rung
    starting_s: float
    own_s: float
    chance: Callable[[Codes], Vector]
    key: Callable[[Point], str]
    free: Callable[[Point], bool]

    def companions(self, space: SearchSpace, first: Point, most: int) -> Group:
        """Choose the companions of a point greedily, each as if those before had come out as expected.

        There are none where starting takes no time: alone, each run can follow from the one before.

        Args:
            most: how many at most.

        Raises:
            FitError: the covariance of the runs is not positive.
        """
        if self.starting_s <= 0:
            return []
        worth, seconds = self._worth_and_s(self.belief, self.belief.pool.rows([first]))
        least = ENOUGH * float(worth[0]) / (self.starting_s + float(seconds[0]))
        return gathered(space, first, most, self._by_the_second, least)

    def _by_the_second(self, before: Sequence[Point], groups: Sequence[Group]) -> list[float]:
        """The worth of each group per second; 0 if a point of it is asked already or has a value new to the model."""
        present = {self.key(point) for point in before}
        points = {self.key(point): point for group in groups for point in group}
        points = {key: point for key, point in points.items() if key not in present and self.free(point)}
        if not points:
            return [0.0] * len(groups)
        rows = self.belief.pool.rows(points.values())
        met = np.flatnonzero(self.belief.process.knows(rows.codes))
        believed = self.belief.fantasise(self.belief.pool.rows(before), self.rung)
        worth, seconds = self._worth_and_s(believed, rows.of(met))
        keys = list(points)
        weighed = {keys[place]: number for number, place in enumerate(met)}

        def by_the_second(group: Group) -> float:
            asked = [self.key(point) for point in group]
            if len(set(asked)) < len(asked) or not weighed.keys() >= set(asked):
                return 0.0
            numbers = [weighed[key] for key in asked]
            return float(worth[numbers].sum() / seconds[numbers].sum())

        return [by_the_second(group) for group in groups]

    def _worth_and_s(self, believed: Belief, rows: PointRows) -> tuple[Vector, Vector]:
        worth = believed.worth_of(rows, self.rung) * self.chance(rows.codes)
        return worth, believed.time_s_of(rows, self.rung) + self.own_s
