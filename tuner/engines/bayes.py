"""Bayesian search: Optuna's TPE as a proposer that is fed from our own records."""

import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from search_spaces.dimension import Point, Scalar
from search_spaces.parameter import Parameter
from search_spaces.space import SearchSpace

from .base import Engine, Outcome
from .starts import starts

RETRIES = 5
"""Proposals in a row that may be illegal or seen before a neighbour of the last one is taken instead."""
SHOWN = 150
"""TPE sees at most so many trials, the best half and the newest half: its own cost grows with their number."""
RANDOM_FIRST = 8
"""Trials before TPE's model is used; the start points count among them."""


class Bayes(Engine):
    """Multivariate TPE over groups of parameters that occur together.

    TPE knows nothing of restrictions: what it proposes is moved to the nearest legal point, and a point seen before is
    asked again. Trials that failed are shown to it as the worst rate seen, so that it learns to stay away from them.
    """

    def __init__(self, space: SearchSpace, seed: int, options: Mapping[str, Any]) -> None:
        super().__init__(space, seed, options)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._chance = random.Random(seed)  # noqa: S311 - not for secrets
        self._history: list[tuple[dict[str, Scalar], float | None]] = []
        self._starts: Iterator[Point] = starts(space)
        self._pending: dict[str, optuna.Trial] = {}
        self._study: optuna.Study | None = None
        self._in_study = 0

    def _propose(self) -> dict[str, Scalar] | None:
        start = self.first_unseen(self._starts)
        if start is not None:
            return start
        study = self._current_study()
        point: dict[str, Scalar] = {}
        for _ in range(RETRIES):
            trial = study.ask()
            point = self._suggestion(trial)
            if not self.seen(point):
                self._pending[self.key(point)] = trial
                return point
            study.tell(trial, state=TrialState.FAIL)
        return self.first_unseen(self.space.neighbours(point)) or self._any()

    def _learn(self, point: Point, outcome: Outcome) -> None:
        self._history.append((dict(point), outcome.gflops))
        pending = self._pending.pop(self.key(point), None)
        if self._study is not None:
            if pending is not None:
                self._study.tell(pending, state=TrialState.FAIL)
            self._add([self._history[-1]])

    def _current_study(self) -> optuna.Study:
        """What TPE sees: made of the records, and made anew when it has grown to twice what TPE shall see."""
        if self._study is None or self._in_study > 2 * SHOWN:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                sampler = optuna.samplers.TPESampler(
                    n_startup_trials=RANDOM_FIRST,
                    multivariate=True,
                    group=True,
                    constant_liar=True,
                    seed=self._chance.randrange(2**31),
                )
            self._study = optuna.create_study(direction="maximize", sampler=sampler)
            self._in_study = 0
            self._pending = {}
            self._add(self._shown())
        return self._study

    def _add(self, entries: Sequence[tuple[dict[str, Scalar], float | None]]) -> None:
        assert self._study is not None  # noqa: S101 - only called with one
        worst = min((rate for _, rate in self._history if rate is not None), default=0.0)
        self._study.add_trials([self._frozen(point, worst if rate is None else rate) for point, rate in entries])
        self._in_study += len(entries)

    def _shown(self) -> Sequence[tuple[dict[str, Scalar], float | None]]:
        if len(self._history) <= SHOWN:
            return self._history
        newest = self._history[-SHOWN // 2 :]
        best = sorted(self._history[: -SHOWN // 2], key=lambda entry: -(entry[1] or 0.0))[: SHOWN // 2]
        return [*best, *newest]

    def _frozen(self, point: Mapping[str, Scalar], rate: float) -> optuna.trial.FrozenTrial:
        params, distributions = {}, {}
        for name, parameter in self.space.varying.items():
            values = parameter.values_in(point)
            if len(values) > 1:
                label, distribution = _distribution(parameter, point, values)
                place = values.index(point[name])
                params[label] = place if isinstance(distribution, IntDistribution) else point[name]
                distributions[label] = distribution
        return create_trial(params=params, distributions=distributions, value=rate)

    def _suggestion(self, trial: optuna.Trial) -> dict[str, Scalar]:
        """One proposal, moved to the nearest legal point."""
        wish: dict[str, Scalar] = {}
        for name, parameter in self.space.parameters.items():
            values = parameter.values_in(wish) if parameter.by is None or parameter.by in wish else ()
            if len(values) == 1:
                wish[name] = values[0]
            elif values:
                label, distribution = _distribution(parameter, wish, values)
                if isinstance(distribution, IntDistribution):
                    wish[name] = values[trial.suggest_int(label, distribution.low, distribution.high)]
                else:
                    wish[name] = values[values.index(trial.suggest_categorical(label, values))]
        return self.space.nearest(wish)

    def _any(self) -> dict[str, Scalar] | None:
        """A legal point by chance, when TPE has nothing new around its favourites."""
        size = len(self.space)
        drawn = (self.space.point(self._chance.randrange(size)) for _ in range(200))
        return self.first_unseen(drawn) or (self.first_unseen(self.space) if size <= 50_000 else None)


def _distribution(
    parameter: Parameter, point: Mapping[str, Scalar], values: Sequence[Scalar]
) -> tuple[str, BaseDistribution]:
    """Name and kind of a parameter for Optuna: numbers by their place in order, all else as categories.

    A parameter that depends on another has one name for each case: Optuna wants a name's values to stay the same.
    """
    label = parameter.name if parameter.by is None else f"{parameter.name}@{point[parameter.by]}"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return label, IntDistribution(0, len(values) - 1)
    return label, CategoricalDistribution(values)
