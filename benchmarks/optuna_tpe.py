"""Runs Optuna's TPE unchanged: each parameter is a categorical choice, an illegal point a failed trial.

It stands beside our own engines for comparison. Only what the contract of an engine demands is added: a point is legal
and new. Where it proposes a known point it is told its known rate once more, and asked again.
"""

import random
import warnings

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.base import NOTHING_KNOWN, Engine, EngineContext
from tuner.engines.outcomes import Outcome
from tuner.engines.points import neighbours, with_fixed

NAME = "optuna-tpe"
TRIES = 40
"""Proposals in a row that may be illegal or known; then a legal point near the last one is taken."""
ABSENT = "-"


class OptunaTpe(Engine):
    """Optuna's TPE over the raw parameters; each proposal rebuilds it from the outcomes so far."""

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._history: list[FrozenTrial] = []

    def _propose(self) -> dict[str, Scalar] | None:
        chance = random.Random(f"{self.seed} {len(self._history)} {len(self._pending)}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(seed=chance.randrange(2**31))
            study = optuna.create_study(direction="maximize", sampler=sampler)
            study.add_trials(self._history)
            wish: dict[str, Scalar] = {}
            for _ in range(TRIES):
                trial = study.ask(self._distributions())
                wish = with_fixed(self.space, {name: value for name, value in trial.params.items() if value != ABSENT})
                legal = self.space.why_not(wish) is None
                if legal and not self.seen(wish):
                    return wish
                rate = self.history.median(self.key(wish)) if legal else None
                if rate is None:
                    study.tell(trial, state=TrialState.FAIL)
                else:
                    study.tell(trial, rate)
        near = self.space.nearest(wish)
        size = len(self.space)
        drawn = (self.space.point(chance.randrange(size)) for _ in range(1_000))
        found = self.first_unseen([near, *neighbours(self.space, near)]) or self.first_unseen(drawn)
        return found or (self.first_unseen(self.space) if size <= 100_000 else None)

    def _learn(self, point: Point, outcome: Outcome) -> None:
        state = TrialState.FAIL if outcome.gflops is None else TrialState.COMPLETE
        params = {name: point.get(name, ABSENT) for name in self.space.varying}
        self._history.append(
            create_trial(state=state, params=params, distributions=self._distributions(), value=outcome.gflops)
        )

    def _distributions(self) -> dict[str, BaseDistribution]:
        return {
            name: CategoricalDistribution((*parameter.values, *((ABSENT,) if parameter.by else ())))
            for name, parameter in self.space.varying.items()
        }
