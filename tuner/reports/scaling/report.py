"""The report of `hpltune scale`: the verdict first, then rates and efficiency, then where the time goes."""

from collections.abc import Iterator
from dataclasses import asdict, replace

from results.report.model import Column, Part, Report, Sentence, Table, Tone, Wrap
from results.report.outcome import outcome
from results.stats.scaling.efficiency import CountResult
from results.stats.scaling.overhead import PARTS, Overhead

from ...scaling.findings import NextDoubling, ScalingFindings
from ...words import counted, listed
from .words import (
    doubling_sentence,
    growth_sentence,
    interval_text,
    order_sentence,
    orders_with_effects,
    percent,
    verdicts,
)

EFFICIENCY = "efficiency %"
SHOWN_FAILED = 5
"""Runs that do not count, of which each has a sentence."""


def scaling_report(machine: str, study: str, findings: ScalingFindings) -> Report:
    """Make the report for a terminal and for scripts."""
    parts = (*_told(machine, study, findings), *tables(findings))
    return Report(f"HPL on more {findings.noun}s of {machine}", parts, scaling_facts(machine, study, findings))


def _told(machine: str, study: str, findings: ScalingFindings) -> Iterator[Part]:
    """What the runs tell, in sentences."""
    if not findings.limits:
        yield Sentence(f"Runs on two numbers of {findings.noun}s must count before anything is told.", tone=Tone.BAD)
    good = all(limit.little for limit in findings.limits)
    for sentence in verdicts(findings):
        yield Sentence(sentence, tone=Tone.GOOD if good else Tone.PLAIN)
    for compared in orders_with_effects(findings):
        tone = Tone.CAUTION if compared.differ else Tone.PLAIN
        yield Sentence(order_sentence(compared, findings), tone=tone)
    for growth in findings.growth:
        yield Sentence(growth_sentence(growth, findings.noun))
    for doubling in findings.doublings:
        yield Sentence(doubling_sentence(doubling, findings.noun))
    if findings.lost_nodes:
        yield Sentence(f"Lost on the way: {listed(findings.lost_nodes)}.", tone=Tone.BAD)
    for record in findings.failed[:SHOWN_FAILED]:
        yield Sentence(f"Trial {record.number} does not count: {outcome(record).strip()}", tone=Tone.BAD)
    if len(findings.failed) > SHOWN_FAILED:
        yield Sentence(f"{counted(len(findings.failed) - SHOWN_FAILED, 'more run')} did not count.", tone=Tone.BAD)
    how = f"Simulated on {machine}; nothing was measured. S" if findings.simulated else "S"
    yield Sentence(f"{how}tored as study {study}.")


def tables(findings: ScalingFindings) -> Iterator[Table]:
    """Make the tables of rates and of the parts of the time."""
    if findings.results:
        yield _rates(findings)
    if findings.overheads:
        yield _times(findings)


def _rates(findings: ScalingFindings) -> Table:
    """Make the table of rates; what matters comes first, because a narrow page begins at the left."""
    counted_as = f"{findings.noun}s"
    columns = (
        Column("scaling", words=True), Column("order", words=True), Column(counted_as), Column(EFFICIENCY),
        Column("GFLOPS"), Column("N"), Column("PxQ", words=True), Column("runs"),
    )  # fmt: skip
    rows = tuple(_rate_row(result) for result in findings.results)
    caption = (
        f"Efficiency: GFLOPS of each {findings.noun} against the smallest number; in brackets the interval that holds "
        "it with 95 %."
    )
    narrow = ("scaling", "order", counted_as, EFFICIENCY, "GFLOPS", "N")
    return _telling(Table("Rates and efficiency", columns, rows, caption=caption, narrow=narrow))


def _rate_row(result: CountResult) -> tuple[str, ...]:
    told = f"{percent(result.efficiency)}{interval_text(result.interval)}"
    return (
        str(result.scaling),
        str(result.order),
        str(result.count),
        told,
        f"{result.usual_gflops:.4g}",
        str(result.N),
        result.grid,
        str(len(result.gflops)),
    )


def _times(findings: ScalingFindings) -> Table:
    counted_as = f"{findings.noun}s"
    heads = ("scaling", "order", counted_as, "most lost in", *PARTS, "time s")
    columns = tuple(Column(head, words=head in {"scaling", "order", "most lost in"}, wrap=Wrap.NEVER) for head in heads)
    rows = tuple(_time_row(one) for one in findings.overheads)
    caption = (
        "Parts of the time in %, by HPL's own timers. HPL does not time the broadcast: it is the rest, with all "
        f"waiting for panels. Lost: % of the time that is lost against the fewest {findings.noun}s."
    )
    narrow = ("scaling", "order", counted_as, *PARTS)
    return _telling(Table("Where the time goes", columns, rows, caption=caption, narrow=narrow))


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
        "predictions": [_doubling(one) for one in findings.doublings],
        "lost_nodes": list(findings.lost_nodes),
        "failed": [{"trial": record.number, "reason": record.reason} for record in findings.failed],
        "verdict": list(verdicts(findings)),
    }


def _doubling(one: NextDoubling) -> dict[str, object]:
    return {
        "scaling": one.scaling,
        "count": one.count,
        "N": one.N,
        "gflops": one.expected.gflops,
        "interval_gflops": list(one.expected.interval_gflops),
        "efficiency": one.efficiency,
        "checked": None if one.checked is None else asdict(one.checked),
        "measured_gflops": one.measured_gflops,
    }
