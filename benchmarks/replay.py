"""Plays an engine against a recorded landscape: a recorded run answers each question, and its seconds are charged."""

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import median

import optuna_tpe

from hpl.params import Scalar
from hpl.sizing import flop_count, fraction_done
from search_spaces.space import SearchSpace
from tuner.engines import points
from tuner.engines.base import Engine, EngineContext
from tuner.engines.outcomes import FULL, Fidelity, Ladder, Outcome, Question
from tuner.engines.probes import Probes
from tuner.engines.registry import make_engine
from tuner.replay.landscape import LandscapeError, RecordedLandscape, RecordedPoint, Run
from tuner.study.warm_start import Advice, advise
from tuner.trial.ladder import PREFIX_PARTS, ladder

NOISE = 0.005
"""Standard deviation of a simulated run, drawn anew for each: 0.3 to 0.4 % on good clusters (Dahu)."""
AFTER_SIMULATION, ONE_A_LAUNCH = " after simulation", " --one-a-launch"
"""What the names of the engine's variants end in."""
SLOWER = (0.1, 0.4)
"""What a disturbed run loses of its rate, at least and at most."""
LAUNCH_S = 2.0
"""What a launch takes where the recording is of a simulator, which starts at once."""


@dataclass(frozen=True)
class Step:
    """After so many machine-seconds the engine's choice is so far below the optimum, as a part of it."""

    cost_s: float
    regret: float


@dataclass
class Played:
    """One game: an engine, a landscape, a seed."""

    engine: str
    landscape: str
    seed: int
    steps: list[Step] = field(default_factory=list)
    asks_s: list[float] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    score: float | None = None

    def cost_until(self, regret: float) -> float:
        """Seconds until the choice is that near to the optimum for the first time; infinite where it never was."""
        return next((step.cost_s for step in self.steps if step.regret <= regret), float("inf"))

    def regret_after(self, cost_s: float) -> float:
        """Regret of the choice when so much is spent; 1 before the first full run."""
        return next((step.regret for step in reversed(self.steps) if step.cost_s <= cost_s), 1.0)


class Board:
    """A landscape with its space, made ready to answer.

    Args:
        only: values that parameters have on this board, as `--set` would write them; all those of the landscape's
            space by default.
        disturbed: part of the runs that are made slower by 10 to 40 %, by chance.

    Raises:
        LandscapeError: no full run of these gave a rate.
    """

    def __init__(
        self, landscape: RecordedLandscape, only: Mapping[str, Sequence[str]] | None = None, disturbed: float = 0.0
    ) -> None:
        self.landscape, self._disturbed = landscape, disturbed
        whole = landscape.search_space()
        known = {whole.key(place.params): place for place in landscape.places}
        self.space: SearchSpace = landscape.search_space(only)
        self.places: dict[str, RecordedPoint] = {self.space.key(point): known[whole.key(point)] for point in self.space}
        rates = {key: place.gflops for key, place in self.places.items()}
        self.rates = {key: rate for key, rate in rates.items() if rate is not None}
        if not self.rates:
            raise LandscapeError(f"{landscape.name}: no full run of this part of it gave a rate")
        self.best = max(self.rates.values())

    @cached_property
    def ladder(self) -> Ladder:
        """The rungs that `tune` would offer on this machine, as far as runs on them were recorded."""
        runs = [run for place in self.places.values() for run in place.full if run.gflops]
        prefixes = all(self._panel(run, part) for run in runs for part in PREFIX_PARTS)
        rungs = ladder(self.landscape.N, median(run.time_s for run in runs), self.launch_s, prefixes=prefixes)
        small = any(run.gflops for place in self.places.values() for run in place.small)
        return tuple(rung for rung in rungs if small or rung.fidelity is not Fidelity.SMALL)

    @cached_property
    def probes(self) -> Probes:
        """What an engine is told of the machine."""
        landscape, machine = self.landscape, self.landscape.machine
        return Probes(
            landscape.probes,
            landscape.nodes,
            node_cores=max(node.cores for node in machine.node_list) if machine.fills_nodes else None,
            messages=landscape.messages,
            half_nb=landscape.half_nb,
        )

    @cached_property
    def prediction(self) -> Advice:
        """What a model predicts, best first."""
        told = [(dict(place.params), place.predicted_gflops) for place in self.places.values()]
        return Advice("", tuple(sorted(told, key=lambda one: -(one[1] or 0.0))), "")

    @property
    def grid_s(self) -> float:
        """Machine-seconds of measuring every configuration once in full."""
        return sum(self.cost_s(place.full[0]) for place in self.places.values())

    def cost_s(self, run: Run) -> float:
        """Seconds of a whole launch."""
        return run.cost_s + (LAUNCH_S if self.landscape.simulated else 0.0)

    @cached_property
    def launch_s(self) -> float:
        """Seconds of a launch that do not grow with N: those which several runs in one launch pay only once.

        What a launch takes beside HPL's time is start-up, and the matrix that is made and checked, which grows as N^2;
        the full and the small runs tell both; nothing is known of it where no small run gave a rate.
        """
        full, small = (self._median_rest_s([place.sizes[size] for place in self.places.values()])
                       for size in ("full", "small"))  # fmt: skip
        squares = (self.landscape.N / self.landscape.small_n) ** 2
        return max(0.0, small - max(0.0, full - small) / (squares - 1))

    def _median_rest_s(self, runs: Sequence[Sequence[Run]]) -> float:
        rests_s = [self.cost_s(run) - run.time_s for of_place in runs for run in of_place if run.gflops]
        return median(rests_s or [0.0])

    def launch(self, asked: Sequence[Question], chance: random.Random) -> tuple[list[Outcome], float]:
        """What came of runs that share a launch, each with its part of what starting takes; the launch's seconds."""
        saved_s = self.launch_s * (1 - 1 / len(asked))
        answers = [self._answer(question, chance) for question in asked]
        costs_s = [max(0.0, (outcome.cost_s or 0.0) - saved_s) for outcome in answers]
        outcomes = [
            replace(outcome, cost_s=cost_s, sharing=len(asked))
            for outcome, cost_s in zip(answers, costs_s, strict=True)
        ]
        return outcomes, sum(costs_s)

    def _answer(self, question: Question, chance: random.Random) -> Outcome:
        """What came of a question that had a launch of its own: one of the recorded runs by chance."""
        place = self.places[self.space.key(question.params)]
        rung = question.rung
        run = self._drawn(place.small if rung.fidelity is Fidelity.SMALL else place.full, chance)
        if run.gflops is None:
            return Outcome(None, state="failed", rung=rung, cost_s=self.cost_s(run))
        panel = self._panel(run, rung.part) if rung.fidelity is Fidelity.PREFIX else None
        if panel is None:
            return Outcome(run.gflops, run.time_s, rung=rung, cost_s=self.cost_s(run))
        N, (column, time_s) = self.landscape.N, panel
        gflops = fraction_done(N, column) * flop_count(N) / time_s / 1e9
        return Outcome(gflops, time_s, rung=rung, cost_s=self.cost_s(run) - run.time_s + time_s)

    def _panel(self, run: Run, part: float) -> tuple[int, float] | None:
        """The first panel of a run when so much of its columns is done, or None."""
        column = part * self.landscape.N * 0.999
        return next((panel for panel in run.panels if panel[0] >= column and panel[1] > 0), None)

    def _drawn(self, runs: Sequence[Run], chance: random.Random) -> Run:
        """One of the recorded runs; a simulated one with noise of its own, and some disturbed."""
        run = chance.choice(runs)
        if run.gflops is None or not (self.landscape.simulated or self._disturbed):
            return run
        factor = math.exp(chance.gauss(0.0, NOISE)) if self.landscape.simulated else 1.0
        if self._disturbed and chance.random() < self._disturbed:
            factor *= 1 - chance.uniform(*SLOWER)
        panels = tuple((column, time_s / factor) for column, time_s in run.panels)
        time_s = run.time_s / factor
        cost_s = run.cost_s + time_s - run.time_s
        return replace(run, gflops=run.gflops * factor, time_s=time_s, cost_s=cost_s, panels=panels)


def play(board: Board, name: str, seed: int, *, most_s: float, most_trials: int, without: int | None = None) -> Played:
    """One game, until the engine has nothing to ask, the time is used up or the optimum is found.

    Args:
        name: of an engine; with AFTER_SIMULATION it is told the model's predictions before, and what calibrating the
            model took is charged; with ONE_A_LAUNCH it may not put several runs into one launch.
        most_s: machine-seconds, `most_trials` runs.
        without: the place of a line of ADVICE that no engine knows in this game.
    """
    lines = points.ADVICE
    points.ADVICE = tuple(line for place, line in enumerate(lines) if place != without)
    try:
        return _played(board, name, seed, most_s, most_trials)
    finally:
        points.ADVICE = lines


def _played(board: Board, name: str, seed: int, most_s: float, most_trials: int) -> Played:
    played = Played(name, board.landscape.name, seed)
    chance = random.Random(f"{board.landscape.name} {seed}")
    batches = not name.endswith(ONE_A_LAUNCH)
    plain = name.removesuffix(AFTER_SIMULATION).removesuffix(ONE_A_LAUNCH)
    make = optuna_tpe.OptunaTpe if plain == optuna_tpe.NAME else partial(make_engine, plain)
    engine: Engine = make(board.space, seed, EngineContext(probes=board.probes))
    first: list[dict[str, Scalar]] = []
    spent_s = 0.0
    if name.endswith(AFTER_SIMULATION):
        first, spent_s = advise(engine, [board.prediction]), board.landscape.calibrated_s
    room = most_trials if batches else 0
    while sum(played.runs.values()) < most_trials and spent_s < most_s:
        began = time.perf_counter()
        start = engine.first_unseen(first)
        asked = [Question(start)] if start else engine.choose_launch(board.ladder, lambda _: room)
        played.asks_s.append(time.perf_counter() - began)
        if not asked:
            break
        question = asked[0]
        outcomes, launch_s = board.launch(asked, chance)
        spent_s += launch_s
        for one, outcome in zip(asked, outcomes, strict=True):
            engine.tell(one.params, outcome)
        fidelity = str(question.rung.fidelity)
        played.runs[fidelity] = played.runs.get(fidelity, 0) + len(asked)
        if question.rung == FULL:
            chosen = engine.choice()
            regret = 1.0 if chosen is None else 1 - board.rates.get(board.space.key(chosen), 0.0) / board.best
            played.steps.append(Step(spent_s, regret))
            if regret <= 0.0:
                break
    return played
