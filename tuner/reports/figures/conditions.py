"""What the machine did during a run, over its time: rate of panels, clock, temperature, power and CPU of others.

All is read from standard error as it is stored with a trial. What was not measured has no row.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from hpl.sizing import flop_count
from hpl.witness import NodeSeries, NodeSolve, parse_conditions, parse_panels, parse_power
from results.metrics import rate_text
from results.record import TrialRecord
from results.report.model import Figure, Series, Timeline
from results.stats.ranking import is_full_run

from ...trial.observers.conditions import FOREIGN_PART, TakenStretch, most_taken, taken_by_others
from ...trial.observers.sensors.registry import FILE_SENSORS

MOST_RUNS = 4
"""Disturbed runs that are drawn beside the best one: those that lost most."""
MOST_SOURCES = 2
"""Of power that are drawn: those nearest to the wall."""
POINTS = 80
"""Of a line of panels at most: where panels are shorter, some together are a point."""
TIME = "seconds since the solve began"
PANELS = (
    "Each point of the rate is a mean of panels, without the first one. Its time counts from that one, so it may stand "
    "up to {late_s} s too far left."
)


def most_disturbed(records: Sequence[TrialRecord], but: TrialRecord | None = None) -> list[TrialRecord]:
    """Return the full runs that lost most to a disturbance, at most `MOST_RUNS`, in their order.

    Args:
        but: a run that is left out.
    """
    found = [
        (record.disturbed.got, record.number, record)
        for record in records
        if record.disturbed and is_full_run(record) and (but is None or record.number != but.number)
    ]
    worst = sorted(found, key=lambda one: one[:2])[:MOST_RUNS]
    return [record for _, _, record in sorted(worst, key=lambda one: one[1])]


def conditions(record: TrialRecord) -> Timeline | None:
    """Draw what the machine did during a run; None where nothing was measured meanwhile.

    Args:
        record: with its standard error.
    """
    solve_s = record.measurements.get("solve_s", 0.0)
    told = next(iter(parse_conditions(record.errors_text).values()), None)
    if told is None or not solve_s > 0:
        return None
    most = most_taken(told)
    node = most[0] if most else next(iter(told.nodes), None)
    of_node = [one for one in told.series if node and one.host == node.host]
    taken = _taken(of_node, *most) if most else ()
    cores = node.figures.get("cores", 0.0) if node else 0.0
    panels, late_s = _panels(record.errors_text, solve_s)
    rows = [
        row
        for row in (panels, *_sensors(of_node), *_power(record.errors_text, solve_s), _others(taken))
        if row is not None
    ]
    if not rows or rows == [panels]:
        return None
    shaded = _joined([one for one in taken if one.cores > FOREIGN_PART * cores])
    said = [
        PANELS.format(late_s=f"{late_s:.2g}") if panels else "",
        "Dashed: begin and end of the solve.",
        f"Shaded: others took more than {FOREIGN_PART:.0%} of the {cores:.0f} cores." if shaded else "",
        f"Of node {node.host}, of which others took the largest part." if node and len(told.nodes) > 1 else "",
        f"Disturbed: {record.disturbed}." if record.disturbed else "",
    ]
    rate = f", {rate_text(record.gflops)} GFLOPS" if record.gflops else ""
    return Timeline(
        f"What the machine did during trial {record.number}{rate}{', disturbed' if record.disturbed else ''}",
        tuple(rows),
        shaded,
        ((0.0, "begin"), (solve_s, "end")),
        " ".join(filter(None, said)),
    )


def _panels(errors_text: str, solve_s: float) -> tuple[Figure | None, float]:
    """Draw the rate of panels without the first one, which HPL begins before its clock runs evenly.

    Returns:
        The row, and how many seconds after the solve the first panel may have begun.
    """
    panels = [one for one in parse_panels(errors_text) if 0 <= one.time_s <= solve_s and 0 <= one.column <= one.N]
    rising = panels[1:2]
    for panel in panels[2:]:
        later = panel.time_s - rising[-1].time_s >= solve_s / POINTS
        if later and panel.column > rising[-1].column and panel.N == rising[-1].N:
            rising.append(panel)
    points = [
        (
            (one.time_s + next_one.time_s) / 2,
            1e-9 * flop_count(one.N) * (next_one.fraction - one.fraction) / (next_one.time_s - one.time_s),
        )
        for one, next_one in pairwise(rising)
    ]
    late_s = solve_s - max((one.time_s for one in panels), default=solve_s)
    return _row("Rate of panels", "GFLOPS", points), late_s


def _sensors(of_node: Sequence[NodeSeries]) -> list[Figure | None]:
    """Draw what files of the node told."""
    drawn = []
    for sensor in FILE_SENSORS:
        line = sensor.line([one for one in of_node if any(fnmatchcase(one.name, glob) for glob in sensor.globs)])
        if line is not None:
            points = list(zip(line.times_s, line.values, strict=True))
            drawn.append(_row(line.what, line.unit, points, zero=False))
    return drawn


def _power(errors_text: str, solve_s: float) -> list[Figure | None]:
    """Draw the power as the first sources told it, each once."""
    sources = {one.source: one for one in reversed(parse_power(errors_text))}
    rows = []
    for source, one in list(reversed(sources.items()))[:MOST_SOURCES]:
        points = [point for point in zip(one.times_s, one.watts, strict=True) if point[0] <= solve_s]
        rows.append(_row(f"Power by {source}", "W", points))
    return rows


def _taken(of_node: Sequence[NodeSeries], node: NodeSolve, foreign_s: float) -> Sequence[TakenStretch]:
    """Return what others took over time; where the samples of a short run missed most of it, its mean."""
    by_name = {one.name: one for one in of_node}
    busy, own = by_name.get("busy_s"), by_name.get("ranks_cpu_s")
    whole_s = node.end_s - node.begin_s
    found = taken_by_others(busy, own, whole_s, foreign_s) if busy and own else ()
    missed = sum(one.cores * (one.end_s - one.begin_s) for one in found) < foreign_s / 2
    return [TakenStretch(0.0, whole_s, foreign_s / whole_s)] if found and missed else found


def _others(taken: Sequence[TakenStretch]) -> Figure | None:
    """Draw what others took as steps, because each figure is the mean of a stretch."""
    points = [point for one in taken for point in ((one.begin_s, one.cores), (one.end_s, one.cores))]
    return _row("CPU time that others took", "cores", points, bare=True)


def _row(
    what: str, unit: str, points: Sequence[tuple[float, float]], *, zero: bool = True, bare: bool = False
) -> Figure | None:
    """Draw a line of at least two points; None where there are fewer."""
    if len(points) < 2:
        return None
    x, y = zip(*points, strict=True)
    return Figure(what, TIME, unit, (Series(what, x, y, line=True, bare=bare),), from_zero=zero)


def _joined(stretches: Sequence[TakenStretch]) -> tuple[tuple[float, float], ...]:
    """Return stretches as times, those that follow on each other as one."""
    found: list[tuple[float, float]] = []
    for one in stretches:
        if found and found[-1][1] == one.begin_s:
            found[-1] = (found[-1][0], one.end_s)
        else:
            found.append((one.begin_s, one.end_s))
    return tuple(found)
