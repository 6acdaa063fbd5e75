"""Runs Optuna's samplers unchanged: each parameter is a categorical choice, an illegal point a failed trial.

They stand beside our own engines for comparison. Only what the contract of an engine demands is added: a point is legal
and new. Where a sampler proposes a known point it is told its known rate once more, and asked again.
"""

import importlib.util
import random
import warnings

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ...errors import UsageError
from ..base import NOTHING_KNOWN, Engine, EngineContext
from ..outcomes import Outcome
from ..points import neighbours, with_fixed

TRIES = 40
"""Proposals in a row that may be illegal or known; then a legal point near the last one is taken."""
ABSENT = "-"


class OptunaPlain(Engine):
    """A sampler of Optuna over the raw parameters; each proposal rebuilds it from the outcomes so far.

    Attributes:
        most_known: proposals in a row that may be known before a legal point near the last one is taken.
    """

    most_known = TRIES

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        super().__init__(space, seed, context)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._history: list[FrozenTrial] = []

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        """The sampler, with a seed of its own for each proposal."""
        return optuna.samplers.TPESampler(seed=seed)

    def _propose(self) -> dict[str, Scalar] | None:
        chance = random.Random(f"{self.seed} {len(self._history)} {len(self._pending)}")  # noqa: S311 - not for secrets
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = optuna.create_study(direction="maximize", sampler=self.sampler(chance.randrange(2**31)))
            study.add_trials(self._history)
            wish: dict[str, Scalar] = {}
            known = 0
            for _ in range(TRIES):
                trial = study.ask(self._distributions())
                wish = with_fixed(self.space, {name: value for name, value in trial.params.items() if value != ABSENT})
                legal = self.space.why_not(wish) is None
                if legal and not self.seen(wish):
                    return wish
                known += legal
                if known == self.most_known:
                    break
                rate = self.rate(wish) if legal else None
                if rate is None:
                    study.tell(trial, state=TrialState.FAIL)
                else:
                    study.tell(trial, rate)
        near = self.space.nearest(wish)
        size = len(self.space)
        drawn = (self.space.point(chance.randrange(size)) for _ in range(1_000))
        return self.first_unseen([near, *neighbours(self.space, near)]) or self.first_unseen(drawn) or self._last()

    def _last(self) -> dict[str, Scalar] | None:
        return self.first_unseen(self.space) if len(self.space) <= 100_000 else None

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


class OptunaGp(OptunaPlain):
    """Optuna's Gaussian process; it needs torch, which hpltune does not install.

    A proposal takes it half a second and more, so it is not asked as often as TPE when it insists on known points.

    Raises:
        TunerError: torch is not there.
    """

    most_known = 5

    def __init__(self, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> None:
        if importlib.util.find_spec("torch") is None:
            raise UsageError(
                "⟦engine⟧ optuna-gp needs torch, a large package: pip install torch, or take ⟦engine⟧ hpl",
                field="engine",
            )
        super().__init__(space, seed, context)

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        """Optuna's GPSampler, told that runs differ."""
        return optuna.samplers.GPSampler(seed=seed, deterministic_objective=False)
