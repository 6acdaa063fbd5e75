"""Bayesian search: Optuna's TPE as a proposer that is fed from our own records, which are translated for it."""

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from hpl.params import Scalar, parse_grid
from search_spaces.blocks import dependants_last
from search_spaces.errors import SpaceError
from search_spaces.parameters.dimension import Point
from search_spaces.parameters.parameter import Parameter
from search_spaces.restriction import Restriction
from search_spaces.space import SearchSpace

from ..base import NOTHING_KNOWN, Engine, EngineContext
from ..outcomes import Outcome
from ..points import neighbours, starts

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

LEAST_ORDERED = 3
"""A parameter with fewer values has no order worth knowing."""


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


@dataclass(frozen=True)
class EncodedParameter:
    """A parameter as Optuna sees it: its name, Optuna's name for it, its legal values and their distribution."""

    name: str
    label: str
    values: tuple[Scalar, ...]
    distribution: IntDistribution | FloatDistribution | CategoricalDistribution

    def encoded(self, value: Scalar) -> Scalar:
        """Optuna's value for a legal value."""
        if isinstance(self.distribution, IntDistribution):
            return self.values.index(value)
        if isinstance(self.distribution, FloatDistribution):
            return (self.values.index(value) + 0.5) / len(self.values)
        return value

    def suggested(self, trial: optuna.Trial) -> Scalar:
        """The value that Optuna suggests."""
        if isinstance(self.distribution, IntDistribution):
            return self.values[trial.suggest_int(self.label, 0, len(self.values) - 1)]
        if isinstance(self.distribution, FloatDistribution):
            place = trial.suggest_float(self.label, 0.0, 1.0)
            return self.values[min(int(place * len(self.values)), len(self.values) - 1)]
        return self.values[self.values.index(trial.suggest_categorical(self.label, self.values))]


class Encoding:
    """Translates the points of one space.

    Numbers become their place in the parameter's order, all else a category. Optuna wants the values of a name to stay
    the same, so a parameter whose values depend on another has one name for each case ("kernel@openblas"), and so has
    a category of which fewer values are legal beside what was chosen before it ("blas@openblas|blis" for a layout that
    needs threads). The process grid is a place between the flattest and the tallest that is legal: so it means the
    same for any number of ranks.
    """

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._parameters = [space.parameters[name] for name in dependants_last(space.parameters, space.parameters)]
        self._rules = _rules(space, [parameter.name for parameter in self._parameters])
        self._legal: dict[tuple[Scalar, ...], tuple[Scalar, ...]] = {}

    def encode(self, point: Point) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
        """Optuna's parameters and distributions of a legal point."""
        params: dict[str, Any] = {}
        distributions: dict[str, BaseDistribution] = {}

        def known(question: EncodedParameter) -> Scalar:
            value = point[question.name]
            distributions[question.label] = question.distribution
            params[question.label] = question.encoded(value)
            return value

        self._walk(known)
        return params, distributions

    def suggest(self, trial: optuna.Trial) -> dict[str, Scalar]:
        """The point that Optuna proposes; it is nearly always legal."""
        return self._walk(lambda question: question.suggested(trial))

    def _walk(self, answer: Callable[["EncodedParameter"], Scalar]) -> dict[str, Scalar]:
        """A point, value by value; `answer` is asked where there is a choice."""
        point: dict[str, Scalar] = {}
        for parameter in self._parameters:
            question = self._question(parameter, point)
            if len(question.values) > 1:
                point[parameter.name] = answer(question)
            elif question.values:
                point[parameter.name] = question.values[0]
        return point

    def _question(self, parameter: Parameter, chosen: Point) -> "EncodedParameter":
        name = parameter.name
        values = parameter.values_in(chosen) if parameter.by is None or parameter.by in chosen else ()
        label = name if parameter.by is None else f"{name}@{chosen.get(parameter.by)}"
        if len(values) >= LEAST_ORDERED and all(map(_is_number, values)):
            return EncodedParameter(name, label, values, IntDistribution(0, len(values) - 1))
        legal = self._legal_values(name, values, chosen)
        if name == "grid":
            return EncodedParameter(name, label, tuple(sorted(legal, key=_rows)), FloatDistribution(0.0, 1.0))
        if len(legal) < len(values):
            label = f"{label}@{'|'.join(map(str, legal))}"
        return EncodedParameter(name, label, legal, CategoricalDistribution(legal or ("",)))

    def _legal_values(self, name: str, values: tuple[Scalar, ...], chosen: Point) -> tuple[Scalar, ...]:
        """The values that break no rule beside those chosen before; all of them if none is left."""
        rules = self._rules[name]
        needs = {need for rule in rules for need in rule.needs}
        place = (name, *values, *(value for need, value in chosen.items() if need in needs))
        if place not in self._legal:
            legal = tuple(value for value in values if not self._breaks(rules, {**chosen, name: value}))
            self._legal[place] = legal or values
        return self._legal[place]

    def _breaks(self, rules: Sequence[Restriction], point: Point) -> bool:
        try:
            full = self._space.complete(point)
        except SpaceError:
            return True
        return any(rule.why_broken(full, self._space.machine.running(full)) for rule in rules)


def _rules(space: SearchSpace, names: Sequence[str]) -> dict[str, list[Restriction]]:
    """For each parameter the rules that can be checked once it is chosen, and not before."""
    found: dict[str, list[Restriction]] = {name: [] for name in names}
    for rule in space.restrictions:
        present = [name for name in names if name in rule.needs]
        if len(present) > 1:
            found[present[-1]].append(rule)
    return found


def _rows(grid: Scalar) -> int:
    return parse_grid(str(grid))[0]


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
