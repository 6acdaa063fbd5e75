"""The report and page of `hpltune scale`: the verdict first, then rates and efficiency, then where the time goes."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import groupby

from results.metrics import four_digits
from results.report.model import (
    Copied,
    Figure,
    Heading,
    Part,
    Report,
    Sentence,
    Series,
    Table,
    Tone,
    Wrap,
    columns,
    uncounted,
)
from results.stats.noise import USUAL_NOISE

from ..events import CAUTION
from ..words import counted, listed
from .findings import NextDoubling, ScalingFindings
from .statistics import (
    BROADCAST,
    PANEL,
    PARTS,
    SOLVE,
    SWAP,
    UPDATE,
    CountResult,
    Limit,
    NodeOrder,
    OrderComparison,
    Overhead,
    Scaling,
    ScalingGrowth,
    alike,
)

EFFICIENCY = "efficiency %"
SHOWN_FAILED = 5
"""Runs that do not count, of which each has a sentence."""

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
NARROW = 0.03
"""Width of an interval that whole percents would not show."""
SAME = 1e-3
"""A part of the rate that nobody need hear of."""


def scaling_report(machine: str, study: str, findings: ScalingFindings) -> Report:
    """Make the report for a terminal and for scripts."""
    parts = (*_told(machine, study, findings), *tables(findings))
    return Report(f"HPL on more {findings.noun}s of {machine}", parts, scaling_facts(machine, study, findings))


def _told(machine: str, study: str, findings: ScalingFindings) -> Iterator[Part]:
    """What the runs tell, in sentences."""
    if not findings.limits:
        yield Sentence(f"Runs on two numbers of {findings.noun}s must count before anything is told.", tone=Tone.BAD)
    if findings.unknown:
        yield Sentence(f"{CAUTION}{findings.unknown}", tone=Tone.CAUTION)
    good = not findings.unknown and all(limit.surely_little for limit in findings.limits)
    yield from (Sentence(sentence, tone=Tone.GOOD if good else Tone.PLAIN) for sentence in verdicts(findings))
    for compared in (one for one in findings.orders if one.effects and one.p is not None):
        yield Sentence(order_sentence(compared, findings), tone=(Tone.CAUTION if compared.differ else Tone.PLAIN))
    yield from (Sentence(growth_sentence(growth, findings.noun)) for growth in findings.growth)
    yield from (Sentence(doubling_sentence(doubling, findings.noun)) for doubling in findings.doublings)
    if findings.lost_nodes:
        yield Sentence(f"Lost on the way: {listed(findings.lost_nodes)}.", tone=Tone.BAD)
    yield from (Sentence(sentence, tone=Tone.BAD) for sentence in uncounted(findings.failed[:SHOWN_FAILED]))
    if len(findings.failed) > SHOWN_FAILED:
        yield Sentence(f"{counted(len(findings.failed) - SHOWN_FAILED, 'more run')} did not count.", tone=Tone.BAD)
    yield Sentence(
        f"Simulated on {machine}; nothing was measured. Stored as study {study}."
        if findings.simulated
        else f"Stored as study {study}."
    )


def tables(findings: ScalingFindings) -> Iterator[Table]:
    """Make the tables of rates and of the parts of the time."""
    if findings.results:
        yield _rates(findings)
    if findings.overheads:
        yield _times(findings)


def _rates(findings: ScalingFindings) -> Table:
    """Make the table of rates; what matters comes first, because a narrow page begins at the left."""
    counted_as = f"{findings.noun}s"
    names = ("scaling", "order", counted_as, EFFICIENCY, "GFLOPS", "N", "PxQ", "runs")
    heads = columns(*names, words={"scaling", "order", "PxQ"})
    rows = tuple(
        (
            str(result.scaling),
            str(result.order),
            str(result.count),
            with_interval(result.efficiency, result.interval, unit=""),
            four_digits(result.usual_gflops),
            str(result.N),
            result.grid,
            str(len(result.gflops)),
        )
        for result in findings.results
    )
    caption = (
        f"Efficiency: GFLOPS of each {findings.noun} against the smallest number; in brackets the interval that holds "
        f"it with 95 %.{_assumed(findings)}"
    )
    return _telling(Table("Rates and efficiency", heads, rows, caption=caption, narrow=names[:6]))


def _assumed(findings: ScalingFindings) -> str:
    """The sentence that no repeats tell the chance of a run, where that is so and there are intervals."""
    told = any(one.interval for one in findings.results)
    once = told and not (findings.simulated or any(len(one.gflops) > 1 for one in findings.results))
    return f" Nothing ran twice: that runs differ by {100 * USUAL_NOISE:.0f} % is assumed, not measured." * once


def _times(findings: ScalingFindings) -> Table:
    counted_as = f"{findings.noun}s"
    names = ("scaling", "order", counted_as, "most lost in", *PARTS, "time s")
    heads = columns(*names, words={"scaling", "order", "most lost in"}, wrap=Wrap.NEVER)
    rows = tuple(_time_row(one) for one in findings.overheads)
    caption = (
        "Parts of the time in %, by HPL's own timers. HPL does not time the broadcast: it is the rest, with all "
        f"waiting for panels. Lost: % of the time that is lost against the fewest {findings.noun}s."
    )
    narrow = ("scaling", "order", counted_as, *PARTS)
    return _telling(Table("Where the time goes", heads, rows, caption=caption, narrow=narrow))


def _time_row(one: Overhead) -> tuple[str, ...]:
    worst = max(one.lost, key=lambda name: one.lost[name])
    lost = f"{worst} {percent(one.lost[worst])}" if one.lost[worst] >= 0.005 else ""
    shares = (percent(one.shares[name]) for name in PARTS)
    return str(one.scaling), str(one.order), str(one.count), lost, *shares, f"{one.time_s:.4g}"


def _telling(table: Table) -> Table:
    """Return a table without the kinds of scaling and orders of which all rows have the same."""
    same = {
        column.name
        for number, column in enumerate(table.columns)
        if column.name in {"scaling", "order"} and len({row[number] for row in table.rows}) == 1
    }
    kept = table.only(tuple(column.name for column in table.columns if column.name not in same))
    return replace(kept, narrow=table.narrow)


def scaling_facts(machine: str, study: str, findings: ScalingFindings) -> dict[str, object]:
    """Tell everything to scripts."""
    return {
        "machine": machine,
        "study": study,
        "simulated": findings.simulated,
        "counted": f"{findings.noun}s",
        "results": [{**asdict(one), "usual_gflops": one.usual_gflops} for one in findings.results],
        "overheads": [asdict(one) for one in findings.overheads],
        "orders": [{**asdict(one), "differ": one.differ} for one in findings.orders],
        "growth": [asdict(one) for one in findings.growth],
        "limits": [
            {
                "scaling": limit.result.scaling,
                "order": limit.result.order,
                "count": limit.result.count,
                "efficiency": limit.result.efficiency,
                "part": limit.part,
                "lost": limit.lost,
                "share": limit.share,
            }
            for limit in findings.limits
        ],
        "predictions": [
            {
                "scaling": one.scaling,
                "count": one.count,
                "N": one.N,
                "gflops": None if one.why_not else one.expected.gflops,
                "interval_gflops": None if one.why_not else list(one.expected.interval_gflops),
                "efficiency": None if one.why_not else one.efficiency,
                "why_not": one.why_not or None,
                "checked": None if one.checked is None else asdict(one.checked),
                "measured_gflops": one.measured_gflops,
            }
            for one in findings.doublings
        ],
        "lost_nodes": list(findings.lost_nodes),
        "doubt": findings.unknown,
        "failed": [{"trial": record.number, "reason": record.reason} for record in findings.failed],
        "verdict": list(verdicts(findings)),
    }


def scaling_page(report: Report, findings: ScalingFindings, command: str) -> Report:
    """Make the page in the order in which it is read.

    Args:
        report: for a terminal.
        command: does the same again.
    """
    tables = [part for part in report.parts if isinstance(part, Table)]
    parts: list[Part] = [part for part in report.parts if not isinstance(part, Table)]
    if findings.results:
        scalings = [one for one in Scaling if any(result.scaling is one for result in findings.results)]
        rates = [_rate_figure(findings, scaling) for scaling in scalings]
        parts += [Heading("Efficiency and rates"), efficiency_figure(findings), *rates]
        parts += tables[:1]
    if findings.overheads:
        parts += [Heading("Where the time goes"), *time_figures(findings), *tables[1:]]
    parts += [Heading("Run it again"), Copied(command)]
    return replace(report, parts=tuple(parts))


def _series(findings: ScalingFindings) -> list[tuple[str, list[CountResult]]]:
    """The results of each kind of scaling and order, with a name."""
    several = len({result.order for result in findings.results}) > 1
    kinds = groupby(findings.results, lambda one: (one.scaling, one.order))
    return [(f"{scaling}, {order}" if several else str(scaling), list(own)) for (scaling, order), own in kinds]


def efficiency_figure(findings: ScalingFindings) -> Figure:
    """Draw the efficiency over the number of nodes, with its interval."""
    lines = tuple(
        Series(
            name,
            tuple(float(one.count) for one in own),
            tuple(100 * one.efficiency for one in own),
            line=True,
            low=tuple(100 * min(one.interval or (one.efficiency,)) for one in own),
            high=tuple(100 * max(one.interval or (one.efficiency,)) for one in own),
        )
        for name, own in _series(findings)
    )
    return Figure("Efficiency", f"{findings.noun}s", "efficiency in %", lines, x_log=True)


def _rate_figure(findings: ScalingFindings, scaling: Scaling) -> Figure:
    """Draw GFLOPS over the number of nodes, with the ideal line and the next doubling."""
    own = [(name, results) for name, results in _series(findings) if results[0].scaling is scaling]
    predicted = [one for one in findings.doublings if one.scaling is scaling and not one.why_not]
    first, ran = own[0][1][0], [one.count for one in own[0][1]]
    counts = tuple(map(float, (*ran, *(one.count for one in predicted))))
    ideal = tuple(count * (first.usual_gflops / first.count) for count in counts)
    lines = [
        Series(name, tuple(float(one.count) for one in results), tuple(one.usual_gflops for one in results), line=True)
        for name, results in own
    ]
    lines += [
        Series("ideal", counts, ideal, line=True, bare=True, behind=True),
        *(
            Series(
                "predicted",
                (float(one.count),),
                (one.expected.gflops,),
                low=(one.expected.interval_gflops[0],),
                high=(one.expected.interval_gflops[1],),
            )
            for one in predicted
        ),
    ]
    return Figure(f"GFLOPS, {scaling} scaling", f"{findings.noun}s", "GFLOPS", tuple(lines), x_log=True, y_log=True)


def time_figures(findings: ScalingFindings) -> list[Figure]:
    """Draw the parts of the time over the number of nodes, one figure for each kind of scaling and order."""
    return [
        Figure(
            f"Parts of the time: {name}",
            f"{findings.noun}s",
            "% of the time",
            tuple(
                Series(
                    NAMES[part],
                    tuple(str(one.count) for one in spent),
                    tuple(100 * one.shares[part] for one in spent),
                )
                for part in reversed(PARTS)
            ),
            stacked=True,
        )
        for name, own in _series(findings)
        if (spent := [one for one in findings.overheads if alike(one, own[0])])
    ]


def percent(part: float, digits: int | None = None) -> str:
    """A part of 1 in percent, with two digits or three, or so many after the point."""
    return f"{100 * part:.{(1 if abs(part) < 0.0995 else 0) if digits is None else digits}f}"


def with_interval(part: float, interval: tuple[float, float] | None, unit: str = " %") -> str:
    """A part of 1 in percent with its interval in brackets, in digits that show that the interval has a width."""
    if interval is None:
        return f"{percent(part)}{unit}"
    low, high = interval
    digits = 1 if high - low < NARROW else None
    return f"{percent(part, digits)}{unit} ({percent(low, digits)} to {percent(high, digits)})"


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
        yield f"{result.scaling.words}{order}: {reached}{_limit(limit, findings)}"


def _efficiency(result: CountResult, first: CountResult, noun: str) -> str:
    more, times = counted(result.count, noun), result.usual_gflops / first.usual_gflops
    efficiency = f"an efficiency of {with_interval(result.efficiency, result.interval)}."
    low, high = result.interval or (result.efficiency, result.efficiency)
    if low * result.count / first.count <= 1 <= high * result.count / first.count:
        return f"{more} are not shown to be faster than {first.count}: {times:.2f} times as fast, {efficiency}"
    return f"{more} are {times:.3g} times as fast as {first.count}, {efficiency}"


def _limit(limit: Limit, findings: ScalingFindings) -> str:
    if limit.surely_little:
        return " Nothing limits yet."
    if limit.perhaps_nothing:
        return " A loss is not shown: more repeats tell more."
    if limit.part is None:
        return " The reason is not told: HPL timed no phases, or the runs take less than a second."
    noun = findings.noun
    at = counted(limit.result.count, noun)
    why = (LIMITS_OF_CORES if noun == "core" else LIMITS)[limit.part]
    if limit.part == UPDATE and findings.depth:
        why = "with look-ahead it also holds the broadcast, and waiting for it: ⟦depth⟧ 0 tells them apart"
    name = NAMES[limit.part][0].upper() + NAMES[limit.part][1:]
    return f" {name}: {percent(limit.share)} % of the time at {at}, {percent(limit.lost)} % lost: {why}."


def order_sentence(compared: OrderComparison, findings: ScalingFindings) -> str:
    """Say whether it matters which nodes are neighbours."""
    effect = max(compared.effects, key=lambda one: abs(one.loss)) if compared.differ else compared.effects[-1]
    at = counted(effect.count, findings.noun)
    word = "slower" if effect.loss >= 0 else "faster"
    interval = effect.interval
    if interval is not None and effect.loss < 0:
        interval = (-interval[1], -interval[0])
    scaling = compared.scaling.words
    widest = max(map(abs, interval or (effect.loss,)))
    if not compared.differ and widest < SAME:
        return f"{scaling}: sorted and shuffled lists are equally fast."
    chance = "p < 0.001" if (compared.p or 0.0) < 0.001 else f"p = {compared.p:.2g}"
    told = f"{with_interval(abs(effect.loss), interval, f' % {word}')} on {at}, {chance}"
    if not compared.differ:
        return f"{scaling}: shuffled lists are not shown to differ from sorted ones ({told})."
    if effect.loss < 0:
        return f"{scaling}: shuffled lists are {told}: the sorted list puts ranks badly; try rank_order in a search."
    return (
        f"{scaling}: shuffled lists are {told}: it matters which nodes are neighbours; look at the uplinks of switches."
    )


def growth_sentence(growth: ScalingGrowth, noun: str) -> str:
    """Say how the loss grows."""
    told = with_interval(growth.part, growth.interval)
    low, high = growth.interval or (growth.part, growth.part)
    first, last = growth.counts[0], growth.counts[-1]
    if growth.scaling is Scaling.WEAK:
        if len(growth.counts) == 2:
            each = " for each doubling" if last > 2 * first else ""
            return f"Weak scaling: {counted(last, noun)} in place of {first} add {told} to the time{each}."
        return f"Weak scaling: each doubling of {noun}s adds {told} to the time."
    if low > 1 and growth.interval is None:
        return f"Strong scaling: more {noun}s did not make this N faster."
    if low > 1:
        return f"Strong scaling: more {noun}s make this N slower, not faster."
    if high >= 1:
        return f"Strong scaling: more {noun}s are not shown to make this N faster or slower."
    unchecked = ", which two numbers cannot check," if len(growth.counts) == 2 else ""
    law = f"by Amdahl's law{unchecked} {told} of the time stays, whatever the {noun}s"
    return f"Strong scaling: {law}: {_bound(growth)}."


def _bound(growth: ScalingGrowth) -> str:
    """How fast any number of nodes can be by Amdahl's law."""
    low, high = growth.interval or (growth.part, growth.part)
    if growth.part <= 0:
        return f"no bound on the speed{f' below {1 / high:.3g} times' if high > 0 else ''} is seen"
    if growth.interval is None:
        return f"at most {1 / growth.part:.3g} times the speed"
    between = f"{1 / high:.3g} to {1 / low:.3g}" if low > 0 else f"{1 / high:.3g} or more"
    return f"at most {1 / growth.part:.3g} times the speed ({between})"


def doubling_sentence(doubling: NextDoubling, noun: str) -> str:
    """Say what twice the nodes should give, and how good such a prediction was before."""
    if doubling.why_not:
        at = counted(doubling.count, noun)
        return f"{doubling.scaling.words}: what {at} give cannot be told: {doubling.why_not}."
    low, high = doubling.expected.interval_gflops
    said = (
        f"{doubling.scaling.words}, predicted: {counted(doubling.count, noun)} give "
        f"{four_digits(doubling.expected.gflops)} GFLOPS ({four_digits(low)} to {four_digits(high)}) with "
        f"N={doubling.N}, an efficiency of {percent(doubling.efficiency)} %."
    )
    if doubling.checked is None:
        return said
    off = doubling.checked.gflops / doubling.measured_gflops - 1
    low, high = doubling.checked.interval_gflops
    inside = "within" if low <= doubling.measured_gflops <= high else "outside"
    most = doubling.count // 2
    return f"{said} The same from fewer {noun}s was {100 * off:+.1f} % off for {most}, {inside} its interval."
