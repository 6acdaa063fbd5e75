"""Bayesian search: Optuna's TPE as a proposer that is fed from our own records."""

import random
import warnings
from collections.abc import Iterator, Sequence

import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..base import Engine
from ..context import NOTHING_KNOWN, EngineContext
from ..outcomes import Outcome
from ..points import neighbours
from ..starts import starts
from .encoding import Encoding

RETRIES = 5
"""Proposals in a row that may be known already before a neighbour of the first one is taken instead. Twenty found
nothing better within 60 trials, and cost twice as much where most of a space is known."""
SHOWN = 50
"""TPE is shown the best trials and the newest, up to so many of the one and twice as many of the other: its cost grows
with trials x parameters. On ten synthetic machines 30, 100 and 200 found nothing better in 300 trials."""
RANDOM_FIRST = 8
"""Trials before TPE's model is used; the start points count among them."""
DRAWS = 1_000
"""Points drawn by chance when TPE has nothing new; beyond that the space is gone through, or counts as exhausted."""
SEARCHED = 100_000
"""Spaces up to this size are gone through at the end."""


class Bayes(Engine):
    """Multivariate TPE over groups of parameters that occur together.

    A proposal follows from the seed, from what was told in which order and from what is pending, so a study that was
    resumed asks what it would have asked. TPE knows nothing of restrictions: a proposal that breaks one is moved to the
    nearest legal point. Proposals that are known already stay with TPE as running trials until a new one comes:
    its constant liar then avoids them. Failed trials are told as pruned ones, which TPE ranks behind all that have a
    rate: left out, a library that always crashes would be proposed again and again (measured: two of three times).
    """

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._encoding = Encoding(space)
        self._starts: Iterator[Point] = starts(space)
        self._history: list[FrozenTrial] = []
        self._study: optuna.Study | None = None
        self._running: dict[str, optuna.Trial] = {}

    def _propose(self) -> dict[str, Scalar] | None:
        return self.first_unseen(self._starts) or self._proposal_of_tpe()

    def _learn(self, point: Point, outcome: Outcome) -> None:
        params, distributions = self._encoding.encode(point)
        state = TrialState.PRUNED if outcome.gflops is None else TrialState.COMPLETE
        trial = create_trial(state=state, params=params, distributions=distributions, value=outcome.gflops)
        self._history.append(trial)
        running = self._running.pop(self.key(point), None)
        if self._study is None:
            return
        if len(self._history) % SHOWN == 0:
            self._study, self._running = None, {}
            return
        if running is not None:
            self._study.tell(running, state=TrialState.FAIL)
        self._study.add_trial(trial)

    def _proposal_of_tpe(self) -> dict[str, Scalar] | None:
        if self._study is None:
            self._study = optuna.create_study(direction="maximize")
            self._study.add_trials(self._shown())
        chance = random.Random(f"{self.seed} {len(self._history)} {len(self._pending)}")  # noqa: S311 - not for secrets
        self._study.sampler = _tpe(chance.randrange(2**31))
        known: list[tuple[optuna.Trial, dict[str, Scalar]]] = []
        found: dict[str, Scalar] | None = None
        while found is None and len(known) < RETRIES:
            trial = self._study.ask()
            point = self._legal(self._encoding.suggest(trial))
            if self.seen(point):
                known.append((trial, point))
            else:
                found = point
                self._running[self.key(point)] = trial
        for trial, _ in known:
            self._study.tell(trial, state=TrialState.FAIL)
        return found or self.first_unseen(neighbours(self.space, known[0][1])) or self._any(chance)

    def _shown(self) -> Sequence[FrozenTrial]:
        """The history while it is short; then the best of what is older, and the newest."""
        old = max(0, len(self._history) // SHOWN - 1) * SHOWN
        best = sorted(self._history[:old], key=lambda trial: trial.value or 0.0, reverse=True)[:SHOWN]
        return [*best, *self._history[old:]]

    def _legal(self, wish: dict[str, Scalar]) -> dict[str, Scalar]:
        return wish if self.space.why_not(wish) is None else self.space.nearest(wish)

    def _any(self, chance: random.Random) -> dict[str, Scalar] | None:
        size = len(self.space)
        drawn = (self.space.point(chance.randrange(size)) for _ in range(DRAWS))
        return self.first_unseen(drawn) or (self.first_unseen(self.space) if size <= SEARCHED else None)


def _tpe(seed: int) -> optuna.samplers.TPESampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(
            n_startup_trials=RANDOM_FIRST, multivariate=True, group=True, constant_liar=True, seed=seed
        )
