"""Messages between nodes: a table for each network, and heat maps."""

from collections.abc import Iterator, Sequence
from statistics import median

from results.report.model import Column, Matrix, Table
from results.stats.nodes.check import NodeCheck
from results.stats.nodes.pair_rate import PairRate

MOST_DRAWN = 16
"""Rows and columns of a heat map of pairs; of a larger cluster each cell stands for several nodes."""
COLUMNS = ("pattern", "pairs", "low", "median", "high", "latency µs", "at once", "all pairs")
NARROW = ("pattern", "low", "median", "at once", "all pairs")


def pair_tables(check: NodeCheck) -> Iterator[Table]:
    """Make a table of each network: the rates of each pattern one pair at a time and all at once."""
    for network in networks_of_check(check):
        rows = []
        for pattern in dict.fromkeys(pair.pattern for pair in check.pairs):
            alone = _of(check.pairs, network, pattern)
            at_once = [pair.rate for pair in _of(check.pairs_at_once, network, pattern)]
            if alone:
                rows.append(_row(pattern, alone, at_once))
        if rows:
            title = f"Messages between nodes over {network}, MB/s" if network else "Messages between nodes, MB/s"
            columns = (Column("pattern", words=True), *map(Column, COLUMNS[1:]))
            caption = (
                "Low to high: back and forth, one pair at a time. At once: a pair (median) while all of the pattern "
                "send, and their sum."
            )
            yield Table(title, columns, tuple(rows), narrow=NARROW, caption=caption)


def networks_of_check(check: NodeCheck) -> list[str]:
    """Return the names of the networks, in the order in which they were measured."""
    return list(dict.fromkeys(pair.network for pair in (*check.pairs, *check.pairs_at_once)))


def _of(pairs: Sequence[PairRate], network: str, pattern: str) -> list[PairRate]:
    return [pair for pair in pairs if (pair.network, pair.pattern) == (network, pattern) and pair.counts]


def _row(pattern: str, alone: Sequence[PairRate], at_once: Sequence[float]) -> tuple[str, ...]:
    rates = [pair.rate for pair in alone]
    latencies = [pair.latency_us for pair in alone if pair.latency_us is not None]
    return (
        pattern,
        str(len(alone)),
        *(_figure(figure) for figure in (min(rates), median(rates), max(rates))),
        f"{median(latencies):.3g}" if latencies else "",
        *((_figure(median(at_once)), _figure(sum(at_once))) if at_once else ("", "")),
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def pair_matrices(check: NodeCheck) -> list[Matrix]:
    """Draw the rates between nodes; in a large cluster the slowest pair of each two groups of neighbours."""
    drawn = []
    for network in networks_of_check(check):
        over = f" over {network}" if network else ""
        for how, pairs in (("one pair at a time", check.pairs), ("all pairs at once", check.pairs_at_once)):
            own = [pair for pair in pairs if pair.network == network and pair.counts]
            if own:
                drawn.append(_matrix(f"Slowest rate between nodes{over}, {how}", check.nodes, own))
    return drawn


def _matrix(title: str, nodes: Sequence[str], pairs: Sequence[PairRate]) -> Matrix:
    groups = _groups(nodes)
    place = {node: number for number, group in enumerate(groups) for node in group}
    cells: list[list[float | None]] = [[None] * len(groups) for _ in groups]
    for pair in pairs:
        if pair.one in place and pair.other in place:
            for row, column in ((place[pair.one], place[pair.other]), (place[pair.other], place[pair.one])):
                known = cells[row][column]
                cells[row][column] = pair.rate if known is None else min(known, pair.rate)
    names = tuple(group[0] if len(group) == 1 else f"{group[0]}…" for group in groups)
    return Matrix(title, "node", "node", names, names, tuple(tuple(row) for row in cells), "MB/s")


def _groups(nodes: Sequence[str]) -> list[Sequence[str]]:
    size = -(-len(nodes) // MOST_DRAWN)
    return [nodes[first : first + size] for first in range(0, len(nodes), size)]
