"""Which configurations HPL cannot tell apart: each maps to one representative, so that none is measured twice.

Read off HPL 2.0's source; the function that decides is named at each rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .params import Bcast, Fact, Form, HplParams, Pmap, Swap

_RINGS = (Bcast.ONE_RING, Bcast.ONE_RING_M, Bcast.TWO_RING, Bcast.TWO_RING_M)


@dataclass(frozen=True)
class Rule:
    """Parameters that HPL does not look at in some configurations.

    Attributes:
        holds: whether it is so in a configuration.
        unseen: the parameters, with the values that represent all others.
    """

    holds: Callable[[HplParams], bool]
    unseen: Mapping[str, Any]


RULES = (
    # No rows are swapped (`HPL_pdupdate*.c`).
    Rule(lambda run: run.P == 1, {"SWAP": Swap.LONG, "swap_threshold": 0, "EQUIL": True, "U": Form.TRANSPOSED}),
    # No look-ahead and nobody to broadcast to (`HPL_pdgesv.c`, `HPL_bcast.c`).
    Rule(lambda run: run.Q == 1, {"DEPTH": 0, "BCAST": Bcast.ONE_RING_M}),
    # Row- and column-major order place the ranks alike (`HPL_grid_init.c`).
    Rule(lambda run: 1 in {run.P, run.Q}, {"PMAP": Pmap.ROW}),
    # The recursion is never entered (`HPL_pdrpan*.c`).
    Rule(lambda run: run.NBMIN >= run.NB, {"RFACT": Fact.CROUT}),
    # Two sub-panels are all there can be (`HPL_pdrpan*.c`: jb).
    Rule(lambda run: 2 * run.NBMIN >= run.NB, {"NDIV": 2}),
    # Only mix looks at the threshold, and binary exchange does not look at EQUIL (`HPL_pdupdate*.c`).
    Rule(lambda run: run.SWAP is not Swap.MIX, {"swap_threshold": 0}),
    Rule(lambda run: run.SWAP is Swap.BINARY_EXCHANGE, {"EQUIL": True}),
)

MERGED = frozenset({"BCAST", "NDIV", "NBMIN", "SWAP"}.union(*(rule.unseen for rule in RULES)))
"""Parameters of which HPL cannot tell some values apart in some configurations; all others stay as they are."""


def canonical(params: HplParams) -> HplParams:
    """The representative of all configurations that run the same instructions. N, NB, P and Q stay as they are."""
    params = _threshold_of_zero(_whole_panel(_divisions(_short_ring(params))))
    return replace(params, **{name: value for rule in _held(params) for name, value in rule.unseen.items()})


def inert(params: HplParams) -> frozenset[str]:
    """The parameters HPL does not look at in this configuration: no value of theirs makes another representative."""
    return frozenset(name for rule in _held(params) for name in rule.unseen)


def _held(params: HplParams) -> list[Rule]:
    return [rule for rule in RULES if rule.holds(params)]


def _short_ring(params: HplParams) -> HplParams:
    """Q = 2: the four rings send root to next; Q = 3 and 4: all but 1rg send root to the next two (`HPL_*rin*.c`)."""
    same = _RINGS if params.Q == 2 else _RINGS[1:] if params.Q in {3, 4} else ()
    return replace(params, BCAST=Bcast.ONE_RING_M) if params.BCAST in same else params


def _divisions(params: HplParams) -> HplParams:
    """From NDIV = ceil(NB / NBMIN) on every sub-panel has NBMIN columns (`HPL_pdrpan*.c`: jb)."""
    return replace(params, NDIV=min(params.NDIV, max(2, -(-params.NB // params.NBMIN))))


def _whole_panel(params: HplParams) -> HplParams:
    """From NBMIN = NB on the recursion is never entered (`HPL_pdrpan*.c`)."""
    return replace(params, NBMIN=min(params.NBMIN, params.NB))


def _threshold_of_zero(params: HplParams) -> HplParams:
    """With threshold 0 mix is the long swap (`HPL_pdupdate*.c`)."""
    return replace(params, SWAP=Swap.LONG) if params.SWAP is Swap.MIX and params.swap_threshold == 0 else params
