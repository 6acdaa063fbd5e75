"""Makes the table of a ranking: the figures of each configuration, and the parameters that differ."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ..disturbance import Conditions
from ..metrics import rate_text
from ..stats.headline import has_doubtful_runs, range_text
from ..stats.ranking import Ranked, varying
from .model import Column, Table, Wrap

Interval = tuple[float, float] | None
SHORT = {
    "rank": "",
    "median GFLOPS": "median",
    "slowest to fastest": "range",
    "expected GFLOPS": "expected",
    "95 % interval": "interval",
}
NUMBERS = frozenset({"N", "NB", "NBMIN", "DEPTH"})
"""Parameters whose values are numbers."""
OF_A_RATE = frozenset({"% of peak", "$/GFLOPS", "USD/GFLOPS", "MFLOPS/W"})
"""Heads of figures that are of a rate."""
NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})


def ranking_table(
    title: str,
    ranking: Sequence[Ranked],
    more: Mapping[str, Sequence[str]] = NOTHING,
    intervals: Sequence[Interval] = (),
    *,
    short: bool = False,
) -> Table:
    """Build the table of a ranking.

    Args:
        ranking: the configurations, best first.
        more: more columns, with their cells by head; they are of the expected rate where there is one.
        intervals: of the expected rates; none where they have none.
        short: the rate that counts, and what varies in one column, which a narrow terminal breaks.
    """
    names = varying(ranking)
    estimates = expected_columns(ranking, intervals)
    measured = measured_columns(ranking)
    figures = {**({"rank": measured["rank"]} if short and estimates else measured), **estimates, **more}
    values = (
        {"what varies": list(_differing(ranking, names))}
        if short and names
        else {name: [str(entry.params.get(name, "")) for entry in ranking] for name in names}
    )
    of_it = [head for head in more if head in OF_A_RATE]
    also = f"; {', '.join(of_it)} {'are' if of_it[1:] else 'is'} of it" if of_it else ""
    said = [f"Expected: of one more run, an estimate{also}."] if estimates else []
    said += ["Below no. 1 stands what differs from it."] if short and len(ranking) > 1 else []
    return Table(
        title,
        (
            *(Column(head, wrap=Wrap.NEVER, short=SHORT.get(head)) for head in figures),
            *(Column(name, name not in NUMBERS, Wrap.AT_WORDS if short else Wrap.NEVER) for name in values),
        ),
        tuple(zip(*figures.values(), *values.values(), strict=True)),
        bold=frozenset({0}),
        caption=" ".join(said),
    )


def _differing(ranking: Sequence[Ranked], names: Sequence[str]) -> Iterable[str]:
    """Yield the values of the first, then of each what differs from them."""
    for entry in ranking:
        differ = [name for name in names if entry.params.get(name) != ranking[0].params.get(name)]
        yield named_values(entry.params, differ or names, " ")


def measured_columns(ranking: Sequence[Ranked]) -> dict[str, list[str]]:
    """Return the columns with what the runs gave, by head; the slowest and fastest only where any ran twice."""
    columns = {
        "rank": [str(place) for place in range(1, len(ranking) + 1)],
        "median GFLOPS": [rate_text(entry.median_gflops) for entry in ranking],
        "runs": [str(entry.runs) for entry in ranking],
        "slowest to fastest": [range_text(entry, "-") for entry in ranking],
        "disturbed": [_disturbed(entry) for entry in ranking],
        "failed": [str(entry.failed_runs) for entry in ranking],
    }
    if not any(map(has_doubtful_runs, ranking)) or all(entry.unknown == entry.runs for entry in ranking):
        del columns["disturbed"]
    if not any(entry.failed_runs for entry in ranking):
        del columns["failed"]
    if all(entry.runs == 1 for entry in ranking):
        del columns["slowest to fastest"]
        return {("GFLOPS" if head == "median GFLOPS" else head): cells for head, cells in columns.items()}
    return columns


def expected_columns(ranking: Sequence[Ranked], intervals: Sequence[Interval]) -> dict[str, list[str]]:
    """Return the columns with estimates, by head; none where nothing but its own runs tells of a configuration.

    What is at least expected of disturbed runs is that of the fastest, and not their median.
    """
    if all(entry.believed_gflops is None and (entry.disturbance is None or entry.runs == 1) for entry in ranking):
        return {}
    columns = {
        "expected GFLOPS": [
            f"{'' if one.disturbance is None else 'at least '}{rate_text(one.expected_gflops)}" for one in ranking
        ]
    }
    if any(intervals):
        columns["95 % interval"] = ["-".join(map(rate_text, ends)) if ends else "" for ends in intervals]
    return columns


def _disturbed(entry: Ranked) -> str:
    """Say how many runs were disturbed: "all", how many more there are that do not count, or that it is not known."""
    if entry.unknown == entry.runs:
        return Conditions.UNKNOWN.value
    if entry.disturbance is not None and not entry.unknown:
        return "all"
    if entry.unknown:
        return f"{entry.runs - entry.unknown}, {entry.unknown} {Conditions.UNKNOWN}"
    left = {" more": entry.left_out, f" more {Conditions.UNKNOWN}": entry.left_unknown}
    return ", ".join(f"{count}{words}" for words, count in left.items() if count)


def named_values(params: Mapping[str, object], names: Sequence[str], separator: str = "  ") -> str:
    """Write some parameters of a configuration on one line, as "NB=192  grid=2x4"."""
    return separator.join(f"{name}={params[name]}" for name in names if name in params)
