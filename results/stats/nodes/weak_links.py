"""What makes pairs of nodes slow: a node, the uplink of a switch, or one connection, told from the rates alone.

The model. The rate of a pair is the usual rate of its kind (both nodes at one switch, or at two), less what a weak node
and a weak uplink on its way take: their losses add up as logarithms. Few are weak, so the losses are found one by one,
the one that explains most first; what an earlier one explains is no longer held against others.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import scipy

from .odd_nodes import FALSE_ALARMS, LEAST_PERCENT
from .pair_rate import PairRate
from .shape import MEDIAN_SCATTERS, robust_sd

FEWEST_PAIRS = 3
"""Pairs of a node or of an uplink that are needed to blame it; fewer may be the fault of partners."""


@dataclass(frozen=True)
class WeakPart:
    """A part of the network that is slower than others of its kind.

    Attributes:
        kind: "node", "uplink" or "connection".
        name: of the node or switch; of a connection both nodes with a dash.
        percent: of the usual rate that is lost.
        pairs: pairs that show it.
    """

    kind: str
    name: str
    percent: float
    pairs: int


def weak_parts(rates: Sequence[PairRate], switches: Mapping[str, str] | None = None) -> list[WeakPart]:
    """Find what is weak, the clearest first.

    Args:
        rates: of pairs one at a time over one network, in several patterns; all count.
        switches: the switch of each node; None where nobody knows, and all nodes count as at one switch.
    """
    at = switches or {}
    left = [_Log(pair, math.log(pair.rate), at.get(pair.one) != at.get(pair.other)) for pair in rates]
    found: dict[tuple[str, str], WeakPart] = {}
    while left:
        parts = _parts(left, at)
        limit = float(scipy.stats.norm.isf(FALSE_ALARMS / max(1, len(parts))))
        losses = _losses(left)
        suspects = [
            (clearness, part)
            for part, own in parts.items()
            if part not in found and (clearness := _clearness(part, own, left, losses)) > limit
        ]
        if not suspects:
            break
        part = max(suspects)[1]
        lost = _lost(parts[part], left)
        found[part] = WeakPart(*part, 100.0 * -math.expm1(-lost), len(parts[part]))
        left = _explained(left, part, lost, at)
    weak = [part for part in found.values() if part.percent >= LEAST_PERCENT]
    return [*weak, *_connections(left)]


@dataclass(frozen=True)
class _Log:
    """The logarithm of the rate of a pair, without what weak parts explain; `across` if it is between two switches."""

    pair: PairRate
    rate: float
    across: bool


def _parts(left: Sequence[_Log], at: Mapping[str, str]) -> dict[tuple[str, str], list[_Log]]:
    """Gather the pairs of each node and of each uplink that have enough of them."""
    parts: dict[tuple[str, str], list[_Log]] = defaultdict(list)
    for one in left:
        for node in (one.pair.one, one.pair.other):
            parts["node", node].append(one)
            if one.across and node in at:
                parts["uplink", at[node]].append(one)
    return {part: own for part, own in parts.items() if len(own) >= FEWEST_PAIRS}


def _losses(left: Sequence[_Log]) -> dict[PairRate, tuple[float, float]]:
    """Return by how much each pair is slower than the usual one of its kind, and that in standard deviations."""
    found = {}
    for across in (False, True):
        own = [one for one in left if one.across is across]
        if own:
            middle = median(one.rate for one in own)
            sd = max(1e-9, robust_sd([one.rate for one in own]))
            found.update({one.pair: (middle - one.rate, (middle - one.rate) / sd) for one in own})
    return found


def _lost(own: Sequence[_Log], left: Sequence[_Log]) -> float:
    """Return the loss of a part: its pairs beside those of the same kind that it has no part in."""
    pairs = {one.pair for one in own}
    losses = []
    for across in (False, True):
        rest = [one.rate for one in left if one.across is across and one.pair not in pairs]
        if rest:
            middle = median(rest)
            losses += [middle - one.rate for one in own if one.across is across]
    return median(losses) if losses else 0.0


def _clearness(
    part: tuple[str, str], own: Sequence[_Log], left: Sequence[_Log], losses: Mapping[PairRate, tuple[float, float]]
) -> float:
    """Return by how many standard deviations the pairs of a part together are slow.

    Of a node the slowest pair is left out, which may be the fault of its partner. The many pairs of an uplink are
    compared with those across switches that do not use it, by medians, whose standard deviation is 1.25 times that of
    means.
    """
    if part[0] == "node":
        sds = sorted(losses[one.pair][1] for one in own)
        return fmean(sds[:-1]) * math.sqrt(len(sds) - 1)
    pairs = {one.pair for one in own}
    rest = [one.rate for one in left if one.across and one.pair not in pairs]
    if len(rest) < FEWEST_PAIRS:
        return 0.0
    sd = max(1e-9, robust_sd([one.rate for one in own]), robust_sd(rest))
    return _lost(own, left) / (MEDIAN_SCATTERS * sd * math.sqrt(1.0 / len(own) + 1.0 / len(rest)))


def _explained(left: Sequence[_Log], part: tuple[str, str], lost: float, at: Mapping[str, str]) -> list[_Log]:
    """Take what a weak part explains out of its pairs; pairs of a weak node tell nothing more."""
    kind, name = part
    if kind == "node":
        return [one for one in left if name not in {one.pair.one, one.pair.other}]
    return [
        replace(one, rate=one.rate + lost)
        if one.across and name in {at.get(one.pair.one), at.get(one.pair.other)}
        else one
        for one in left
    ]


def _connections(left: Sequence[_Log]) -> list[WeakPart]:
    """List pairs that are slow although neither of their nodes nor an uplink is."""
    least = -math.log1p(-LEAST_PERCENT / 100.0)
    losses = _losses(left)
    slow = []
    for across in (False, True):
        own = [one.pair for one in left if one.across is across]
        limit = float(scipy.stats.t.isf(FALSE_ALARMS / max(1, len(left)), max(2.0, 0.8 * (len(own) - 1))))
        slow += [(losses[pair][0], pair) for pair in own if losses[pair][1] > limit and losses[pair][0] > least]
    slow.sort(key=lambda one: -one[0])
    return [WeakPart("connection", f"{pair.one}-{pair.other}", 100.0 * -math.expm1(-loss), 1) for loss, pair in slow]
