"""Sentences on how HPL scales, what limits it, and what twice the nodes should give."""

from collections.abc import Iterator

from results.stats.scaling.efficiency import CountResult
from results.stats.scaling.growth import ScalingGrowth
from results.stats.scaling.limit import Limit
from results.stats.scaling.orders import OrdersCompared
from results.stats.scaling.overhead import BROADCAST, PANEL, SOLVE, SWAP, UPDATE
from results.stats.scaling.runs import NodeOrder, Scaling, alike

from ...scaling.findings import NextDoubling, ScalingFindings
from ...words import counted

LIMITS = {
    PANEL: "the factorisation of panels limits, which only one column of ranks does at a time",
    BROADCAST: "the network limits, or ranks that wait for the panel of another column",
    SWAP: "the network limits, in the exchange of rows",
    UPDATE: "the update itself is slower: a slow node, or a lower clock",
    SOLVE: "the solve at the end limits: N is small for so many ranks",
}
LIMITS_OF_CORES = {
    **LIMITS,
    BROADCAST: "messages within the machine limit, or ranks that wait for the panel of another column",
    SWAP: "the exchange of rows within the machine limits",
    UPDATE: "the update itself is slower: cores share memory bandwidth, cache and clock",
}
NAMES = {
    PANEL: "panel",
    BROADCAST: "broadcast and waiting",
    SWAP: "swap of rows",
    UPDATE: "update",
    SOLVE: "solve",
}
"""What people read of each part of the time."""
SAME = 1e-3
"""A part of the rate that nobody need hear of."""


def percent(part: float) -> str:
    """A part of 1 in percent, with two digits or three."""
    return f"{100 * part:.1f}" if abs(part) < 0.0995 else f"{100 * part:.0f}"


def interval_text(interval: tuple[float, float] | None) -> str:
    """An interval of parts in percent, in brackets; nothing if there is none."""
    return "" if interval is None else f" ({percent(interval[0])} to {percent(interval[1])})"


def verdicts(findings: ScalingFindings) -> Iterator[str]:
    """Yield a sentence for each kind of scaling: the efficiency at the largest number, and what limits it."""
    differ = {one.scaling for one in findings.orders if one.differ}
    for limit in findings.limits:
        result = limit.result
        alone = len([one for one in findings.limits if one.result.scaling is result.scaling]) == 1
        if result.order is NodeOrder.SHUFFLED and not alone and result.scaling not in differ:
            continue
        order = f", {result.order} nodes" if not alone and result.scaling in differ else ""
        first = next(one for one in findings.results if alike(one, result))
        reached = _efficiency(result, first, findings.noun)
        yield f"{_scaling(result.scaling)}{order}: {reached}{_limit(limit, findings)}"


def _scaling(scaling: Scaling) -> str:
    return "Weak scaling" if scaling is Scaling.WEAK else "Strong scaling"


def _efficiency(result: CountResult, first: CountResult, noun: str) -> str:
    faster = result.usual_gflops / first.usual_gflops
    return (
        f"{counted(result.count, noun)} are {faster:.3g} times as fast as {first.count}, "
        f"an efficiency of {percent(result.efficiency)} %{interval_text(result.interval)}."
    )


def _limit(limit: Limit, findings: ScalingFindings) -> str:
    if limit.little:
        return " Nothing limits yet."
    if limit.part is None:
        return " The reason is not told: HPL timed no phases, or the runs take less than a second."
    noun = findings.noun
    at = counted(limit.result.count, noun)
    why = (LIMITS_OF_CORES if noun == "core" else LIMITS)[limit.part]
    if limit.part == UPDATE and findings.depth:
        why = "with look-ahead it also holds the broadcast, and waiting for it: --depth 0 tells them apart"
    name = NAMES[limit.part][0].upper() + NAMES[limit.part][1:]
    return f" {name}: {percent(limit.share)} % of the time at {at}, {percent(limit.lost)} % lost: {why}."


def order_sentence(compared: OrdersCompared, findings: ScalingFindings) -> str:
    """Say whether it matters which nodes are neighbours."""
    effect = max(compared.effects, key=lambda one: abs(one.loss)) if compared.differ else compared.effects[-1]
    at = counted(effect.count, findings.noun)
    word = "slower" if effect.loss >= 0 else "faster"
    interval = effect.interval
    if interval is not None and effect.loss < 0:
        interval = (-interval[1], -interval[0])
    scaling = _scaling(compared.scaling)
    if not compared.differ and abs(effect.loss) < SAME:
        return f"{scaling}: sorted and shuffled lists are equally fast."
    chance = "p < 0.001" if (compared.p or 0.0) < 0.001 else f"p = {compared.p:.2g}"
    told = f"{percent(abs(effect.loss))} % {word}{interval_text(interval)} on {at}, {chance}"
    if not compared.differ:
        return f"{scaling}: shuffled lists are not shown to differ from sorted ones ({told})."
    if effect.loss < 0:
        return f"{scaling}: shuffled lists are {told}: the sorted list puts ranks badly; try rank_order in a search."
    return (
        f"{scaling}: shuffled lists are {told}: it matters which nodes are neighbours; look at the uplinks of switches."
    )


def growth_sentence(growth: ScalingGrowth, noun: str) -> str:
    """Say how the loss grows."""
    told = f"{percent(growth.part)} %{interval_text(growth.interval)}"
    if growth.scaling is Scaling.WEAK:
        return f"Weak scaling: each doubling of {noun}s adds {told} to the time."
    if growth.part >= 1:
        return f"Strong scaling: more {noun}s make this N slower, not faster."
    most = f"at most {1 / growth.part:.3g} times the speed" if growth.part > 0 else "no bound on the speed is seen"
    return f"Strong scaling: by Amdahl's law {told} of the time stays, whatever the {noun}s: {most}."


def doubling_sentence(doubling: NextDoubling, noun: str) -> str:
    """Say what twice the nodes should give, and how good such a prediction was before."""
    low, high = doubling.expected.interval_gflops
    said = (
        f"{_scaling(doubling.scaling)}, predicted: {counted(doubling.count, noun)} give {doubling.expected.gflops:.4g} "
        f"GFLOPS ({low:.4g} to {high:.4g}) with N={doubling.N}, an efficiency of {percent(doubling.efficiency)} %."
    )
    if doubling.checked is None:
        return said
    off = doubling.checked.gflops / doubling.measured_gflops - 1
    low, high = doubling.checked.interval_gflops
    inside = "within" if low <= doubling.measured_gflops <= high else "outside"
    most = doubling.count // 2
    return f"{said} The same from fewer {noun}s was {100 * off:+.1f} % off for {most}, {inside} its interval."


def orders_with_effects(findings: ScalingFindings) -> list[OrdersCompared]:
    """The comparisons of sorted and shuffled lists that say something."""
    return [one for one in findings.orders if one.effects and one.p is not None]
