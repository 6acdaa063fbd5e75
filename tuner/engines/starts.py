"""Points worth trying before anything is known."""

from collections.abc import Iterator

from search_spaces.dimension import Point, Scalar
from search_spaces.space import SearchSpace

ADVICE: tuple[dict[str, Scalar], ...] = (
    {"NB": 192, "DEPTH": 1, "BCAST": "1rM", "SWAP": "mix", "RFACT": "crout", "PFACT": "right", "NBMIN": 4, "NDIV": 2},
    {"NB": 256, "DEPTH": 0, "BCAST": "2rM", "SWAP": "long", "RFACT": "right", "PFACT": "crout", "NBMIN": 8, "NDIV": 2},
)
"""HPL's own advice (TUNING), and the settings of published runs that differ most from it."""
BEFORE_ANYTHING = ("layout", "blas")
"""What changes the rate most; each of their values is started from once, with the first kernel of the BLAS."""


def starts(space: SearchSpace) -> Iterator[Point]:
    """The space's own start points and the general advice, each for every layout and BLAS, likeliest first."""
    advice = [*space.starts, *(space.nearest(advised) for advised in ADVICE)]
    varied: list[Point] = [{}]
    for name in BEFORE_ANYTHING:
        if name in space.varying:
            varied = [{**point, name: value} for point in varied for value in space.parameters[name].values]
    for advised in advice:
        for variation in varied:
            wish = {name: value for name, value in advised.items() if name != "kernel" or "blas" not in variation}
            wish |= variation
            kernel = space.parameters.get("kernel")
            if kernel is not None and kernel.by in wish and kernel.values_in(wish):
                wish["kernel"] = kernel.values_in(wish)[0]
            yield space.nearest(wish)
