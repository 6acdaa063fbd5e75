"""Sizes of a run: the largest N, the memory it takes, and the process grids for a number of ranks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .errors import HplError
from .params import HplParams


def flop_count(N: int) -> float:
    """Return the floating-point operations of a solve of order N: 2/3 N^3 + 3/2 N^2, as in `HPL_pdtest.c`."""
    return (2.0 / 3.0) * N**3 + 1.5 * N**2


def gflops(N: int, time_s: float) -> float:
    """Return the rate in GFLOPS of a solve that took `time_s` seconds.

    Raises:
        ValueError: the time is not above zero.
    """
    if time_s <= 0:
        raise ValueError(f"a solve takes more than {time_s} s")
    return flop_count(N) / time_s / 1e9


def seconds(N: int, gflops: float) -> float:
    """Return the time in seconds that a solve takes at a rate above zero."""
    return flop_count(N) / gflops / 1e9


def fraction_done(N: int, column: float) -> float:
    """Return the part of the operations done when the panel at `column` begins: 1 - (1 - column/N)^3, from 0 to 1."""
    if N <= 0:
        return 1.0
    return 1.0 - (1.0 - min(max(column / N, 0.0), 1.0)) ** 3


DOUBLE = 8
SINGULAR_ABOVE = 2**15
"""HPL before 2.0 makes a singular matrix for N = 2^k above this: its 32-bit generator repeats (HPL's HISTORY)."""
ACCEPTED_LOSS = 0.01
"""The largest part of N that rounding to whole rows of blocks may cost."""


class SizingError(HplError):
    """No N fits the memory."""


@dataclass(frozen=True)
class NodeShare:
    """A node's share of a run: the memory that it can give, and how many of the ranks it runs."""

    memory_bytes: int
    ranks: int


def numroc(n: int, nb: int, coordinate: int, count: int) -> int:
    """Count the rows or columns of a block-cyclic distribution at one grid coordinate (ScaLAPACK's NUMROC, from 0)."""
    blocks, rest = divmod(n, nb)
    mine = (blocks // count) * nb
    extra = blocks % count
    if coordinate < extra:
        return mine + nb
    return mine + rest if coordinate == extra else mine


def memory_bytes(params: HplParams) -> int:
    """Return the bytes that HPL allocates on its fullest rank: the matrix and the panels of the look-ahead.

    `HPL_pdtest.c` allocates lda (nq + 1) doubles. `HPL_pdpanel_init.c` allocates for each of DEPTH + 1 panels
    NB^2 + NB + 1 doubles, NB ml2 more where Q > 1, and NB nq more where P > 1.
    """
    N, NB = params.N, params.NB
    mp, nq = numroc(N, NB, 0, params.P), numroc(N + 1, NB, 0, params.Q)
    lda = math.ceil(max(mp, 1) / params.alignment) * params.alignment + params.alignment
    panel = NB * NB + NB + 1 + (NB * mp if params.Q > 1 else 0) + (NB * nq if params.P > 1 else 0)
    return DOUBLE * (lda * (nq + 1) + params.alignment + (params.DEPTH + 1) * panel)


def n_for_memory(nodes: Sequence[NodeShare], *, fraction: float, NB: int, P: int = 1, Q: int = 1) -> int:
    """Return the largest N whose matrix takes at most `fraction` of each node's memory.

    HPL spreads the matrix evenly over ranks, so a node holds 8 N^2 ranks_here / ranks_all bytes, and the node with the
    least memory per rank decides. N is a multiple of NB, and of NB lcm(P, Q) where that costs at most 1 % of N.

    Args:
        nodes: the nodes of the run; at least one has ranks.
        fraction: above 0, at most 1; HPL's FAQ advises 0.8.

    Raises:
        SizingError: not even one block of NB fits.
        ValueError: the fraction or the nodes make no sense.
    """
    ranks = sum(node.ranks for node in nodes)
    if not 0 < fraction <= 1 or ranks < 1:
        raise ValueError(f"fraction {fraction} and {ranks} ranks: expected 0 < fraction <= 1 and at least one rank")
    matrix_bytes = min(node.memory_bytes / node.ranks for node in nodes if node.ranks) * ranks * fraction
    largest = math.isqrt(int(matrix_bytes / DOUBLE))
    N = largest // NB * NB
    if N == 0:
        raise SizingError(f"not even N = NB = {NB} fits {fraction:.0%} of the memory: take a smaller NB")
    step = NB * math.lcm(P, Q)
    whole = largest // step * step
    return whole if whole >= (1 - ACCEPTED_LOSS) * N else N


def n_that_fits(params: HplParams, free_bytes: int, needed_bytes: Callable[[HplParams], int] = memory_bytes) -> int:
    """Return the largest N, up to that of the parameters, whose run fits this memory over all ranks; 0 if none fits.

    Args:
        needed_bytes: what a run needs on its fullest rank.
    """
    low, high = 0, params.N + 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = params.ranks * needed_bytes(replace(params, N=middle)) <= free_bytes
        low, high = (middle, high) if fits else (low, middle)
    return low


def process_grids(ranks: int) -> tuple[tuple[int, int], ...]:
    """List all grids P x Q of a number of ranks: first those with P <= Q, squarest first, then the others.

    Raises:
        ValueError: there are no ranks.
    """
    if ranks < 1:
        raise ValueError(f"{ranks} ranks: expected at least 1")
    flat = [(P, ranks // P) for P in range(math.isqrt(ranks), 0, -1) if ranks % P == 0]
    return (*flat, *((Q, P) for P, Q in flat if P != Q))


def cautions(params: HplParams) -> tuple[str, ...]:
    """Return warnings about a legal configuration that is probably a mistake."""
    warnings = []
    N = params.N
    if N > SINGULAR_ABOVE and N & (N - 1) == 0:
        warnings.append(
            f"N={N} is a power of two above 2^15: HPL before 2.0 makes a singular matrix of it; take N={N - 1}"
        )
    if params.threshold <= 0:
        warnings.append(f"threshold {params.threshold:g}: HPL will not check the result, so it will not count")
    if params.P > params.Q:
        warnings.append(
            f"grid {params.P}x{params.Q} has more rows than columns; {params.Q}x{params.P} is usually faster"
        )
    if params.NB > N > 0:
        warnings.append(f"NB={params.NB} is larger than N={N}: only one rank works")
    return tuple(warnings)
