"""Suggests points to try before there is any run."""

from collections.abc import Iterator

from hpl.params import Scalar
from hpl.sizing import process_grids
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SIZES, SearchSpace

from ..machine.textbook import NB_BY_FAMILY, NB_BY_KERNEL, NB_UNKNOWN

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


def _start(space: SearchSpace, wish: Point) -> dict[str, Scalar]:
    """The legal point nearest to a wish, with what follows from the wish filled in."""
    full = dict(wish)
    for name in ("nodes_dropped", "layout", "blas", "kernel"):
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
