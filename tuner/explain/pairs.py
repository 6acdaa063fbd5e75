"""Crosses two parameters: the rate of each combination, and the best value of the one for each of the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hpl.params import Scalar
from results.record import TrialRecord
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.hpl.engine import HplEngine
from ..engines.model.pool import Pool
from ..engines.model.process import Process
from ..engines.outcomes import FULL
from ..engines.points import neighbours
from ..errors import UsageError
from .explanation import with_values
from .posterior import NOT_LEGAL, Rates, climbed
from .variance import Pair

DRAWS = 400
"""Enough to tell how often a value is the best one to a few percent."""
Names = tuple[str, str]
Values = tuple[Scalar, Scalar]


@dataclass(frozen=True)
class Choice:
    """The best value of a parameter where another has a certain one; `sure` is the probability that it is, 0 to 1."""

    value: Scalar
    sure: float


@dataclass(frozen=True)
class Crossing:
    """Two parameters in all combinations, each with the best values of all other parameters.

    Attributes:
        ones, others: the values that are in some combination.
        percent, sd: how far the rate is from the best of all, at most 0, a row for each of `ones`, a column for each of
            `others`; None where the combination is not legal.
        runs: trials that had it.
        best_other: for each of `ones`; `best_one` for each of `others`.
        together: what both explain only together; None where that was not looked at.
    """

    one: str
    other: str
    ones: tuple[Scalar, ...]
    others: tuple[Scalar, ...]
    percent: tuple[tuple[float | None, ...], ...]
    sd: tuple[tuple[float | None, ...], ...]
    runs: tuple[tuple[int, ...], ...]
    best_other: tuple[Choice, ...]
    best_one: tuple[Choice, ...]
    together: Pair | None


def parse_pair(text: str, space: SearchSpace) -> Names:
    """The two parameters that `--pair` names.

    Raises:
        TunerError: they are not two, or one of them does not vary.
    """
    names, varying = [name.strip() for name in text.split(",")], list(space.varying)
    if len(varying) < 2:
        only = f"only {varying[0]}" if varying else "nothing"
        raise UsageError(f"{only} varies in this study, so there is no pair", field="pair", given=text)
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise UsageError(
            f"write two of {', '.join(varying)}, as ⟦pair⟧ {','.join(varying[:2])}", field="pair", given=text
        )
    for name in names:
        if name not in varying:
            raise UsageError(f"{name} does not vary in this study, only {', '.join(varying)}", field="pair", given=text)
    return names[0], names[1]


def crossed(engine: HplEngine, records: Sequence[TrialRecord], names: Names, together: Pair | None) -> Crossing:
    """Cross two varying parameters of a study by the engine that knows its trials.

    Args:
        together: what both explain only together.

    Raises:
        FitError: no model describes the rates.
    """
    one, other = names
    process, pool, fastest = _fastest(engine, names)
    numbers = {values: number for number, values in enumerate(fastest)}
    rates = Rates.of(process, pool, list(fastest.values()), DRAWS)
    best = int(np.argmax(rates.mean))
    ones = [value for value in engine.space.varying[one].values if any(value == values[0] for values in fastest)]
    others = [value for value in engine.space.varying[other].values if any(value == values[1] for values in fastest)]
    table = [[numbers.get((mine, theirs)) for theirs in others] for mine in ones]
    cells = [[NOT_LEGAL if cell is None else rates.above(cell, best) for cell in row] for row in table]
    had = [(record.params.get(one), record.params.get(other)) for record in records]
    return Crossing(
        one,
        other,
        tuple(ones),
        tuple(others),
        percent=tuple(tuple(percent for percent, _ in row) for row in cells),
        sd=tuple(tuple(sd for _, sd in row) for row in cells),
        runs=tuple(tuple(had.count((mine, theirs)) for theirs in others) for mine in ones),
        best_other=tuple(_choice(rates, row, others) for row in table),
        best_one=tuple(_choice(rates, column, ones) for column in zip(*table, strict=True)),
        together=together,
    )


def _choice(rates: Rates, cells: Sequence[int | None], values: Sequence[Scalar]) -> Choice:
    """The best of some combinations, of which at least one is legal."""
    legal = [(number, value) for number, value in zip(cells, values, strict=True) if number is not None]
    numbers = [number for number, _ in legal]
    best = int(np.argmax(rates.mean[numbers]))
    return Choice(legal[best][1], float(np.mean(rates.draws[:, numbers].argmax(axis=1) == best)))


def _fastest(engine: HplEngine, names: Names) -> tuple[Process, Pool, dict[Values, int]]:
    """The model, and the place of the fastest configuration of each combination.

    In a space too large to hold each of them is climbed to, from the best of all.
    """
    process, pool, best = climbed(engine)
    start = pool.points[best]
    among = list(engine.space) if pool.whole else list(_combined(engine, start, names))
    pool.add(among)
    climbed_from = set[int]()
    while True:
        process, pool = engine.model()
        found = _by_values(engine, process, pool, names, among if pool.whole else [*pool.points, *among])
        left = set() if pool.whole else set(found.values()) - climbed_from
        if not left:
            return process, pool, found
        climbed_from |= left
        for place in sorted(left):
            pool.add(neighbours(engine.space, pool.points[place], held=names))


def _combined(engine: HplEngine, point: Point, names: Names) -> Iterator[Point]:
    """The legal points with each two values of both parameters, and with what must follow."""
    for one, other in (names, names[::-1]):
        yield from with_values(engine, with_values(engine, [point], one), other)


def _by_values(
    engine: HplEngine, process: Process, pool: Pool, names: Names, points: Sequence[Point]
) -> dict[Values, int]:
    mean = process.expected(pool.codes, pool.modelled(FULL), 0)
    found: dict[Values, int] = {}
    for point in points:
        if all(name in point for name in names):
            values, place = (point[names[0]], point[names[1]]), pool.places[engine.key(point)]
            if values not in found or mean[place] > mean[found[values]]:
                found[values] = place
    return found
