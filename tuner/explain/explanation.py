"""Explains a study: which parameters matter, which interact, and what one-at-a-time tuning would have missed.

Everything is read off the model of the engine `hpl`, told all trials of the study; `variance.py` takes it apart.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, combinations, islice
from types import MappingProxyType

import numpy as np
from threadpoolctl import threadpool_limits

from hpl.params import Scalar
from results.record import TrialRecord, rates_of
from results.stats.confidence import rerank_by_posterior
from results.stats.disturbed_runs import DisturbedRuns
from results.stats.noise import noise_of
from results.stats.ranking import Ranked, is_full_run, rank, relative_sd
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.base import Engine, EngineContext
from ..engines.hpl.engine import HplEngine
from ..engines.model.covariance import FitError
from ..engines.model.fitting import Fitting
from ..engines.model.pool import Pool
from ..engines.outcomes import FULL
from ..engines.points import neighbours, own_point, with_value
from ..engines.probes import Probes
from ..errors import TunerError
from ..study.names import FEWEST_EXPLAINED
from ..trial.ladder import outcome_of
from ..words import counted
from .one_at_a_time import OneByOne, Way, mixed, one_by_one
from .posterior import Rates, climbed
from .variance import Effect, Landscape, Pair, deciders, effects, pairs

MOST_POINTS = 1_200
"""Configurations of a space that are crossed with each other."""
BASES = 20
"""Of these, those beside which each further parameter is changed."""
SAMPLE = 1_000
"""Configurations drawn from a large space that tell how much rates differ in all of it."""


@dataclass(frozen=True)
class Explanation:
    """All that a study learnt.

    Attributes:
        best, best_gflops: the configuration the model thinks fastest of those whose values ran, and its rate without
            noise; None where all runs were disturbed, which only tell that the machine can do as much.
        best_sd_percent: standard deviation of that rate; None where nothing tells by how much repeated runs differ.
        best_run: no. 1 of the ranking, which ran.
        best_ran: whether `best` had a full run that counts.
        confounded: pairs of parameters of which one always told the other in the runs.
        noise_percent: standard deviation of a repeated full run, by the model; at least that of those that were
            repeated.
        repeats_percent: standard deviation of those; None where no configuration ran twice.
        untested: values of the space that no run that counts had.
        alone: parameters of which only one value ran where others could, with that: nothing tells what they do.
        alone_with: of those of them whose legal values depend on another parameter, the values of that beside which
            they could be others, as "layout 2x1".
        runs: trials that gave a rate; `spent_s` seconds of all of them and of those that failed.
        disturbed: the sentence that says how many of these runs were disturbed; "" where none was.
    """

    effects: tuple[Effect, ...]
    pairs: tuple[Pair, ...]
    best: Mapping[str, Scalar]
    best_gflops: float | None
    best_sd_percent: float | None
    one_at_a_time: OneByOne
    noise_percent: float
    repeats_percent: float | None
    untested: Mapping[str, tuple[Scalar, ...]]
    alone: Mapping[str, Scalar]
    runs: int
    spent_s: float
    best_run: Mapping[str, Scalar]
    best_ran: bool
    confounded: tuple[tuple[str, str], ...] = ()
    alone_with: Mapping[str, str] = field(default_factory=dict)
    disturbed: str = ""

    @property
    def all_disturbed(self) -> bool:
        """Whether no other run than disturbed ones tells of any value."""
        return self.best_gflops is None

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that tell a configuration of this study from others: those that matter most first."""
        return (*(effect.name for effect in self.effects), *self.alone)

    def together(self, one: str, other: str) -> Pair | None:
        """What two parameters explain together, or None if no point that was looked at combines their values."""
        return next((pair for pair in self.pairs if {pair.one, pair.other} == {one, other}), None)


def taught(
    space: SearchSpace,
    records: Sequence[TrialRecord],
    probes: Probes | None = None,
    fit: Callable[[Pool], Fitting] = Fitting,
    shown: float = 0.0,
) -> tuple[HplEngine, list[TrialRecord]]:
    """The engine that knows all trials of a study, and those that gave a rate.

    Args:
        shown: noise of the machine from other runs, as in `noise_of`.

    Raises:
        TunerError: too few of this space did, or nothing varies.
    """
    engine = HplEngine(space, 0, EngineContext(probes=probes or Probes()), fit)
    outcomes = [outcome_of(record) for record in records]
    taken = [engine.tell(record.params, outcome) for record, outcome in zip(records, outcomes, strict=True)]
    rated = [
        (record, fits)
        for record, fits, outcome in zip(records, taken, outcomes, strict=True)
        if outcome.gflops is not None
    ]
    ran = [record for record, fits in rated if fits]
    if len(ran) < FEWEST_EXPLAINED:
        strange = f" and fit the space {space.name}" if len(ran) < len(rated) else ""
        raise TunerError(
            f"only {counted(len(ran), 'trial')} gave a rate that counts{strange}: at least {FEWEST_EXPLAINED} are "
            "needed to explain anything"
        )
    if not space.varying:
        raise TunerError("nothing varies in this space, so there is nothing to explain")
    if any(record.rates != "simulated" for record in records):
        engine.expect_noise(*_noise(rank(records), shown))
    return engine, ran


def _noise(ranking: Sequence[Ranked], shown: float) -> tuple[float, float]:
    """The standard deviation of a repeated run that counts on what is not known of it, and that of the repeats."""
    repeats = [np.log(entry.repeats) for entry in ranking if entry.repeats]
    return noise_of(repeats, shown).sd, relative_sd(ranking) or 0.0


@contextmanager
def described() -> Iterator[None]:
    """Run a block that needs a model of the rates; one thread is fastest for such small matrices.

    Raises:
        TunerError: there is none.
    """
    try:
        with threadpool_limits(1):
            yield
    except FitError as error:
        raise TunerError(f"no model describes the rates of these trials ({error}): nothing to explain") from error


def explained(engine: HplEngine, records: Sequence[TrialRecord], rated: Sequence[TrialRecord]) -> Explanation:
    """Explain a study by the engine that knows its trials.

    Args:
        rated: the trials that gave a rate. Where not all of them were disturbed, the others alone tell of values.

    Raises:
        FitError: no model describes the rates.
    """
    told = [record for record in rated if record.disturbed is None] or rated
    space, alone = engine.space, only_values(engine.space, told)
    ran = engine.model()[1].rows(filter(None, (own_point(space, record.params) for record in told))).codes
    process, pool, place = climbed(engine, ran)
    order = [pool.names[number] for number in np.argsort(-process.scales.amplitude)]
    points = looked_at(engine, pool, [name for name in order if name not in alone], pool.points[place], alone)
    anywhere = points if pool.whole and len(pool) <= MOST_POINTS else _anywhere(engine, alone)
    pool.add([*points, *anywhere])
    way = Way(engine)
    process, pool, best = climbed(
        engine, ran, lambda fastest: [*neighbours(engine.space, fastest), *mixed(engine, way.end, fastest)]
    )
    mean, sd = process.believed(pool.codes, pool.modelled(FULL))
    draws = Rates.of(process, pool, [pool.places[engine.key(point)] for point in (*points, *anywhere)]).draws
    whole = draws[:, len(points) :].var(axis=1)
    landscape = Landscape.over(space, pool, points, draws[:, : len(points)], whole)
    every = effects(landscape, space, told)
    found = tuple(effect for effect in every if len(effect.ran) > 1)
    single = {effect.name: effect.ran[0].value for effect in every if len(effect.ran) == 1}
    ranking = rerank_by_posterior(rank(records))
    repeats, disturbed = relative_sd(ranking), DisturbedRuns.of(rated)
    rate_known = any(record.disturbed is None for record in told)
    repeatable = repeats is not None or rates_of(told[0].versions) == "simulated"
    return Explanation(
        effects=found,
        pairs=pairs(landscape, pool, mean, found),
        best=pool.points[best],
        best_gflops=float(np.exp(mean[best])) if rate_known else None,
        best_sd_percent=100 * float(sd[best]) if rate_known and repeatable else None,
        one_at_a_time=one_by_one(engine, way, records, best, ran),
        noise_percent=100 * float(process.scales.noise[0]),
        repeats_percent=None if repeats is None else 100 * repeats,
        untested=_untested(space, told, every),
        alone=alone | single,
        alone_with=_beside(space, told, single),
        runs=len(rated),
        spent_s=sum(record.cost_s or 0.0 for record in records),
        best_run=ranking[0].params if ranking else {},
        best_ran=engine.key(pool.points[best]) in {space.key(entry.params) for entry in ranking},
        confounded=confounded([record.params for record in told], [one.name for one in found]),
        disturbed=disturbed.sentence() if disturbed.disturbed else "",
    )


def only_values(space: SearchSpace, records: Sequence[TrialRecord]) -> dict[str, Scalar]:
    """The parameters of a space that had one value in all runs, with it; smaller runs say nothing of N."""
    found = {}
    for name in space.varying:
        values = {
            record.params[name] for record in records if name in record.params and (name != "N" or is_full_run(record))
        }
        if len(values) == 1:
            found[name] = values.pop()
    return found


def _beside(space: SearchSpace, records: Sequence[TrialRecord], single: Mapping[str, Scalar]) -> dict[str, str]:
    """Name the values of the deciding parameter in the runs that had a value, where there is such a parameter."""
    found = {}
    for name, by in deciders(space).items():
        had = {
            str(record.params.get(by))
            for record in records
            if name in single and record.params.get(name) == single[name]
        }
        if had:
            found[name] = f"{by} {', '.join(sorted(had))}"
    return found


def _given(engine: Engine, point: Point, alone: Point) -> Point | None:
    """A point with the only values that ran, where it has these parameters; None where that is not legal."""
    moved: Point | None = point
    for name, value in alone.items():
        if moved is not None and moved.get(name, value) != value:
            moved = with_value(engine.space, moved, name, value)
    return moved if moved is not None and _has(moved, alone) else None


def _has(point: Point, alone: Point) -> bool:
    return all(point.get(name, value) == value for name, value in alone.items())


def _anywhere(engine: Engine, alone: Point) -> list[Point]:
    """Points of all of a large space, with the only values that ran."""
    space, chance = engine.space, np.random.default_rng(0)
    drawn = (space.point(int(number)) for number in chance.integers(len(space), size=SAMPLE))
    return [point for one in drawn if (point := _given(engine, one, alone)) is not None]


def confounded(ran: Sequence[Mapping[str, Scalar]], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of parameters of which one always told the other in the runs: their effects cannot be told apart.

    A parameter with a value of its own in most runs tells any other, which means nothing.

    Args:
        ran: the configurations that gave a rate.
        names: the parameters.
    """
    points = list({tuple((name, one.get(name)) for name in names): one for one in ran}.values())
    values = {name: {point.get(name) for point in points} for name in names}

    def tells(one: str, other: str) -> bool:
        pairs = {(point.get(one), point.get(other)) for point in points}
        return 2 * len(values[one]) <= len(points) and len(pairs) == len(values[one])

    varied = [name for name in names if len(values[name]) > 1]
    return tuple((one, other) for one, other in combinations(varied, 2) if tells(one, other) or tells(other, one))


def looked_at(
    engine: Engine, pool: Pool, order: Sequence[str], best: Point, alone: Point = MappingProxyType({})
) -> list[Point]:
    """Choose the points to explain: all of a small space that have the only values that ran.

    Of a large one those that differ from the best in the parameters that matter most, in all legal combinations of
    these, and beside some of them those that differ in one of the others.

    Args:
        order: the parameters, those that matter most first.
        alone: parameters of which only one value ran, with it.
    """
    space = engine.space
    if pool.whole and len(pool) <= MOST_POINTS:
        return [point for point in space if _has(point, alone)]
    chosen, left = [_given(engine, best, alone) or best], list[str]()
    for name in _with_dependants(space, order):
        crossed = list(islice(with_values(engine, chosen, name), MOST_POINTS + 1))
        if len(crossed) <= MOST_POINTS:
            chosen = crossed
        else:
            left.append(name)
    bases = chosen[:: max(1, len(chosen) // BASES)][:BASES]
    found = chain(chosen, *(with_values(engine, bases, name) for name in left))
    return list({frozenset(point.items()): point for point in found if _has(point, alone)}.values())


def with_values(engine: Engine, points: Iterable[Point], name: str) -> Iterator[Point]:
    """Points with each value of one parameter, and with what must change with it; each once."""
    values = engine.space.varying[name].values
    seen = set()
    for point in points:
        for value in values:
            moved = point if point.get(name) == value else with_value(engine.space, point, name, value)
            if moved is not None and (items := frozenset(moved.items())) not in seen:
                seen.add(items)
                yield moved


def _with_dependants(space: SearchSpace, order: Sequence[str]) -> list[str]:
    """The same order, with each dependent parameter right behind the one that it depends on."""
    behind = deciders(space)
    free = [name for name in order if behind.get(name) not in order]
    return [one for name in free for one in (name, *(other for other in order if behind.get(other) == name))]


def _untested(
    space: SearchSpace, records: Sequence[TrialRecord], found: Sequence[Effect]
) -> dict[str, tuple[Scalar, ...]]:
    """The values that no trial had, nor one that HPL treats alike."""
    ran = {effect.name: {value for each in effect.ran for value in (each.value, *each.alike)} for effect in found}
    untested = {}
    for name, parameter in space.varying.items():
        seen = {record.params.get(name) for record in records} | ran.get(name, set())
        left = tuple(value for value in parameter.values if value not in seen)
        if left:
            untested[name] = left
    return untested
