"""Makes points of a space: first ones, completed ones, neighbours, and the space's own for what others ran."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from hpl.params import Scalar
from hpl.sizing import process_grids
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SIZES, SearchSpace

from ..machine.problem_size import NB_BY_FAMILY, NB_BY_KERNEL, NB_UNKNOWN

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]


ADVICE: tuple[dict[str, Scalar], ...] = (
    {"DEPTH": 1, "BCAST": "1rM", "SWAP": "mix", "RFACT": "crout", "PFACT": "right", "NBMIN": 4, "NDIV": 2},
    {"DEPTH": 0, "BCAST": "2rM", "SWAP": "long", "RFACT": "right", "PFACT": "crout", "NBMIN": 8, "NDIV": 2},
)
"""HPL's own advice (TUNING), and the settings of published runs that differ most from it. NB and grid are computed."""


def starts(space: SearchSpace) -> Iterator[Point]:
    """Yield the general advice, the space's own start points, then the advice once for each other BLAS.

    A space lists its BLAS libraries, their kernels and its layouts best guess first. NB is the K-blocking of the BLAS,
    the grid the squarest with P <= Q, N the largest that fits. The same point may come twice. There are few on purpose:
    on synthetic machines with five layouts a start for each of them too was no gain, and it took trials from the
    search.
    """
    for advice in ADVICE:
        yield _start(space, advice)
    yield from space.starts
    if "blas" in space.varying:
        for blas in space.parameters["blas"].values:
            yield _start(space, {**ADVICE[0], "blas": blas})


def starts_of_each(space: SearchSpace, name: str) -> Iterator[Point]:
    """Yield the general advice with each value of a parameter; nothing where it does not vary."""
    for value in space.parameters[name].values if name in space.varying else ():
        point = _start(space, {**ADVICE[0], name: value})
        if point.get(name) == value:
            yield point


def _start(space: SearchSpace, wish: Point) -> dict[str, Scalar]:
    """The legal point nearest to a wish, with what follows from the wish filled in."""
    full = dict(wish)
    for name in ("program", "nodes_dropped", "layout", "blas", "kernel"):
        if name not in full and name in space.parameters:
            values = space.parameters[name].values_in(full)
            full.update({name: values[0]} if values else {})
    complete = space.complete(full)
    ranks, _ = ranks_and_threads(complete["layout"])
    P, Q = process_grids(ranks)[0]
    full["grid"] = f"{P}x{Q}"
    full["NB"] = _natural_nb(str(complete["blas"]), str(complete.get("kernel", "auto")))
    for name in ("NB", "NBMIN"):
        if name in space.parameters:
            values = space.parameters[name].values
            full[name] = min(values, key=lambda value: abs(float(value) - float(full[name])))
    return _with_largest_matrix(space, space.nearest(full))


def _with_largest_matrix(space: SearchSpace, point: dict[str, Scalar]) -> dict[str, Scalar]:
    """The point with the largest N or part of the memory that is legal with all else as it is."""
    for name in SIZES:
        if name in space.varying:
            sizes = sorted(space.parameters[name].values_in(point), key=float, reverse=True)
            larger = ({**point, name: size} for size in sizes)
            point = next((one for one in larger if space.why_not(one) is None), point)
    return point


def _natural_nb(blas: str, kernel: str) -> int:
    return NB_BY_KERNEL.get(kernel.lower(), NB_BY_FAMILY.get(blas, NB_UNKNOWN))


def with_fixed(space: SearchSpace, wish: Point) -> dict[str, Scalar]:
    """A choice of the varying parameters, completed with the fixed ones, in the space's order."""
    fixed = {name: one.values[0] for name, one in space.parameters.items() if name not in space.varying}
    return {name: {**fixed, **wish}[name] for name in space.parameters if name in fixed or name in wish}


def with_value(space: SearchSpace, point: Point, name: str, value: Scalar) -> dict[str, Scalar] | None:
    """The legal point with one value changed, and what must change with it; None where there is none."""
    wish = {**point, name: value}
    if space.why_not(wish) is None:
        return wish
    nearest = space.nearest(wish, keep=name)
    return nearest if nearest.get(name) == value else None


def neighbours(space: SearchSpace, point: Point, held: Collection[str] = ()) -> Iterator[dict[str, Scalar]]:
    """Legal points that differ in one value that is not held, and in what must follow; nearest values first."""
    for name, parameter in space.varying.items():
        if name in point and name not in held:
            values = parameter.values_in(point)
            place = values.index(point[name])
            for value in sorted(values, key=lambda other: abs(values.index(other) - place))[1:]:
                changed = with_value(space, point, name, value)
                if changed is not None:
                    yield changed


def unlike(points: Iterable[Point], names: Collection[str], most: int) -> list[dict[str, Scalar]]:
    """The first point of each combination of the named parameters' values, at most so many."""
    found = dict[tuple[Scalar | None, ...], dict[str, Scalar]]()
    for point in points:
        if len(found) == most:
            break
        found.setdefault(tuple(point.get(name) for name in names), dict(point))
    return list(found.values())


def own_point(space: SearchSpace, params: Point) -> dict[str, Scalar] | None:
    """The space's own point for a configuration that may be complete; None where the space has none."""
    point = _of_space(space, params)
    legal = space.why_not(point) is None
    return point if legal and _same_configuration(space, params, point) else None


def _of_space(space: SearchSpace, params: Point) -> dict[str, Scalar]:
    """A complete point without what the space leaves to defaults or has no values of in this case."""
    own = {}
    for name, parameter in space.parameters.items():
        absent = parameter.by is not None and parameter.by in params and not parameter.values_in(params)
        if name in params and not absent:
            own[name] = params[name]
    return own


def _same_configuration(space: SearchSpace, params: Point, point: Point) -> bool:
    """Whether a told point is what the space would run; N may differ where it follows from the free memory."""
    full = space.complete(point)
    derived = {"N"} if "memory_fraction" in point else set()
    return all(name in derived or (name in full and full[name] == params[name]) for name in params)
