"""A table of the runs of HPL on groups of nodes."""

from collections.abc import Iterator, Sequence
from statistics import median

from results.report.model import Column, Table
from results.stats.nodes.groups.group_run import ORDERS, GroupRun

COLUMNS = ("order", "runs", "failed", "low", "median", "high")


def group_tables(runs: Sequence[GroupRun]) -> Iterator[Table]:
    """Make a table with a row for each order of groups; none where nothing ran."""
    rows = [_row(order, own) for order in ORDERS if (own := [run for run in runs if run.order == order])]
    if rows:
        size = len(runs[0].nodes)
        columns = (Column("order", words=True), *map(Column, COLUMNS[1:]))
        caption = "Sorted: neighbours. Shuffle: drawn anew in each turn. All groups of a turn run at once."
        yield Table(f"HPL on groups of {size} nodes, GFLOPS", columns, tuple(rows), caption=caption)


def _row(order: str, runs: Sequence[GroupRun]) -> tuple[str, ...]:
    rates = [run.gflops for run in runs if run.counts and run.gflops is not None]
    figures = (min(rates), median(rates), max(rates)) if rates else ()
    failed = str(sum(not run.counts for run in runs))
    return (order, str(len(runs)), failed, *(f"{one:.4g}" for one in figures), *("",) * (3 - len(figures)))
