"""Makes the table of a ranking: the figures of each configuration, and the parameters that differ."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..metrics import rate_text
from ..stats.ranking import Ranked, varying
from .model import Column, Table, Wrap

SHORT = {"rank": "", "spread %": "±%"}
NUMBERS = frozenset({"N", "NB", "NBMIN", "DEPTH"})
"""Parameters whose values are numbers."""
NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})


def ranking_table(title: str, ranking: Sequence[Ranked], more: Mapping[str, Sequence[str]] = NOTHING) -> Table:
    """Build the table of a ranking; a narrow page has the parameters of each configuration below it.

    Args:
        ranking: the configurations, best first.
        more: more columns, with their cells by head.
    """
    names = varying(ranking)
    columns = {**measured_columns(ranking), **more}
    cells = {**columns, **{name: [str(entry.params.get(name, "")) for entry in ranking] for name in names}}
    return Table(
        title,
        (
            *(Column(head, wrap=Wrap.NEVER, short=SHORT.get(head)) for head in columns),
            *(Column(name, words=name not in NUMBERS, wrap=Wrap.NEVER) for name in names),
        ),
        tuple(zip(*cells.values(), strict=True)),
        bold=frozenset({0}),
        narrow=tuple(columns),
        below=tuple(f"{rank}  {named_values(entry.params, names)}" for rank, entry in enumerate(ranking, start=1)),
    )


def measured_columns(ranking: Sequence[Ranked]) -> dict[str, list[str]]:
    """Return the columns with figures by head; failed runs have a column only if there are any."""
    spreads = [entry.spread_percent for entry in ranking]
    columns = {
        "rank": [str(place) for place in range(1, len(ranking) + 1)],
        "GFLOPS": [rate_text(entry.expected_gflops) for entry in ranking],
        "spread %": ["" if spread is None else f"{spread:.1f}" for spread in spreads],
        "runs": [str(entry.runs) for entry in ranking],
        "failed": [str(entry.failed_runs) for entry in ranking],
    }
    if not any(entry.failed_runs for entry in ranking):
        del columns["failed"]
    return columns


def named_values(params: Mapping[str, object], names: Sequence[str], separator: str = "  ") -> str:
    """Write some parameters of a configuration on one line, as "NB=192  grid=2x4"."""
    return separator.join(f"{name}={params[name]}" for name in names if name in params)
