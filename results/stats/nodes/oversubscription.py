"""Uplinks that carry less than their nodes send: told from what pairs keep of their own rate while all nodes send.

What a pair keeps is its rate while all pairs of its pattern send, over its rate alone. A weak cable or card has no part
in it, since it slows the pair in both. Of two switches that share pairs the worse one is found first, and its pairs are
no longer held against the other.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from scipy import stats

from .odd_nodes import FALSE_ALARMS
from .pair_rate import PairRate
from .shape import MEDIAN_SCATTERS, robust_sd
from .weak_links import FEWEST_PAIRS

LEAST_PERCENT = 10.0
"""What an uplink must keep less than others to be named."""
FULL = 0.8
"""Part of their own rates that pairs keep in a network that counts as not oversubscribed."""


@dataclass(frozen=True)
class Oversubscribed:
    """An uplink, or the whole network, that carries less than its nodes send.

    Attributes:
        switch: whose uplink it is; "" if it is so everywhere.
        pattern: of the pairs whose rates are added up.
        carried: by all these pairs together while all nodes send, in the unit of the rates.
        wanted: the sum of their rates alone.
    """

    switch: str
    pattern: str
    carried: float
    wanted: float

    @property
    def ratio(self) -> float:
        """How many times more they could send than they can at once."""
        return self.wanted / self.carried


@dataclass(frozen=True)
class _Flow:
    """A pair that was measured alone and at once, and the switches that it crosses, if they are known."""

    pair: PairRate
    alone: float
    switches: frozenset[str]

    @property
    def kept(self) -> float:
        return math.log(self.pair.rate / self.alone)


def oversubscribed(
    alone: Sequence[PairRate], at_once: Sequence[PairRate], switches: Mapping[str, str], weak: Collection[str] = ()
) -> list[Oversubscribed]:
    """Find the uplinks that keep clearly less than others, worst first, then what the network keeps everywhere.

    Args:
        alone: of the same pairs, one at a time; all of both count and belong to one network.
        switches: the switch of each node; without them only the whole network is judged.
        weak: switches whose uplinks are slow for one pair already: nothing more is said of them.
    """
    flows = [flow for flow in _flows(alone, at_once, switches) if not flow.switches & set(weak)]
    found = []
    while (worst := _worst(flows)) is not None:
        found.append(_sum(worst, [flow for flow in flows if worst in flow.switches]))
        flows = [flow for flow in flows if worst not in flow.switches]
    if len(flows) >= FEWEST_PAIRS and math.exp(median(flow.kept for flow in flows)) < FULL:
        found.append(_sum("", flows))
    return found


def _flows(alone: Sequence[PairRate], at_once: Sequence[PairRate], switches: Mapping[str, str]) -> list[_Flow]:
    """Return the pairs between two switches; where no switch is known, those of the middle of the network (cut)."""
    own = {(pair.pattern, pair.one, pair.other): pair.rate for pair in alone}
    found = []
    for pair in at_once:
        rate = own.get((pair.pattern, pair.one, pair.other))
        ends = frozenset(switches[node] for node in (pair.one, pair.other) if node in switches)
        if rate is not None and (len(ends) == 2 or (not switches and pair.pattern == "cut")):
            found.append(_Flow(pair, rate, ends))
    return found


def _worst(flows: Sequence[_Flow]) -> str | None:
    """Return the switch whose pairs keep clearly less than those that do not cross it."""
    of_switch: dict[str, list[float]] = defaultdict(list)
    for flow in flows:
        for switch in flow.switches:
            of_switch[switch].append(flow.kept)
    least, limit = -math.log1p(-LEAST_PERCENT / 100.0), float(stats.norm.isf(FALSE_ALARMS / max(1, len(of_switch))))
    suspects = []
    for switch, own in of_switch.items():
        rest = [flow.kept for flow in flows if switch not in flow.switches]
        if min(len(own), len(rest)) >= FEWEST_PAIRS:
            lost = median(rest) - median(own)
            sd = max(1e-9, robust_sd(own), robust_sd(rest))
            clearness = lost / (MEDIAN_SCATTERS * sd * math.sqrt(1.0 / len(own) + 1.0 / len(rest)))
            if lost >= least and clearness > limit:
                suspects.append((lost, switch))
    return max(suspects)[1] if suspects else None


def _sum(switch: str, flows: Sequence[_Flow]) -> Oversubscribed:
    """Add up the pairs of the pattern that has most of them."""
    of_pattern: dict[str, list[_Flow]] = defaultdict(list)
    for flow in flows:
        of_pattern[flow.pair.pattern].append(flow)
    pattern, most = max(of_pattern.items(), key=lambda one: len(one[1]))
    return Oversubscribed(switch, pattern, sum(flow.pair.rate for flow in most), sum(flow.alone for flow in most))
