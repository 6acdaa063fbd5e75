"""Which configurations HPL cannot tell apart: each maps to one representative, so that none is measured twice.

Read off HPL 2.0's source; the function that decides is named at each rule.
"""

from collections.abc import Callable
from dataclasses import replace

from .params import Bcast, Fact, HplParams, Pmap, Swap

_RINGS = (Bcast.ONE_RING, Bcast.ONE_RING_M, Bcast.TWO_RING, Bcast.TWO_RING_M)


def canonical(params: HplParams) -> HplParams:
    """The representative of all configurations that run the same instructions. N, NB, P and Q stay as they are."""
    for rule in RULES:
        params = rule(params)
    return params


def _one_row(params: HplParams) -> HplParams:
    """P = 1: no rows are swapped, so SWAP, its threshold, EQUIL and U are not looked at (`HPL_pdupdate*.c`)."""
    if params.P != 1:
        return params
    return replace(params, SWAP=Swap.LONG, swap_threshold=0, EQUIL=True, U=type(params.U).TRANSPOSED)


def _one_column(params: HplParams) -> HplParams:
    """Q = 1: no look-ahead and nobody to broadcast to (`HPL_pdgesv.c`, `HPL_bcast.c`)."""
    return replace(params, DEPTH=0, BCAST=Bcast.ONE_RING_M) if params.Q == 1 else params


def _short_ring(params: HplParams) -> HplParams:
    """Q = 2: the four rings send root to next; Q = 3: modified and two-ring coincide (`HPL_*rin*.c`)."""
    same = _RINGS if params.Q == 2 else _RINGS[1:] if params.Q == 3 else ()
    return replace(params, BCAST=Bcast.ONE_RING_M) if params.BCAST in same else params


def _no_recursion(params: HplParams) -> HplParams:
    """NBMIN >= NB: the recursion is never entered (`HPL_pdrpan*.c`), RFACT and NDIV are not looked at."""
    return replace(params, RFACT=Fact.CROUT, NDIV=2, NBMIN=params.NB) if params.NBMIN >= params.NB else params


def _divisions(params: HplParams) -> HplParams:
    """From NDIV = ceil(NB / NBMIN) on every sub-panel has NBMIN columns (`HPL_pdrpan*.c`: jb)."""
    most = max(2, -(-params.NB // params.NBMIN))
    return replace(params, NDIV=min(params.NDIV, most))


def _swapping(params: HplParams) -> HplParams:
    """Only mix looks at the threshold, and with threshold 0 it is the long swap (`HPL_pdupdate*.c`)."""
    if params.SWAP is Swap.MIX and params.swap_threshold == 0:
        params = replace(params, SWAP=Swap.LONG)
    if params.SWAP is not Swap.MIX:
        params = replace(params, swap_threshold=0)
    if params.SWAP is Swap.BINARY_EXCHANGE:
        params = replace(params, EQUIL=True)
    return params


def _mapping(params: HplParams) -> HplParams:
    """P = 1 or Q = 1: row- and column-major order place the ranks alike (`HPL_grid_init.c`)."""
    return replace(params, PMAP=Pmap.ROW) if 1 in {params.P, params.Q} else params


RULES: tuple[Callable[[HplParams], HplParams], ...] = (
    _one_row,
    _one_column,
    _short_ring,
    _no_recursion,
    _divisions,
    _swapping,
    _mapping,
)


def inert(params: HplParams) -> frozenset[str]:
    """The parameters HPL does not look at in this configuration, by the same rules as `canonical`."""
    unused: set[str] = set()
    if params.P == 1:
        unused |= {"SWAP", "swap_threshold", "EQUIL", "U"}
    if params.Q == 1:
        unused |= {"DEPTH", "BCAST"}
    if 1 in {params.P, params.Q}:
        unused.add("PMAP")
    if params.NBMIN >= params.NB:
        unused |= {"NBMIN", "RFACT", "NDIV"}
    if params.SWAP is not Swap.MIX:
        unused.add("swap_threshold")
    if params.SWAP is Swap.BINARY_EXCHANGE:
        unused.add("EQUIL")
    return frozenset(unused)
