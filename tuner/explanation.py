"""What a study learnt: which parameters matter, which go together, and what one-at-a-time tuning would have missed.

Everything is read off the model of the engine `hpl`, told all trials of the study; `variance.py` takes it apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from results.record import TrialRecord
from search_spaces.dimension import Scalar
from search_spaces.space import SearchSpace

from .engines.base import Outcome
from .engines.fidelity import FULL
from .engines.learned import Learned
from .engines.one_at_a_time import OneAtATime
from .engines.surrogate.pool import Pool
from .engines.surrogate.probes import Probes
from .engines.surrogate.process import FitError
from .errors import TunerError
from .ladder import outcome_of
from .variance import Effect, Landscape, Pair, effects, pairs

DRAWS = 60
FEWEST = 5
"""Runs below which there is nothing to explain."""
MOST_POINTS = 1_200
"""Configurations of a space that are crossed with each other."""
BASES = 20
"""Of these, those beside which each further parameter is changed."""
STEPS = 400
"""Configurations one-at-a-time tuning may look at."""


@dataclass(frozen=True)
class Explanation:
    """All that a study learnt.

    Attributes:
        best, best_gflops: the configuration the model thinks fastest, and its rate without noise.
        alone, alone_percent: what one-at-a-time tuning would have ended at, and how far below the best, in percent.
        noise_percent: standard deviation of a repeated full run.
        untested: values of the space that no trial had.
    """

    effects: tuple[Effect, ...]
    pairs: tuple[Pair, ...]
    best: Mapping[str, Scalar]
    best_gflops: float
    best_sd_percent: float
    alone: Mapping[str, Scalar]
    alone_percent: float
    noise_percent: float
    untested: Mapping[str, tuple[Scalar, ...]]
    runs: int


def explain(space: SearchSpace, records: Sequence[TrialRecord], nodes: int = 1) -> Explanation:
    """Explain a study.

    Args:
        nodes: of the real or virtual cluster that it ran on.

    Raises:
        TunerError: too few trials of this space gave a rate, nothing varies, or no model describes the rates.
    """
    engine = Learned(space, 0, {"probes": Probes(nodes=nodes)})
    outcomes = [outcome_of(record) for record in records]
    taken = [engine.tell(record.params, outcome) for record, outcome in zip(records, outcomes, strict=True)]
    rated = [fits for fits, outcome in zip(taken, outcomes, strict=True) if outcome.gflops is not None]
    counted = sum(rated)
    if counted < FEWEST:
        strange = f" and fit the space {space.name}" if counted < len(rated) else ""
        raise TunerError(
            f"only {counted} trials gave a rate{strange}: at least {FEWEST} are needed to explain anything"
        )
    if not space.varying:
        raise TunerError("nothing varies in this space, so there is nothing to explain")
    try:
        return _explained(space, records, engine, counted)
    except FitError as error:
        raise TunerError(f"no model describes the rates of these trials ({error}): nothing to explain") from error


def _explained(space: SearchSpace, records: Sequence[TrialRecord], engine: Learned, runs: int) -> Explanation:
    process, pool = engine.model()
    mean, sd = process.believed(pool.codes, pool.modelled(FULL))
    best = int(np.argmax(mean))
    order = [pool.names[number] for number in np.argsort(-process.scales.amplitude)]
    chosen = looked_at(space, pool, order, pool.points[best])
    alone = _one_at_a_time(space, engine)
    alone_gflops = engine.expected_gflops(alone)
    process, _ = engine.model()
    mean, sd = process.believed(pool.codes, pool.modelled(FULL))
    codes = pool.codes[chosen]
    landscape = Landscape(
        names=pool.names,
        labels=pool.labels(),
        codes=codes,
        draws=process.draws(codes, pool.modelled(FULL).of(chosen), DRAWS, np.random.default_rng(0)),
        active=pool.active()[chosen],
    )
    found = effects(landscape, space, records)
    return Explanation(
        effects=found,
        pairs=pairs(landscape, pool, mean, found),
        best=pool.points[best],
        best_gflops=float(np.exp(mean[best])),
        best_sd_percent=100 * float(sd[best]),
        alone=alone,
        alone_percent=100 * (1 - alone_gflops / float(np.exp(mean[best]))),
        noise_percent=100 * float(process.scales.noise[0]),
        untested=_untested(space, records),
        runs=runs,
    )


def looked_at(space: SearchSpace, pool: Pool, order: Sequence[str], best: Mapping[str, Scalar]) -> NDArray[np.intp]:
    """The configurations to explain: all of a small space.

    Of a large one those that differ from the best in the parameters that matter most, in all combinations of these, and
    beside some of them those that differ in one of the others.

    Args:
        order: the parameters, those that matter most first.
    """
    if pool.whole and len(pool) <= MOST_POINTS:
        return np.arange(len(pool))
    crossed: list[str] = []
    for name in _with_dependants(space, order):
        if prod(len(space.varying[one].values) for one in (*crossed, name)) <= MOST_POINTS:
            crossed.append(name)
    values = [space.varying[name].values for name in crossed]
    chosen = _legal(space, ({**best, **dict(zip(crossed, words, strict=True))} for words in product(*values)))
    for name in space.varying:
        if name not in crossed:
            bases = chosen[:: max(1, len(chosen) // BASES)][:BASES]
            chosen += _legal(space, ({**base, name: value} for base in bases for value in space.varying[name].values))
    pool.add(chosen)
    return np.array(sorted({pool.places[space.key(point)] for point in chosen}), dtype=np.intp)


def _with_dependants(space: SearchSpace, order: Sequence[str]) -> list[str]:
    """The same order, with each parameter that depends on another right behind that."""
    free = [name for name in order if space.varying[name].by not in space.varying]
    return [one for name in free for one in (name, *(other for other in order if space.varying[other].by == name))]


def _legal(space: SearchSpace, points: Iterable[Mapping[str, Scalar]]) -> list[Mapping[str, Scalar]]:
    return [point for point in points if space.why_not(point) is None]


def _one_at_a_time(space: SearchSpace, engine: Learned) -> dict[str, Scalar]:
    """Where sweeping one parameter after the other would end if rates were what the model thinks they are."""
    walker = OneAtATime(space, 0, {})
    for _ in range(STEPS):
        point = walker.ask()
        if point is None:
            break
        walker.tell(point, Outcome(engine.expected_gflops(point)))
    choice = walker.choice()
    return {} if choice is None else choice


def _untested(space: SearchSpace, records: Sequence[TrialRecord]) -> dict[str, tuple[Scalar, ...]]:
    found = {}
    for name, parameter in space.varying.items():
        seen = {record.params.get(name) for record in records}
        left = tuple(value for value in parameter.values if value not in seen)
        if left:
            found[name] = left
    return found
