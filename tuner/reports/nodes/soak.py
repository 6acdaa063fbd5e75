"""What a burn-in shows: a table of all nodes, and rates, clocks and temperatures over time."""

from collections.abc import Callable, Iterator, Sequence

from results.report.model import Column, Figure, Series, Table
from results.stats.nodes.check import NodeCheck, SoakSample
from results.stats.nodes.soak import SoakedNode, samples_by_node, soaked_nodes

SHOWN = 12
"""Nodes in the table and in each figure: those whose rate fell most."""


def soak_tables(check: NodeCheck) -> Iterator[Table]:
    """Make a table of the nodes whose rate fell most; none where there was no burn-in."""
    nodes = _worst(check)
    if not nodes:
        return
    names = ("node", "runs", "first GFLOPS", "last GFLOPS", "median MHz", "hottest °C")
    columns = (Column("node", words=True), *map(Column, names[1:]))
    rows = tuple(
        (one.node, str(one.runs), f"{one.first:.4g}", f"{one.last:.4g}", _figure(one.mhz), _figure(one.celsius))
        for one in nodes
    )
    left = len(soaked_nodes(check)) - len(nodes)
    caption = "No value: the node has no such sensor, as virtual machines have none."
    more = f" {left} more nodes kept their rate better." if left else ""
    yield Table("HPL again and again", columns, rows, caption=f"{caption}{more}")


def soak_figures(check: NodeCheck) -> Iterator[Figure]:
    """Draw rates, clocks and temperatures over time, of the nodes whose rate fell most."""
    samples = samples_by_node(check)
    nodes = [one.node for one in _worst(check)]
    kinds: tuple[tuple[str, str, Callable[[SoakSample], float | None]], ...] = (
        ("Rate while HPL ran again and again", "GFLOPS", lambda one: one.gflops),
        ("Clock while HPL ran again and again", "MHz", lambda one: one.mhz),
        ("Temperature while HPL ran again and again", "°C", lambda one: one.celsius),
    )
    for title, unit, value in kinds:
        lines = tuple(line for node in nodes if (line := _line(node, samples[node], value)) is not None)
        if lines:
            yield Figure(title, "minutes", unit, lines)


def _worst(check: NodeCheck) -> Sequence[SoakedNode]:
    return sorted(soaked_nodes(check), key=lambda one: one.last / one.first)[:SHOWN]


def _line(node: str, samples: Sequence[SoakSample], value: Callable[[SoakSample], float | None]) -> Series | None:
    points = [(one.at_s / 60.0, known) for one in samples if (known := value(one)) is not None]
    if not points:
        return None
    return Series(node, tuple(x for x, _ in points), tuple(y for _, y in points), line=True, bare=len(points) > 40)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
