"""The page of `hpltune scale`: the report with figures."""

from dataclasses import replace

from results.report.model import Copied, Figure, Heading, Part, Report, Series, Table
from results.stats.scaling.efficiency import CountResult
from results.stats.scaling.overhead import PARTS
from results.stats.scaling.runs import NodeOrder, Scaling, alike

from ...scaling.findings import ScalingFindings
from .words import NAMES


def scaling_page(report: Report, findings: ScalingFindings, command: str) -> Report:
    """Make the page in the order in which it is read.

    Args:
        report: for a terminal.
        command: does the same again.
    """
    said = [part for part in report.parts if not isinstance(part, Table)]
    tables = [part for part in report.parts if isinstance(part, Table)]
    parts: list[Part] = list(said)
    if findings.results:
        parts += [Heading("Efficiency and rates"), efficiency_figure(findings), *rate_figures(findings)]
        parts += tables[:1]
    if findings.overheads:
        parts += [Heading("Where the time goes"), *time_figures(findings), *tables[1:]]
    parts += [Heading("Run it again"), Copied(command)]
    return replace(report, parts=tuple(parts))


def _series(findings: ScalingFindings) -> list[tuple[str, list[CountResult]]]:
    """The results of each kind of scaling and order, with a name."""
    several = len({result.order for result in findings.results}) > 1
    found = []
    for scaling in Scaling:
        for order in NodeOrder:
            own = [one for one in findings.results if (one.scaling, one.order) == (scaling, order)]
            if own:
                found.append((f"{scaling}, {order}" if several else str(scaling), own))
    return found


def efficiency_figure(findings: ScalingFindings) -> Figure:
    """Draw the efficiency over the number of nodes, with its interval."""
    lines = []
    for name, own in _series(findings):
        middle = tuple(100 * one.efficiency for one in own)
        ends = [one.interval or (one.efficiency, one.efficiency) for one in own]
        lines.append(
            Series(
                name,
                tuple(float(one.count) for one in own),
                middle,
                line=True,
                low=tuple(100 * low for low, _ in ends),
                high=tuple(100 * high for _, high in ends),
            )
        )
    return Figure("Efficiency", f"{findings.noun}s", "efficiency in %", tuple(lines), x_log=True)


def rate_figures(findings: ScalingFindings) -> list[Figure]:
    """Draw GFLOPS over the number of nodes for each kind of scaling, with the ideal line and the next doubling."""
    return [_rates(findings, scaling) for scaling in Scaling if any(one.scaling is scaling for one in findings.results)]


def _rates(findings: ScalingFindings, scaling: Scaling) -> Figure:
    own = [(name, results) for name, results in _series(findings) if results[0].scaling is scaling]
    lines = [
        Series(name, tuple(float(one.count) for one in results), tuple(one.usual_gflops for one in results), line=True)
        for name, results in own
    ]
    predicted = [one for one in findings.doublings if one.scaling is scaling]
    first = own[0][1][0]
    counts = [float(one.count) for one in own[0][1]] + [float(one.count) for one in predicted]
    each = first.usual_gflops / first.count
    lines.append(
        Series("ideal", tuple(counts), tuple(count * each for count in counts), line=True, bare=True, behind=True)
    )
    lines += [
        Series(
            "predicted",
            (float(one.count),),
            (one.expected.gflops,),
            low=(one.expected.interval_gflops[0],),
            high=(one.expected.interval_gflops[1],),
        )
        for one in predicted
    ]
    title = "GFLOPS, weak scaling" if scaling is Scaling.WEAK else "GFLOPS, strong scaling"
    return Figure(title, f"{findings.noun}s", "GFLOPS", tuple(lines), x_log=True, y_log=True)


def time_figures(findings: ScalingFindings) -> list[Figure]:
    """Draw the parts of the time over the number of nodes, one figure for each kind of scaling and order."""
    figures = []
    for name, own in _series(findings):
        spent = [one for one in findings.overheads if alike(one, own[0])]
        if spent:
            counts = tuple(str(one.count) for one in spent)
            bars = tuple(
                Series(NAMES[part], counts, tuple(100 * one.shares[part] for one in spent)) for part in reversed(PARTS)
            )
            title = f"Parts of the time: {name}"
            figures.append(Figure(title, f"{findings.noun}s", "% of the time", bars, stacked=True))
    return figures
