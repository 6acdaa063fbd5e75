"""Trials of a study whose rates are planted, for tests of what is explained."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from engine_contract import SMALL
from record_builders import a_study, finished

from hpl.params import HplParams
from results.record import SIMULATOR, Kind, Study, TrialRecord
from results.store.store import Store
from search_spaces.load import space_text
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.model.fitting import Fitting
from tuner.engines.model.pool import Pool
from tuner.engines.probes import Probes
from tuner.explain.explanation import Explanation
from tuner.explain.taught_study import TaughtStudy
from tuner.options import TuneOptions

SWAPPING = SMALL + 'SWAP = ["bin", "long"]\n'


def records(space: SearchSpace, rate: Callable[[Point], float], count: int, noise: float = 0.002) -> list[TrialRecord]:
    """Full runs of so many configurations, drawn by chance."""
    chance = random.Random(0)  # noqa: S311 - not for secrets
    found = []
    for place in chance.sample(range(len(space)), min(count, len(space))):
        point = space.complete(space.point(place))
        gflops = rate(point) * math.exp(chance.gauss(0, noise))
        hpl = HplParams.from_words(point)
        found.append(finished(place, gflops, params=point, hpl=hpl, key=space.key(point), kind=Kind.SEARCH))
    return found


def simulated(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The same runs of a simulator: that configurations which HPL runs alike differ is no noise of a machine."""
    return [replace(trial, versions={**trial.versions, SIMULATOR: "SimGrid 3.32"}) for trial in trials]


def explain(
    space: SearchSpace,
    trials: Sequence[TrialRecord],
    probes: Probes | None = None,
    fit: Callable[[Pool], Fitting] = Fitting,
) -> Explanation:
    """What these trials taught the engine."""
    return TaughtStudy(space, trials, probes, fit).explanation


def trap(point: Point) -> float:
    """Two parameters that only gain together."""
    return 100.0 * (1.3 if point["NB"] == 64 and point["BCAST"] == "LnM" else 1.0 if point["NB"] == 192 else 0.9)


def searched(space: str, **changes: Any) -> Study:
    """A study of a shipped space."""
    return a_study(space_text=space_text(space), **{"options": TuneOptions().to_json(), **changes})


def keep(store: Store, study: Study, trials: Sequence[TrialRecord]) -> None:
    """Put a study and its trials into a store."""
    store.create_study(study)
    for record in trials:
        store.finish(replace(record, number=store.begin(record)))
