"""Populations of nodes and pairs that have all figures that the talk prints, and are otherwise drawn with a seed."""

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from scipy import optimize, stats
from talk_printed import (
    CHASSIS,
    HPL,
    HPL_WITHOUT,
    IP,
    IP_AT_ONCE,
    IP_LOWEST,
    IP_WITHOUT,
    MYRINET,
    MYRINET_AT_ONCE,
    MYRINET_LOWEST,
    NODES,
    OPENMP,
    OTHER_MEMORY,
    SERIAL,
    STREAM,
    STREAM_PAIRS,
    WITH_C,
    WITH_C_OMP,
    WITH_F,
    Printed,
    pairs_printed,
)

from results.node_check import Pair, PairRate, pairs_of

Array = np.ndarray[tuple[int], np.dtype[np.float64]]
Values = dict[str, float]
APART = 6.5
"""Distance of two populations in standard deviations; the printed figures of CG need about that."""
INSIDE = 15.0
"""The same of the rates of pairs of one chassis and of two: 100 and 88 MB/s over GigE (slide 79)."""
TWO_POPULATIONS = {"c.ppc64", "f.ppc64", "cg.B.ppc64"}


def population(printed: Printed, shape: Array, lowest: Sequence[float] = ()) -> Array:
    """Return sorted values with the printed count, low, high, mean, median and standard deviation.

    The values of a shape are moved above and below the median by two factors, which the mean and the standard
    deviation determine.

    Args:
        shape: as many values as are printed; only their form matters.
        lowest: values that are printed one by one; none means the lowest only.

    Raises:
        ValueError: no values of this shape have these figures.
    """
    count, middle = printed.count, printed.middle
    low = np.sort(lowest) if len(lowest) else np.array([printed.low])
    form = np.sort(shape) - np.median(shape)
    found = np.empty(count)
    below, above = slice(len(low), (count - 1) // 2), slice(count // 2 + 1, count - 1)

    def fill(factors: Array) -> Array:
        found[:] = middle
        found[: len(low)], found[-1] = low, printed.high
        found[below] = np.clip(middle + math.exp(factors[0]) * form[below], low[-1], middle)
        found[above] = np.clip(middle + math.exp(factors[1]) * form[above], middle, printed.high)
        return found

    def miss(factors: Array) -> Array:
        values = fill(factors)
        return np.array([values.mean() - printed.mean, values.std(ddof=1) - printed.sd]) / printed.sd

    scale = math.log(printed.sd / max(1e-9, float(form.std())))
    best = min(
        (optimize.least_squares(miss, (scale + x, scale + y)) for x in (-3, -1, 0, 1) for y in (-3, -1, 0, 1)),
        key=lambda one: float(one.cost),
    )
    values = fill(best.x).copy()
    if max(abs(best.fun)) > 0.02:
        raise ValueError(f"{printed.name} of slide {printed.slide}: {best.fun}")
    return values


def four(printed: Printed) -> Array:
    """Return the four results behind a line of slide 22: the median of STAB is the third of four."""
    second = 4 * printed.mean - printed.low - printed.high - printed.middle
    return np.array([printed.low, second, printed.middle, printed.high])


def _shape(printed: Printed, chance: np.random.Generator) -> Array:
    values = chance.normal(size=printed.count)
    if printed.name in TWO_POPULATIONS:
        values[: len(OTHER_MEMORY)] += APART
    return values


def given_to_nodes(values: Array, nodes: Sequence[str], wanted: Sequence[tuple[Values, float]], seed: int) -> Values:
    """Give sorted values to nodes so that they correlate with those of other benchmarks as is wanted."""
    chance = np.random.default_rng(seed)
    known = [_standard(np.array([own[node] for node in nodes])) for own, _ in wanted]
    aims = np.array([r for _, r in wanted])
    noise = _standard(chance.normal(size=len(nodes)))

    def given(weights: Array) -> Array:
        both = sum((w * one for w, one in zip(weights, known, strict=True)), np.zeros(len(nodes)))
        rest = math.sqrt(max(1e-4, 1.0 - float(both.var())))
        found = np.empty(len(nodes))
        found[np.argsort(both + rest * noise)] = np.sort(values)
        return found

    weights = aims.copy()
    best, least = given(weights), math.inf
    for _ in range(300):
        found = given(weights)
        miss = aims - np.array([np.corrcoef(one, found)[0, 1] for one in known])
        if float(abs(miss).max()) < least:
            best, least = found, float(abs(miss).max())
        weights = weights + 0.3 * miss
    return dict(zip(nodes, map(float, best), strict=True))


def _standard(values: Array) -> Array:
    return np.asarray((values - values.mean()) / values.std())


@cache
def nodes_rebuilt() -> Mapping[str, Values]:
    """Return results by benchmark and node: STREAM, NPB serial ("bt serial"), NPB OpenMP ("bt openmp") and HPL."""
    chance = np.random.default_rng(2005)
    c, c_omp, f = (population(one, _shape(one, chance)) for one in STREAM)
    rest = [node for node in NODES if node not in OTHER_MEMORY]
    drawn = [*chance.permutation(rest), *chance.permutation(OTHER_MEMORY)]
    found: dict[str, Values] = {"c": dict(zip(map(str, drawn), map(float, c), strict=True))}
    found["f"] = given_to_nodes(f, NODES, [(found["c"], STREAM_PAIRS["c", "f"])], 1)
    with_both = [(found["c"], STREAM_PAIRS["c", "c_omp"]), (found["f"], STREAM_PAIRS["f", "c_omp"])]
    found["c_omp"] = given_to_nodes(c_omp, NODES, with_both, 2)
    for seed, one in enumerate((*SERIAL, *OPENMP), start=3):
        name, values = one.name.split(".")[0], population(one, _shape(one, chance))
        if one in SERIAL:
            found[f"{name} serial"] = given_to_nodes(values, NODES, [(found["c"], WITH_C[name][0])], seed)
        else:
            aims = [(found["f"], WITH_F[name][0]), (found["c_omp"], WITH_C_OMP[name][0])]
            found[f"{name} openmp"] = given_to_nodes(values, NODES, aims, seed)
    nodes = chance.permutation([node for node in NODES if node not in HPL_WITHOUT])
    found["hpl"] = dict(zip(map(str, nodes), map(float, population(HPL, _shape(HPL, chance))), strict=True))
    return found


def _pairs_of_talk(pattern: str, nodes: Sequence[str], printed: Sequence[tuple[float, str, str]]) -> list[Pair]:
    """The pairs of a pattern; of shuffled ones those that are printed, and others drawn."""
    if pattern != "shuffle":
        return pairs_of(pattern, nodes)
    known = [(one, other) for _, one, other in printed]
    named = {node for pair in known for node in pair}
    return [*known, *pairs_of("shuffle", [node for node in nodes if node not in named], 1)]


def _rates(
    figures: Mapping[str, Printed], lowest: Mapping[str, str], without: Sequence[str], network: str
) -> list[PairRate]:
    """Rates with the printed figures; the slowest pairs are those that are printed, and pairs of one chassis are
    the fastest."""
    chance = np.random.default_rng(2005)
    nodes = [node for node in NODES if node not in without]
    found = []
    for pattern, printed in figures.items():
        slow = pairs_printed(lowest[pattern])
        known = {frozenset(pair): rate for rate, *pair in slow}
        pairs = _pairs_of_talk(pattern, nodes, slow)
        others = [pair for pair in pairs if frozenset(pair) not in known]
        shape = chance.normal(size=printed.count)
        if pattern != "sorted" and network == "ip":
            shape[: sum(CHASSIS[one] == CHASSIS[other] for one, other in others)] += INSIDE
        values = population(printed, shape, [rate for rate, *_ in slow])
        order = sorted(others, key=lambda pair: (CHASSIS[pair[0]] == CHASSIS[pair[1]], chance.random()))
        rates = dict(zip(order, values[len(slow) :], strict=True))
        found += [PairRate(pattern, *pair, known.get(frozenset(pair), 0.0) or float(rates[pair]), network)
                  for pair in pairs]  # fmt: skip
    return found


@cache
def pairs_rebuilt() -> tuple[PairRate, ...]:
    """Return the rates of both networks, one pair at a time."""
    return (*_rates(MYRINET, MYRINET_LOWEST, (), "myrinet"), *_rates(IP, IP_LOWEST, IP_WITHOUT, "ip"))


@cache
def pairs_at_once_rebuilt() -> tuple[PairRate, ...]:
    """Return the rates while all pairs of the pattern cut send; which pair has which rate is not printed."""
    chance = np.random.default_rng(2006)
    found = []
    for printed, network, without in ((MYRINET_AT_ONCE, "myrinet", ()), (IP_AT_ONCE, "ip", IP_WITHOUT)):
        pairs = pairs_of("cut", [node for node in NODES if node not in without])
        shape = chance.normal(size=printed.count) if network == "myrinet" else chance.exponential(size=printed.count)
        values = chance.permutation(population(printed, shape))
        found += [PairRate("cut", *pair, float(rate), network) for pair, rate in zip(pairs, values, strict=True)]
    return tuple(found)


def figures() -> list[tuple[Printed, str]]:
    """Return the printed lines of nodes, each with the name of its rebuilt population."""
    return [
        *zip(STREAM, ("c", "c_omp", "f"), strict=True),
        *((one, f"{one.name.split('.')[0]} serial") for one in SERIAL),
        *((one, f"{one.name.split('.')[0]} openmp") for one in OPENMP),
        (HPL, "hpl"),
    ]


def linear(one: Values, other: Values) -> tuple[float, float]:
    """Pearson's coefficient, and the probability that chance gives it."""
    nodes = sorted(one.keys() & other.keys())
    found = stats.pearsonr([one[node] for node in nodes], [other[node] for node in nodes])
    return float(found.statistic), float(found.pvalue)
