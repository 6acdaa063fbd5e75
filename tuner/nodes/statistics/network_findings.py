"""What the messages between nodes tell of the network and of its uplinks, as sentences.

What a pair keeps is its rate while all pairs of its pattern send, over its rate alone. A weak cable or card has no part
in it, since it slows the pair in both. Of two switches that share pairs the worse one is found first, and its pairs are
no longer held against the other.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median

import scipy

from results.node_check import Finding, NodeCheck, PairRate, Severity

from .odd_nodes import FALSE_ALARMS, LEAST_PERCENT, MEDIAN_SCATTERS, robust_sd

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


LEAST_LATENCY_PERCENT = 20.0
"""Latencies scatter much more than rates; less than this is no finding."""
ONE_WAY = 1.0 / 3.0
"""Part of the loss in one direction below which the other direction is sound."""
PART = "network"

LEAST_LOST_PCT = 10.0
"""What an uplink must keep less than others to be named."""
FULL = 0.8
"""Part of their own rates that pairs keep in a network that counts as not oversubscribed."""


def network_findings(check: NodeCheck) -> list[Finding]:
    """Find what is weak in each network by itself, and the fact of a weak node that explains it."""
    found: list[Finding] = []
    for network in dict.fromkeys(pair.network for pair in (*check.pairs, *check.pairs_at_once)):
        alone = [pair for pair in check.pairs if pair.network == network and not _told(pair, check)]
        found += _failed(alone, network)
        counting = [pair for pair in alone if pair.counts]
        weak = _weak(check, counting, network)
        at_once = [pair for pair in check.pairs_at_once if pair.network == network and pair.counts]
        uplinks = {name for finding in weak if finding.what == "weak-uplink" for name in finding.names}
        found += [
            *weak,
            *map(partial(_oversubscribed, network), oversubscribed(counting, at_once, check.switches, uplinks)),
        ]
    return [_with_fact(finding, check) for finding in found]


def _told(pair: PairRate, check: NodeCheck) -> bool:
    """Whether a pair has no rate because one of its nodes was lost, which is told of the node."""
    return not pair.counts and not {pair.one, pair.other}.isdisjoint(check.silent)


def _over(network: str) -> str:
    return f" over {network}" if network else ""


def _failed(pairs: Sequence[PairRate], network: str) -> Iterator[Finding]:
    """Name nodes that no partner reaches, then the other pairs without messages."""
    failed = [pair for pair in pairs if not pair.counts]
    if not failed:
        return
    if len(failed) == len(pairs):
        first = failed[0]
        yield Finding(
            Severity.ODD, "no-messages", (), PART,
            f"no two nodes exchanged messages{_over(network)} ({first.one} to {first.other}: {first.problem}): "
            "let nodes open TCP connections to each other",
        )  # fmt: skip
        return
    tried = Counter(node for pair in pairs for node in (pair.one, pair.other))
    lost = Counter(node for pair in failed for node in (pair.one, pair.other))
    cut_off = [node for node, count in lost.items() if count == tried[node] > 1]
    for node in cut_off:
        why = next(pair.problem for pair in failed if node in {pair.one, pair.other})
        sentence = f"{node} is out: it exchanges messages with no other node{_over(network)} ({why})"
        yield Finding(Severity.OUT, "no-messages", (node,), PART, sentence)
    left: dict[str, list[PairRate]] = defaultdict(list)
    for pair in failed:
        if not {pair.one, pair.other} & set(cut_off):
            left[f"{pair.one}-{pair.other}"].append(pair)
    for name, own in left.items():
        sentence = f"between {name} no messages pass{_over(network)} ({own[0].problem}): look at routes and firewalls"
        yield Finding(Severity.OUT, "no-messages", (name,), PART, sentence)


def _weak(check: NodeCheck, pairs: Sequence[PairRate], network: str) -> list[Finding]:
    """Find weak nodes, uplinks and connections by the rate, and other nodes that are slow only in latency."""
    parts = weak_parts(pairs, check.switches)
    found = [
        Finding(_severity(part), f"weak-{part.kind}", (part.name,), PART, _weak_sentence(part, pairs, network),
                part.percent)
        for part in parts
    ]  # fmt: skip
    slow = {part.name for part in parts}
    inverse = [replace(pair, rate=1.0 / pair.latency_us) for pair in pairs if pair.latency_us]
    for part in weak_parts(inverse, check.switches):
        if part.kind == "node" and part.name not in slow and part.percent >= LEAST_LATENCY_PERCENT:
            own = _middle(pair.latency_us for pair in pairs if part.name in {pair.one, pair.other})
            usual = _middle(pair.latency_us for pair in pairs)
            sentence = (
                f"{part.name} is slow with small messages{_over(network)}: {own:.3g} µs, {usual:.3g} µs is usual; look "
                "at its power saving and at the interrupts of its network card"
            )
            found.append(Finding(Severity.SLOW, "weak-node", (part.name,), "latency", sentence, part.percent))
    return found


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


def _oversubscribed(network: str, part: Oversubscribed) -> Finding:
    """One worse uplink slows runs; a network that is so everywhere was bought so."""
    sums = f"{_rate(part.carried)} of {_rate(part.wanted)}{_over(network)} when all nodes send ({part.pattern})"
    percent = 100.0 * (1.0 - part.carried / part.wanted)
    if part.switch:
        sentence = f"the uplink of switch {part.switch} carries {sums}: it is oversubscribed {part.ratio:.2g} to 1"
        return Finding(Severity.SLOW, "oversubscribed", (part.switch,), PART, sentence, percent)
    sentence = f"the network carries {sums}: it is oversubscribed {part.ratio:.2g} to 1"
    return Finding(Severity.NOTE, "oversubscribed", (), PART, sentence, percent)


def _rate(mb_s: float) -> str:
    return f"{mb_s / 1000:.3g} GB/s" if mb_s >= 1000 else f"{mb_s:.3g} MB/s"


def _middle(values: Iterator[float | None]) -> float:
    return median(value for value in values if value)


def _severity(part: WeakPart) -> Severity:
    """One slow connection is measured once; a node or an uplink is seen from several sides."""
    return Severity.ODD if part.kind == "connection" else Severity.SLOW


def _weak_sentence(part: WeakPart, pairs: Sequence[PairRate], network: str) -> str:
    lost, over = f"{part.percent:.1f} % of the usual rate is lost", _over(network)
    match part.kind:
        case "node":
            when = _direction(part.name, pairs)
            return (
                f"{part.name} is slow with every partner{over}{when}: {lost}; look at its network card, cable and port"
            )
        case "uplink":
            return f"nodes of switch {part.name} are slow only to other switches{over}: {lost}; look at its uplink"
    alone = "and neither node is slow with others"
    return f"between {part.name} {lost}{over}, {alone}: measure it again, then look at the route"


def _direction(node: str, pairs: Sequence[PairRate]) -> str:
    """Say in which direction a weak node is slow, if it is slow in one only."""
    rates = [rate for pair in pairs for rate in (pair.there, pair.back) if rate]
    if not rates:
        return ""
    usual = median(rates)
    sends = [rate for pair in pairs for rate in [_sent(node, pair)] if rate]
    takes = [rate for pair in pairs for rate in [_taken(node, pair)] if rate]
    losses = {
        " when it sends": usual - median(sends) if sends else 0.0,
        " when it receives": usual - median(takes) if takes else 0.0,
    }
    (_, least), (words, most) = sorted(losses.items(), key=lambda one: one[1])
    return f", but only{words}" if least < ONE_WAY * most else ""


def _sent(node: str, pair: PairRate) -> float | None:
    return pair.there if pair.one == node else pair.back if pair.other == node else None


def _taken(node: str, pair: PairRate) -> float | None:
    return pair.back if pair.one == node else pair.there if pair.other == node else None


def _with_fact(finding: Finding, check: NodeCheck) -> Finding:
    """Add the setting of its network in which a weak node differs from nearly all others: it is the likely reason."""
    if finding.what != "weak-node":
        return finding
    (node,) = finding.names
    odd = {
        fact: f"its {_words(fact)} is {values[node]}, not {usual}"
        for fact, values in check.facts.items()
        if (fact == "mtu" or fact.startswith("nic_"))
        and node in values
        and (usual := _usual(values, node)) not in {"", values[node]}
    }
    said = "; ".join([finding.sentence, *odd.values()])
    return replace(finding, sentence=said, facts=tuple(odd))


def _words(fact: str) -> str:
    return {"mtu": "MTU", "nic_mtu": "MTU"}.get(fact, fact.replace("nic_", "NIC "))


def _usual(values: Mapping[str, str], node: str) -> str:
    """Return what nearly all other nodes have."""
    others = Counter(value for name, value in values.items() if name != node)
    value, count = others.most_common(1)[0] if others else ("", 0)
    return value if count >= 0.8 * others.total() else ""


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
    least, limit = (
        -math.log1p(-LEAST_LOST_PCT / 100.0),
        float(scipy.stats.norm.isf(FALSE_ALARMS / max(1, len(of_switch)))),
    )
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
