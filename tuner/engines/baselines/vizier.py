"""Vizier's Gaussian process as a proposer; it needs google-vizier with jax, which hpltune does not install."""

import importlib.util
import warnings
from collections.abc import Mapping
from typing import Any

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ...errors import UsageError
from ..base import NOTHING_KNOWN, Engine, EngineContext
from ..outcomes import Outcome
from ..points import neighbours, with_fixed

TRIES = 3
"""Proposals in a row that may be illegal or known, each of which takes seconds; then a legal point near the last one is
taken."""
ABSENT = "-"
METRIC = "gflops"


class Vizier(Engine):
    """Runs Vizier's default, a Gaussian process with upper confidence bounds, over categories of raw parameters.

    An illegal point and one that fails are told as infeasible.

    Raises:
        TunerError: Vizier or jax is not installed.
    """

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        if any(importlib.util.find_spec(name) is None for name in ("vizier", "jax")):
            raise UsageError(
                '⟦engine⟧ vizier needs Vizier and jax: pip install "google-vizier[jax]" "jax<0.5" "jaxlib<0.5" '
                '"numpy<2.2", or take ⟦engine⟧ hpl',
                field="engine",
            )
        self._told = 0
        self._designer = _designer(space, seed)

    def _propose(self) -> dict[str, Scalar] | None:
        wish: dict[str, Scalar] = {}
        for _ in range(TRIES):
            asked = self._ask()
            values = {name: self._value(name, int(number)) for name, number in asked.items()}
            wish = with_fixed(self.space, {name: value for name, value in values.items() if value != ABSENT})
            legal = self.space.why_not(wish) is None
            if legal and not self.seen(wish):
                return wish
            self._tell(asked, self.rate(wish) if legal else None)
        near = self.space.nearest(wish)
        return self.first_unseen([near, *neighbours(self.space, near)]) or self.first_unseen(self.space)

    def _learn(self, point: Point, outcome: Outcome) -> None:
        numbers = {
            name: str([*parameter.values, ABSENT].index(point.get(name, ABSENT)))
            for name, parameter in self.space.varying.items()
        }
        self._tell(numbers, outcome.gflops)

    def _ask(self) -> dict[str, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (suggestion,) = self._designer.suggest(1)
        return {name: str(suggestion.parameters.get_value(name)) for name in suggestion.parameters}

    def _tell(self, numbers: Mapping[str, str], gflops: float | None) -> None:
        from vizier import algorithms, pyvizier  # noqa: PLC0415 - heavy, and seldom installed

        self._told += 1
        trial = pyvizier.TrialSuggestion(dict(numbers)).to_trial(self._told)
        if gflops is None:
            trial.complete(pyvizier.Measurement(), infeasibility_reason="it cannot run")
        else:
            trial.complete(pyvizier.Measurement(metrics={METRIC: gflops}))
        self._designer.update(algorithms.CompletedTrials([trial]), algorithms.ActiveTrials())

    def _value(self, name: str, number: int) -> Scalar:
        values = self.space.parameters[name].values
        return values[number] if number < len(values) else ABSENT


def _designer(space: SearchSpace, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vizier import pyvizier  # noqa: PLC0415
        from vizier._src.algorithms.designers.gp_bandit import VizierGPBandit  # noqa: PLC0415 - the public name wants cvxpy

        problem = pyvizier.ProblemStatement()
        for name, parameter in space.varying.items():
            count = len(parameter.values) + (1 if parameter.by else 0)
            problem.search_space.root.add_categorical_param(name, [str(number) for number in range(count)])
        goal = pyvizier.ObjectiveMetricGoal.MAXIMIZE
        problem.metric_information.append(pyvizier.MetricInformation(METRIC, goal=goal))
        return VizierGPBandit.from_problem(problem, seed=seed)
