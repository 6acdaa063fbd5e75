"""SMAC3's random forest as a proposer; it needs the package smac, which hpltune does not install by itself."""

import importlib.util
import logging
import tempfile
from pathlib import Path
from typing import Any

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ...errors import UsageError
from ..base import NOTHING_KNOWN, Engine, EngineContext
from ..outcomes import Outcome
from ..points import neighbours, with_fixed

TRIES = 20
ABSENT = "-"
MANY = 10_000
"""Trials SMAC is told it may have; our own budget ends a study."""


class Smac(Engine):
    """Runs SMAC's hyperparameter optimisation over the raw parameters, each a categorical choice.

    A point that is illegal or fails costs as much as the worst run.

    Raises:
        TunerError: smac is not installed.
    """

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        if importlib.util.find_spec("smac") is None:
            raise UsageError(
                "⟦engine⟧ smac needs the package smac: pip install smac, or take ⟦engine⟧ hpl", field="engine"
            )
        self._folder = tempfile.TemporaryDirectory(prefix="hpltune-smac-")
        self._facade = _facade(space, seed, Path(self._folder.name))
        self._asked: dict[str, Any] = {}

    def _propose(self) -> dict[str, Scalar] | None:
        from smac.main.exceptions import ConfigurationSpaceExhaustedException  # noqa: PLC0415

        wish: dict[str, Scalar] = {}
        for _ in range(TRIES):
            try:
                info = self._facade.ask()
            except (ConfigurationSpaceExhaustedException, StopIteration):
                break
            wish = {name: self._value(name, int(number)) for name, number in dict(info.config).items()}
            wish = {name: value for name, value in wish.items() if value != ABSENT}
            legal = self.space.why_not(with_fixed(self.space, wish)) is None
            rate = self.rate(with_fixed(self.space, wish)) if legal else None
            if legal and not self.seen(with_fixed(self.space, wish)):
                self._asked[self.key(with_fixed(self.space, wish))] = info
                return with_fixed(self.space, wish)
            self._tell(info, rate)
        near = self.space.nearest(wish)
        return self.first_unseen([near, *neighbours(self.space, near)]) or self.first_unseen(self.space)

    def _learn(self, point: Point, outcome: Outcome) -> None:
        from smac.runhistory.dataclasses import TrialInfo  # noqa: PLC0415 - heavy, and seldom installed

        info = self._asked.pop(self.key(point), None)
        if info is None:
            values = {
                name: [*parameter.values, ABSENT].index(point.get(name, ABSENT))
                for name, parameter in self.space.varying.items()
            }
            from ConfigSpace import Configuration  # noqa: PLC0415

            info = TrialInfo(Configuration(self._facade.scenario.configspace, values=values), seed=0)
        self._tell(info, outcome.gflops)

    def _tell(self, info: Any, gflops: float | None) -> None:
        from smac.runhistory.dataclasses import TrialValue  # noqa: PLC0415

        rates = [self.rate(point) for point in self.history.points.values()]
        worst = min((rate for rate in rates if rate), default=1.0)
        cost = -worst if gflops is None else -gflops
        self._facade.tell(info, TrialValue(cost=cost), save=False)

    def _value(self, name: str, number: int) -> Scalar:
        values = self.space.parameters[name].values
        return values[number] if number < len(values) else ABSENT


def _facade(space: SearchSpace, seed: int, folder: Path) -> Any:
    from ConfigSpace import Categorical, ConfigurationSpace  # noqa: PLC0415
    from smac import HyperparameterOptimizationFacade, Scenario  # noqa: PLC0415

    logging.getLogger("smac").setLevel(logging.ERROR)
    spelled = ConfigurationSpace(seed=seed)
    for name, parameter in space.varying.items():
        count = len(parameter.values) + (1 if parameter.by else 0)
        spelled.add(Categorical(name, list(range(count))))
    scenario = Scenario(spelled, deterministic=True, n_trials=MANY, seed=seed, output_directory=folder)
    facade = HyperparameterOptimizationFacade
    return facade(
        scenario,
        lambda config, seed=0: 0.0,  # noqa: ARG005 - never called: trials are told
        initial_design=facade.get_initial_design(scenario, n_configs=min(10, max(2, len(space) // 10))),
        overwrite=True,
        logging_level=False,
    )
