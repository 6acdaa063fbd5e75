"""Tables and a figure of the runs of HPL on groups of nodes."""

from collections.abc import Iterator, Sequence
from statistics import median

from results.report.model import Column, Figure, Series, Table
from results.stats.nodes.groups.group_run import ORDERS, GroupRun
from results.stats.nodes.name_ranges import ranges

COLUMNS = ("order", "runs", "failed", "low", "median", "high")
MOST_FAILED = 12
"""Failed runs that are listed."""


def group_tables(runs: Sequence[GroupRun]) -> Iterator[Table]:
    """Make a table with a row for each order of groups, and one of the failed runs; none where nothing ran."""
    rows = [_row(order, own) for order in ORDERS if (own := [run for run in runs if run.order == order])]
    if rows:
        size = len(runs[0].nodes)
        columns = (Column("order", words=True), *map(Column, COLUMNS[1:]))
        caption = "Sorted: neighbours. Shuffle: drawn anew in each turn. All groups of a turn run at once."
        yield Table(f"HPL on groups of {size} nodes, GFLOPS", columns, tuple(rows), caption=caption)
    failed = [run for run in runs if not run.counts]
    if failed:
        columns = (Column("order", words=True), Column("turn"), Column("nodes", words=True), Column("why", words=True))
        rows = [(run.order, str(run.turn), ranges(run.nodes), run.why) for run in failed[:MOST_FAILED]]
        caption = f"The first {MOST_FAILED} of {len(failed)}; --json lists all." if len(failed) > MOST_FAILED else ""
        yield Table("Failed runs on groups", columns, tuple(rows), caption=caption)


def group_figures(runs: Sequence[GroupRun]) -> Iterator[Figure]:
    """Draw the rate of each run over the turns, with its nodes; none where no run counts."""
    series = tuple(
        Series(
            order,
            tuple(f"{order} {run.turn}" for run in own),
            tuple(run.gflops or 0.0 for run in own),
            tuple(ranges(run.nodes) for run in own),
        )
        for order in ORDERS
        if (own := [run for run in runs if run.counts and run.order == order])
    )
    if series:
        yield Figure(f"HPL on groups of {len(runs[0].nodes)} nodes: each run", "order and turn", "GFLOPS", series)


def _row(order: str, runs: Sequence[GroupRun]) -> tuple[str, ...]:
    rates = [run.gflops for run in runs if run.counts and run.gflops is not None]
    figures = (min(rates), median(rates), max(rates)) if rates else ()
    failed = str(sum(not run.counts for run in runs))
    return (order, str(len(runs)), failed, *(f"{one:.4g}" for one in figures), *("",) * (3 - len(figures)))
