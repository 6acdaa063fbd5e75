"""The engine `hpl`: which run, of which configuration and how much of it, tells most a second of machine time."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hpl.flops import flop_count
from search_spaces.dimension import Point, Scalar
from search_spaces.space import SearchSpace

from .base import GIVEN_UP, Engine, Outcome
from .companions import Group, alone_seconds, gathered, shared_seconds
from .fidelity import FULL, Fidelity, Ladder, Question, Rung
from .starts import starts
from .surrogate.axes import Codes
from .surrogate.belief import LARGEST_LOG, Belief
from .surrogate.feasible import chance_to_run
from .surrogate.information import best_of, expected_improvement, gain
from .surrogate.physics import Probes
from .surrogate.pool import Pool
from .surrogate.process import FitError, Process, Runs
from .surrogate.scales import Scales, Vector

FIRST = 3
"""Start points that are measured before the model is asked."""
DRAWS = 24
"""Draws of the best rate that the information is averaged over."""
LIKELY = 200
"""Configurations among which the best is drawn: those with the highest mean + 2 sd."""
VERIFY = 1.0
"""Full runs' worth of cheap runs after which the best so far is measured in full."""
WORTHLESS = 1e-4
"""Gain in the logarithm of the rate that any further run is expected to bring, below which the search ends."""
DOUBT = 2.0
"""How many times as unsure as it says the model is taken to be before it ends the search; it was seen four sd off."""
MOST_REPEATS = 5
"""Full runs of one configuration during a search, where repeating it tells more than trying another."""
REPEAT = 0.4
"""What a repeat tells counts by this part: it makes the best rate surer, but something new may beat it."""
GROWTH = 1.12
"""The scales are fitted anew when the runs have grown by this factor."""
AROUND = 6
"""Best configurations whose neighbours join the pool of a space too large to hold."""
FITTED_FROM = 6
"""Runs below which the prior scales are used as they are."""
LARGEST_BATCH = 8
"""Runs in one launch: what is in it was decided before the first of them was known."""
ENOUGH = 3.0
"""A companion must tell so many times as much by the second, without a launch, as the question with its launch: it is
chosen before that is answered. With 2 four hosts gain a little and two cores lose much; with 5 few are shared."""


@dataclass(frozen=True)
class Measured:
    """One run that gave a rate."""

    place: int
    rung: Rung
    log_rate: float
    session: int
    rest_s: float | None
    sharing: int


class Learned(Engine):
    """A Gaussian process on HPL's cost model, told of runs on every rung, asked by information about the best rate.

    Every choice weighs what a run would tell against what it costs; once the cheap runs since the last full one cost
    as much as a full one, the most promising configuration is measured in full, so that at most half of the time is
    lost where cheap runs mislead. Where the model cannot be fitted, Optuna's TPE takes over.
    """

    def __init__(self, space: SearchSpace, seed: int, options: Mapping[str, Any]) -> None:
        super().__init__(space, seed, options)
        probes = options.get("probes")
        self._pool = Pool(space, seed, probes if isinstance(probes, Probes) else Probes())
        self._starts: Iterator[Point] = starts(space)
        self._started = 0
        self._runs: list[Measured] = []
        self._failed: list[int] = []
        self._taken: set[tuple[int, Rung]] = set()
        self._waiting: list[tuple[int, Rung]] = []
        self._scales: tuple[Scales, tuple[Rung, ...], int] | None = None
        self._since_full = 0.0
        self._instead: Engine | None = None
        self._weighed: tuple[Belief, Vector] | None = None

    def choose(self, ladder: Ladder) -> Question | None:
        """The run that tells most a second, on any rung of the ladder; a full run may come again where runs differ."""
        self._weighed = None
        if self._instead is not None:
            return self._instead.choose(ladder)
        try:
            with threadpool_limits(1):
                question = self._decide(ladder)
        except FitError as error:
            question = self._give_up(error, ladder)
        if question is not None:
            self._take(question)
        return question

    def companions(self, question: Question, most: int) -> list[dict[str, Scalar]]:
        """Small runs that tell much for each further second, the launch being paid for already.

        Full runs stay alone, so that each can be given up: sharing launches gained nothing more with them.
        """
        if self._weighed is None or question.rung.fidelity is not Fidelity.SMALL:
            return []
        try:
            with threadpool_limits(1):
                found = self._gathered(*self._weighed, question, min(most, LARGEST_BATCH - 1))
        except FitError:
            return []
        for point in found:
            self._take(Question(point, question.rung))
        return found

    def choice(self) -> dict[str, Scalar] | None:
        """The best mean of the model among what was run in full."""
        known = sorted({run.place for run in self._runs if run.rung == FULL})
        if self._instead is not None or not known:
            return super().choice()
        try:
            with threadpool_limits(1):
                process, _ = self._process((FULL,))
        except FitError:
            return super().choice()
        mean, _ = process.believed(self._pool.codes[known], self._pool.centred(1.0)[known])
        return dict(self._pool.points[known[int(np.argmax(mean))]])

    def model(self) -> tuple[Process, Pool, Vector]:
        """What was learnt: the process fitted to all runs, its configurations, and what to ask it for them with.

        Raises:
            FitError: the runs cannot be described.
        """
        self._scales = None
        process, _ = self._process((FULL,))
        return process, self._pool, self.centred()

    def expected_gflops(self, point: Point) -> float:
        """The rate of a full run of a legal point without noise, as the model has it now."""
        process, _ = self._process((FULL,))
        place = self._pool.place(self.key(point), point)
        mean, _ = process.believed(self._pool.codes[[place]], self._pool.centred(1.0)[[place]])
        return float(np.exp(mean[0] + self.level))

    def centred(self) -> Vector:
        """What to ask the model with, for each configuration of its pool as it is now."""
        return self._pool.centred(1.0)

    @property
    def level(self) -> float:
        """What a mean of the process lacks to be the logarithm of GFLOPS."""
        return self._pool.level

    def _propose(self) -> dict[str, Scalar] | None:
        question = self.choose((FULL,))
        return None if question is None else question.params

    def expect(self, question: Question) -> None:
        """Hear that somebody else runs this now; it is reckoned with as one's own runs under way are."""
        point = self._own(question.params)
        if self.space.why_not(point) is not None:
            return
        if (self._pool.places.get(self.key(point)), question.rung) not in self._waiting:
            self._take(Question(point, question.rung))

    def _take(self, question: Question) -> None:
        key = self.key(question.params)
        place = self._pool.place(key, question.params)
        self._taken.add((place, question.rung))
        self._waiting.append((place, question.rung))
        if question.rung == FULL:
            self._pending.add(key)

    def _learn(self, point: Point, outcome: Outcome) -> None:
        self._since_full = 0.0
        self._note(point, outcome)
        if self._instead is not None:
            self._instead.tell(point, outcome)

    def _learn_part(self, point: dict[str, Scalar], outcome: Outcome) -> None:
        given_up = outcome.state == GIVEN_UP
        self._since_full = 0.0 if given_up else self._since_full + outcome.rung.operations
        self._note(point, outcome)
        if given_up:
            key = self.key(point)
            self._pending.discard(key)
            self._settle(self._pool.place(key, point), FULL)

    def _note(self, point: Point, outcome: Outcome) -> None:
        place = self._pool.place(self.key(point), point)
        self._settle(place, outcome.rung)
        if outcome.gflops is None or not np.isfinite(outcome.gflops) or outcome.gflops <= 0:
            self._failed.append(place)
            return
        rest_s = None if outcome.cost_s is None or outcome.time_s is None else outcome.cost_s - outcome.time_s
        self._runs.append(
            Measured(place, outcome.rung, float(np.log(outcome.gflops)), outcome.session, rest_s, outcome.sharing)
        )

    def _settle(self, place: int, rung: Rung) -> None:
        self._taken.add((place, rung))
        if (place, rung) in self._waiting:
            self._waiting.remove((place, rung))

    def _decide(self, ladder: Ladder) -> Question | None:
        pool = self._pool
        rungs = sorted({*ladder, FULL}, key=lambda rung: rung.operations)
        start = self._start(rungs[0])
        if start is not None:
            return start
        if not self._runs:
            return self._any(rungs[-1])
        belief = self._belief(rungs)
        process, kinds = belief.process, belief.kinds
        codes, physics = pool.codes, pool.centred(1.0)
        mean, sd = process.believed(codes, physics)
        full_left = self._left(FULL)
        if not full_left.any():
            return self._any(FULL)
        likely = np.argsort(-(mean + 2 * sd))[:LIKELY]
        chance = np.random.default_rng([self.seed, len(self._taken)])
        best = best_of(process.draws(codes[likely], physics[likely], DRAWS, chance))
        runs_at_all = self._chance_to_run(codes)
        rates = np.exp(np.clip(mean + self.level, -LARGEST_LOG, LARGEST_LOG))
        full_s = np.array([flop_count(int(N)) for N in pool.sizes]) / (rates * 1e9)
        hoped = self._hoped(mean, sd) * full_left * runs_at_all
        doubted = self._hoped(mean, DOUBT * sd) * full_left * runs_at_all
        if len(rungs) > 1 and float(doubted.max()) < WORTHLESS:
            return None
        self._weighed = (belief, best)
        if len(rungs) > 1 and self._to_verify():
            return Question(dict(pool.points[int(np.argmax(hoped))]), FULL)
        repeats, worth = self._repeatable(), list[tuple[float, int, Rung]]()
        for rung in rungs:
            left = (self._left(rung) & full_left) | (repeats if rung == FULL and len(rungs) > 1 else False)
            if not left.any():
                continue
            shared = process.shared(codes, physics, self._pool.centred(rung.size), kinds.index(rung))
            told = gain(mean, sd, shared, best) * runs_at_all / (self._rest_s(rung) + rung.operations * full_s)
            told[~left] = -1.0
            if rung == FULL:
                told[repeats] *= REPEAT
            place = int(np.argmax(told))
            worth.append((float(told[place]), place, rung))
        _, place, rung = max(worth, key=lambda entry: entry[0])
        return Question(dict(pool.points[place]), rung)

    def _start(self, rung: Rung) -> Question | None:
        """One of the points that experience suggests, on the cheapest rung, while next to nothing is known."""
        while self._started < FIRST and len(self._runs) < FIRST:
            start = self.first_unseen(self._starts)
            self._started += 1
            if start is not None and (self._pool.place(self.key(start), start), rung) not in self._taken:
                return Question(start, rung)
        return None

    def _to_verify(self) -> bool:
        """Whether so much was spent on cheap runs, those under way included, that a full one must follow."""
        waiting = [rung.operations for _, rung in self._waiting]
        return FULL.operations not in waiting and self._since_full + sum(waiting) >= VERIFY

    def _belief(self, rungs: Sequence[Rung]) -> Belief:
        """What is believed, with the runs that were asked and not told yet, as if each came out as expected."""
        process, kinds = self._process(rungs)
        if self._widened(process):
            process, kinds = self._process(rungs)
        belief = Belief(process, self._pool, kinds)
        for rung in {rung for _, rung in self._waiting if rung in kinds}:
            belief = belief.supposing([place for place, one in self._waiting if one == rung], rung)
        return belief

    def _gathered(self, belief: Belief, best: Vector, question: Question, most: int) -> Group:
        """Companions of a question, greedily, each chosen as if those before had come out as expected."""
        rung = question.rung
        runs_at_all = self._chance_to_run(self._pool.codes)
        launch_s, own_s = self._launch(rung)

        def told_and_s(after: Belief, group: Sequence[Point]) -> tuple[float, float]:
            places = self._places(group)
            told = after.gain(places, rung, best) * runs_at_all[places]
            return float(told.sum()), float(after.time_s(places, rung).sum()) + own_s * len(group)

        def worth(before: Sequence[Point], group: Sequence[Point]) -> float:
            if not self._all_left(group, rung):
                return 0.0
            told, seconds = told_and_s(belief.supposing(self._places(before), rung), group)
            return told / seconds

        told, seconds = told_and_s(belief, [question.params])
        return gathered(self.space, question.params, most, worth, ENOUGH * told / (launch_s + seconds))

    def _places(self, points: Sequence[Point]) -> list[int]:
        return [self._pool.places[self.key(point)] for point in points]

    def _all_left(self, points: Sequence[Point], rung: Rung) -> bool:
        """Whether the pool has these, HPL can tell them apart, and none was asked or told on the rung or in full."""
        keys = {self.key(point) for point in points}
        if len(keys) < len(points) or not keys <= self._pool.places.keys():
            return False
        return not any({(place, rung), (place, FULL)} & self._taken for place in self._places(points))

    def _launch(self, rung: Rung) -> tuple[float, float]:
        """Seconds of starting, which the runs of a launch share, and those that each run adds beside HPL's own time."""
        rests = [(run.sharing, run.rung.size, run.rest_s) for run in self._runs if run.rest_s is not None]
        return shared_seconds(rests, rung.size)

    def _hoped(self, mean: Vector, sd: Vector) -> Vector:
        """Expected gain of each configuration over the best that was measured in full."""
        known = [run.place for run in self._runs if run.rung == FULL]
        over = max((mean[place] for place in known), default=float(mean.max()))
        return expected_improvement(mean, sd, over) if known else np.maximum(mean - mean.min(), WORTHLESS)

    def _process(self, rungs: Sequence[Rung]) -> tuple[Process, list[Rung]]:
        """The process of all runs, and the rungs by their numbers in it."""
        seen = {run.rung for run in self._runs} | set(rungs) | (set(self._scales[1]) if self._scales else set())
        kinds = [FULL, *sorted(seen - {FULL}, key=lambda rung: (rung.fidelity, rung.part))]
        runs = self._as_runs(self._runs, kinds)
        correlations = self._pool.correlations()
        prior = Scales.prior(self._pool.names, [rung.fidelity is Fidelity.EARLIER for rung in kinds[1:]])
        known = self._scales
        scales = known[0] if known is not None and known[1] == tuple(kinds) else prior
        process = Process(runs, correlations, scales, prior)
        stale = known is None or known[1] != tuple(kinds) or len(runs) >= known[2] * GROWTH
        if len(runs) >= FITTED_FROM and stale:
            process = process.fitted()
            self._scales = (process.scales, tuple(kinds), len(runs))
        return process, kinds

    def _as_runs(self, measured: Sequence[Measured], kinds: Sequence[Rung]) -> Runs:
        places = np.array([run.place for run in measured], dtype=np.intp)
        modelled = {part: self._pool.centred(part) for part in {run.rung.size for run in measured}}
        physics = np.array([modelled[run.rung.size][run.place] for run in measured])
        return Runs(
            codes=self._pool.codes[places],
            rung=np.array([kinds.index(run.rung) for run in measured], dtype=np.intp),
            log_rate=np.array([run.log_rate for run in measured]) - self.level - physics,
            physics=physics,
            session=np.array([run.session for run in measured], dtype=np.intp),
        )

    def _left(self, rung: Rung) -> np.typing.NDArray[np.bool_]:
        left = np.ones(len(self._pool), dtype=bool)
        left[[place for place, taken in self._taken if taken == rung]] = False
        return left

    def _repeatable(self) -> np.typing.NDArray[np.bool_]:
        """Configurations that may be run in full once more."""
        counts = np.zeros(len(self._pool), dtype=int)
        for run in self._runs:
            counts[run.place] += run.rung == FULL
        waiting = [place for place, rung in self._waiting if rung == FULL]
        counts[waiting] = MOST_REPEATS
        return (counts > 0) & (counts < MOST_REPEATS)

    def _chance_to_run(self, codes: Codes) -> Vector:
        ran = codes[[run.place for run in self._runs]]
        return chance_to_run(codes, ran, codes[self._failed] if self._failed else codes[:0])

    def _rest_s(self, rung: Rung) -> float:
        """Seconds of a launch beside HPL's own time."""
        return alone_seconds([(run.rung, run.rest_s) for run in self._runs if run.sharing == 1], rung)

    def _widened(self, process: Process) -> bool:
        """Where the pool is a sample, take in the neighbours of what looks best; whether there were new ones."""
        if self._pool.whole:
            return False
        before = len(self._pool)
        mean, _ = process.believed(self._pool.codes, self._pool.centred(1.0))
        for place in np.argsort(-mean)[:AROUND]:
            self._pool.add(self.neighbours(self._pool.points[int(place)]))
        return len(self._pool) > before

    def _any(self, rung: Rung) -> Question | None:
        """Some point that was not taken; one drawn by chance where the pool is used up but the space is not."""
        left = np.flatnonzero(self._left(rung))
        chance = random.Random(f"{self.seed} {len(self._taken)}")  # noqa: S311 - not for secrets
        if len(left):
            return Question(dict(self._pool.points[int(chance.choice(list(left)))]), rung)
        if not self._pool.whole:
            size = len(self.space)
            found = self.first_unseen(self.space.point(chance.randrange(size)) for _ in range(1_000))
            return None if found is None else Question(found, rung)
        return None

    def _give_up(self, error: FitError, ladder: Ladder) -> Question | None:
        from .bayes import Bayes  # noqa: PLC0415 - Optuna is slow to import, and seldom needed here

        self.remarks.append(f"The model cannot describe the runs so far ({error}): Optuna's TPE goes on instead.")
        self._instead = Bayes(self.space, self.seed, self.options)
        for key, outcomes in self.told.items():
            for outcome in outcomes:
                self._instead.tell(self._pool.points[self._pool.places[key]], outcome)
        return self._instead.choose(ladder)
