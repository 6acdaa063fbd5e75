"""The engine `hpl` after thousands of trials: what it remembers is bounded, and it is what matters."""

import random
import tracemalloc
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from engine_contract import LARGE, space_of
from landscape import Landscape
from present import present

from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.hpl_time import LinearModel
from tuner.engines.model.belief import Growth
from tuner.engines.model.covariance import Runs, Scales
from tuner.engines.model.fitting import FASTEST, MOST, NEWEST
from tuner.engines.model.pool import LARGEST, Axes, Pool
from tuner.engines.model.process import Process
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Rung
from tuner.engines.probes import Probes

SMALL_RUN = Rung(Fidelity.SMALL, 0.35)
LADDER = (SMALL_RUN, FULL)
MIDDLING = "".join(
    line for line in LARGE.splitlines(keepends=True) if line[:5] not in {"PFACT", "RFACT", "NBMIN", "SWAP "}
)
"""A space that is held whole."""
MANY = 2_000
"""Runs whose covariance takes 32 MB."""


def told(space: SearchSpace, trials: int, seed: int = 0) -> HplEngine:
    """An engine that was told of so many runs, drawn by chance."""
    engine, landscape = HplEngine(space, seed), Landscape(space, seed)
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    for _ in range(trials):
        point, rung = space.point(chance.randrange(len(space))), chance.choice(LADDER)
        tell(engine, landscape, point, rung)
    return engine


def tell(engine: HplEngine, landscape: Landscape, point: Point, rung: Rung) -> None:
    seconds = 60 * rung.operations
    engine.tell(point, Outcome(landscape.measure(point), seconds, rung=rung, cost_s=seconds + 5))


@pytest.fixture(scope="module")
def large() -> HplEngine:
    return told(space_of(LARGE), MANY)


@pytest.mark.heavy
def test_what_the_process_holds_does_not_grow_with_a_study(large: HplEngine) -> None:
    process, _ = large.model()
    assert len(process.runs) <= MOST


def test_an_ask_of_a_large_study_takes_no_more_memory_than_some_matrices_of_what_is_remembered(
    large: HplEngine,
) -> None:
    tracemalloc.start()
    question = large.choose(LADDER)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert question is not None
    assert peak_bytes < 150e6  # it needs a dozen matrices: of all runs each would have 32 MB


def test_a_large_study_remembers_its_fastest_and_its_newest_runs_and_every_value() -> None:
    space = space_of(MIDDLING)
    engine, landscape, chance = HplEngine(space, 0), Landscape(space, 0), random.Random(1)  # noqa: S311 - not for secrets
    points = [space.point(chance.randrange(len(space))) for _ in range(2 * MOST)]
    for point in points:
        tell(engine, landscape, point, FULL)
    process, pool = engine.model()
    kept = {tuple(row) for row in process.runs.codes.tolist()}
    fastest = sorted(points, key=landscape.rate, reverse=True)[: FASTEST // 2]
    wanted = [*points[-NEWEST:], *fastest]
    assert {tuple(pool.codes[pool.places[space.key(point)]].tolist()) for point in wanted} <= kept
    told_values = pool.codes[[pool.places[space.key(point)] for point in points]]
    for column, values in enumerate(told_values.T):
        assert set(values.tolist()) == {row[column] for row in kept}


@pytest.mark.heavy
def test_a_large_study_that_is_taken_up_again_goes_on_as_it_would_have() -> None:
    space = space_of(MIDDLING)
    went_on, landscape = told(space, MOST + 47), Landscape(space, 0)
    resumed = told(space, MOST + 47)
    for _ in range(5):
        question = present(went_on.choose(LADDER))
        seconds = 60 * question.rung.operations
        outcome = Outcome(landscape.rate(question.params), seconds, rung=question.rung, cost_s=seconds + 5)
        for engine in (went_on, resumed):
            engine.tell(question.params, outcome)
    assert resumed.choose(LADDER) == went_on.choose(LADDER)


@pytest.mark.heavy
def test_a_search_finds_something_faster_also_after_more_runs_than_it_remembers() -> None:
    space = space_of(MIDDLING)
    engine, landscape = told(space, 2 * MOST, seed=2), Landscape(space, 2)
    before = max(landscape.rate(point) for point in space if engine.key(point) in engine.history.rates)
    asked = []
    for _ in range(8):
        question = present(engine.choose((FULL,)))
        asked.append(landscape.rate(question.params))
        tell(engine, landscape, question.params, FULL)
    assert max(asked) > before


def test_repeats_taken_together_tell_what_they_tell_one_by_one() -> None:
    chance = np.random.default_rng(0)
    space = space_of(MIDDLING)
    axes = Axes(space)
    codes = np.array([axes.row(space.point(number)) for number in range(0, len(space), len(space) // 30)])
    tables, count = [axis.correlation() for axis in axes.axes], len(codes)
    prior = Scales.prior(axes.names, [False])
    runs = Runs(
        codes=codes, rung=chance.integers(0, 2, count), log_rate=chance.normal(4.0, 0.1, count),
        slopes=chance.normal(0, 0.1, (count, 3)), session=chance.integers(0, 2, count), present=1, count=np.ones(count),
        scatter=np.zeros(count), unsure=np.zeros(count), elsewhere=np.array([False, False]),
    )  # fmt: skip
    repeats = chance.integers(1, 5, count)
    which = np.repeat(np.arange(count), repeats)
    rates = runs.log_rate[which] + chance.normal(0, 0.02, len(which))
    means = np.bincount(which, rates) / repeats
    together = replace(
        runs,
        log_rate=means,
        count=repeats.astype(float),
        scatter=np.bincount(which, (rates - means[which]) ** 2).astype(float),
    )
    one_by_one = replace(
        runs, codes=codes[which], rung=runs.rung[which], log_rate=rates, slopes=runs.slopes[which],
        session=runs.session[which], count=np.ones(len(which)), scatter=np.zeros(len(which)),
        unsure=np.zeros(len(which)),
    )  # fmt: skip
    fitted = [Process(some, tables, prior, prior).fitted() for some in (together, one_by_one)]
    np.testing.assert_allclose(fitted[0].scales.logs(), fitted[1].scales.logs(), atol=1e-3)
    anywhere = LinearModel(np.zeros(count), runs.slopes)
    beliefs = [Process(some, tables, prior, prior).believed(codes, anywhere) for some in (together, one_by_one)]
    np.testing.assert_allclose(beliefs[0], beliefs[1], rtol=1e-6)


@pytest.mark.heavy
def test_a_pool_that_is_full_lets_go_of_what_looks_worst_and_was_never_asked() -> None:
    space = space_of(LARGE)
    chance = np.random.default_rng(0)
    pool = Pool(space, 0, Probes())
    taken = set(range(0, 2_000, 10))
    before = [dict(pool.points[place]) for place in sorted(taken)]
    numbers = iter(chance.permutation(len(space)).tolist())
    growth = Growth(pool, lambda _: [space.point(number) for number in islice(numbers, 700)], lambda: taken)
    pool.modelled(FULL)
    for _ in range(3):
        assert growth.took_in_around(chance.normal(size=len(pool)))
    assert LARGEST == len(pool) < len(space)
    assert [pool.points[place] for place in sorted(taken)] == before
    assert pool.places == {space.key(point): place for place, point in enumerate(pool.points)}
    np.testing.assert_array_equal(pool.codes, pool.rows(pool.points).codes)
    np.testing.assert_allclose(pool.modelled(FULL).mean, pool.modelled_at(range(len(pool)), FULL).mean)
