"""Published results as a table for people, and as facts for scripts."""

from collections.abc import Sequence
from dataclasses import asdict

from results.report.model import Column, Table, Wrap

from ...machine.known.known_machines import KnownMachine


def known_table(
    machines: Sequence[KnownMachine], title: str = "", *, cpu: bool = True, watts: bool = False, caption: str = ""
) -> Table:
    """Build the table of some published results; the name of each leads to its source.

    Args:
        cpu: whether CPUs are told, which need not be where all have the same.
        watts: whether MFLOPS/W are told too.
    """
    shown = [
        (Column("machine", words=True, wrap=Wrap.ANYWHERE), [machine.machine for machine in machines]),
        *([(Column("CPU", words=True, wrap=Wrap.ANYWHERE), [machine.cpu for machine in machines])] if cpu else []),
        (Column("cores"), [f"{machine.cores:,}" if machine.cores else "" for machine in machines]),
        (Column("GFLOPS"), [_rate(machine.rmax_gflops) for machine in machines]),
        (Column("% of peak", short="% peak"), [_number(machine.percent_of_peak) for machine in machines]),
        *([(Column("MFLOPS/W"), [_number(machine.mflops_per_watt, 0) for machine in machines])] if watts else []),
    ]
    rows = tuple(zip(*(cells for _, cells in shown), strict=True))
    links = tuple(machine.source for machine in machines)
    return Table(title, tuple(column for column, _ in shown), rows, caption=caption, links=links)


def known_json(machine: KnownMachine) -> dict[str, object]:
    """A published result as JSON can hold it."""
    return {**asdict(machine), "percent_of_peak": machine.percent_of_peak, "mflops_per_watt": machine.mflops_per_watt}


def _rate(gflops: float) -> str:
    return f"{gflops:,.0f}" if gflops >= 10_000 else f"{gflops:,.4g}" if gflops < 100 else f"{gflops:,.1f}"


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
