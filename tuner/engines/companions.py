"""Chooses configurations that share a launch: the lists of one HPL.dat grow value by value, while that pays."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hpl.dat import HplDat
from hpl.params import HplParams, Scalar
from results.stats.intervals import non_negative
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from .outcomes import Rung

LISTS = ("N", "NB", "grid", "PFACT", "NBMIN", "NDIV", "RFACT", "BCAST", "DEPTH")
"""Parameters that have a list in HPL.dat."""
MOST_VALUES = 24
"""Values of a parameter that are looked at, evenly spread where it has more: neighbours tell nearly the same."""
STARTING = 0.5
"""Of what a launch takes beside HPL's time, the part that is taken for starting where all launches were alike."""
Group = list[dict[str, Scalar]]


def extensions(space: SearchSpace, batch: Sequence[Point], most: int) -> Iterator[Group]:
    """Yield the groups of legal points that one more value in one list of HPL.dat would add to a launch.

    Args:
        batch: points whose HPL.dat is the product of its lists; at least one.
        most: points that such a group may have.
    """
    asked = [launched(space, point) for point in batch]
    for name in LISTS:
        if name not in space.varying or name not in batch[0]:
            continue
        present = {point[name] for point in batch}
        row = [point for point in batch if point[name] == batch[0][name]]
        if len(row) > most:
            continue
        values = space.parameters[name].values_in(batch[0])
        for value in values[:: -(-len(values) // MOST_VALUES)]:
            group = [{**point, name: value} for point in row]
            if value in present or any(space.why_not(point) is not None for point in group):
                continue
            if alike([*asked, *(launched(space, point) for point in group)]):
                yield group


def launched(space: SearchSpace, point: Point) -> tuple[HplParams, dict[str, Scalar]]:
    """A point's parameters of HPL, and those that have no list in HPL.dat."""
    complete = space.complete(point)
    beside = {name: value for name, value in complete.items() if name not in LISTS}
    return HplParams.from_words(complete), beside


def alike(asked: Sequence[tuple[HplParams, dict[str, Scalar]]]) -> bool:
    """Whether one HPL.dat can hold exactly these, which differ in nothing else."""
    first = asked[0][1]
    return all(beside == first for _, beside in asked) and HplDat.together([one for one, _ in asked]) is not None


def gathered(
    space: SearchSpace,
    first: Point,
    most: int,
    worth: Callable[[Sequence[Point], Sequence[Group]], Sequence[float]],
    least: float,
) -> Group:
    """Choose the companions of a point: add the group that is worth most per second, as long as it is worth enough.

    Args:
        most: how many at most.
        worth: of each of some groups, after the points that are in the launch already.
        least: worth below which nothing more joins.
    """
    batch: Group = [dict(first)]
    while True:
        groups = list(extensions(space, batch, most + 1 - len(batch)))
        worths = worth(batch, groups) if groups else [0.0]
        best = int(np.argmax(worths))
        if worths[best] < least or worths[best] <= 0:
            return batch[1:]
        batch += groups[best]


def alone_seconds(rests: Sequence[tuple[Rung, float | None]], rung: Rung) -> float:
    """Seconds of a launch of one run beside HPL's own time: the median on a rung, or on all where it has none yet.

    Args:
        rests: of each run that had a launch to itself its rung and those seconds, None where they are not known.
    """
    known = [(one, rest_s) for one, rest_s in rests if rest_s is not None]
    chosen = [rest_s for one, rest_s in known if one == rung] or [rest_s for _, rest_s in known]
    return max(0.0, float(np.median(chosen))) if chosen else 0.0


def shared_seconds(rests: Sequence[tuple[int, float, float]], size: float) -> tuple[float, float]:
    """Seconds of starting, which the runs of a launch share, and those that each run adds beside HPL's own time.

    Making and checking the matrix grows as N^2, starting does not; both by non-negative least squares.

    Args:
        rests: of each run the runs in its launch, the part of N it ran at, and its part of what HPL did not count.
        size: the part of N that is asked for.
    """
    if not rests:
        return 0.0, 0.0
    terms = np.array([[1 / sharing, part**2] for sharing, part, _ in rests])
    seconds = np.maximum([rest_s for *_, rest_s in rests], 0.0)
    if len(np.unique(terms, axis=0)) == 1:
        (sharing, part, _), rest_s = rests[0], float(np.median(seconds))
        return STARTING * rest_s * sharing, (1 - STARTING) * rest_s * (size / part) ** 2
    starting_s, own_s = non_negative(terms, seconds)
    return starting_s, own_s * size**2
