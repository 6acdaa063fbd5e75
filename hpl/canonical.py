"""Maps configurations that make HPL run the same instructions to one representative, so that none is measured twice.

The rules follow HPL 2.0's source code; each rule names the function that decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .params import Bcast, Fact, Form, HplParams, Pmap, Swap

_RINGS = (Bcast.ONE_RING, Bcast.ONE_RING_M, Bcast.TWO_RING, Bcast.TWO_RING_M)


@dataclass(frozen=True)
class Rule:
    """Parameters that HPL ignores in some configurations.

    Attributes:
        holds: whether HPL ignores them in a configuration.
        unseen: each ignored parameter, with the value that represents all its values.
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
    # There are at most two sub-panels (`HPL_pdrpan*.c`: jb).
    Rule(lambda run: 2 * run.NBMIN >= run.NB, {"NDIV": 2}),
    # Only mix reads the threshold, and binary exchange does not read EQUIL (`HPL_pdupdate*.c`).
    Rule(lambda run: run.SWAP is not Swap.MIX, {"swap_threshold": 0}),
    Rule(lambda run: run.SWAP is Swap.BINARY_EXCHANGE, {"EQUIL": True}),
)

MERGED = frozenset({"BCAST", "NDIV", "NBMIN", "SWAP"}.union(*(rule.unseen for rule in RULES)))
"""Parameters that `canonical` may change; all others stay as they are."""


def canonical(params: HplParams) -> HplParams:
    """Return the representative of all configurations that run the same instructions; N, NB, P and Q never change."""
    # Equal rings: all four for Q = 2 (root sends to next), all but 1rg for Q = 3 and 4 (`HPL_*rin*.c`).
    same = _RINGS if params.Q == 2 else _RINGS[1:] if params.Q in {3, 4} else ()
    # The swap "mix" with threshold 0 is "long" (`HPL_pdupdate*.c`).
    long = params.SWAP is Swap.MIX and params.swap_threshold == 0
    params = replace(
        params,
        BCAST=Bcast.ONE_RING_M if params.BCAST in same else params.BCAST,
        # With ceil(NB / NBMIN) divisions every sub-panel has NBMIN columns (`HPL_pdrpan*.c`: jb).
        NDIV=min(params.NDIV, max(2, -(-params.NB // params.NBMIN))),
        # With NB columns the recursion is never entered (`HPL_pdrpan*.c`).
        NBMIN=min(params.NBMIN, params.NB),
        SWAP=Swap.LONG if long else params.SWAP,
    )
    return replace(params, **{name: value for rule in _held(params) for name, value in rule.unseen.items()})


def inert(params: HplParams) -> frozenset[str]:
    """Return the parameters that HPL ignores in this configuration: their values do not change the representative."""
    return frozenset(name for rule in _held(params) for name in rule.unseen)


def _held(params: HplParams) -> list[Rule]:
    return [rule for rule in RULES if rule.holds(params)]
