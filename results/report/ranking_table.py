"""Makes the table of a ranking: the figures of each configuration, and the parameters that differ."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ..disturbance import Conditions
from ..metrics import rate_text
from ..stats.headline import has_doubtful_runs, range_text
from ..stats.ranking import Ranked, varying
from .model import FactColumn, Table, Wrap, table_of

Interval = tuple[float, float] | None
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

    What is expected is told unless nothing but its own runs tells of any configuration; what is at least expected of
    disturbed runs is that of the fastest, and not their median.

    Args:
        ranking: the configurations, best first.
        more: more columns, with their cells by head; they are of the expected rate where there is one.
        intervals: of the expected rates; none where they have none.
        short: the rate that counts, and what varies in one column, which a narrow terminal breaks.
    """
    names, once = varying(ranking), all(one.runs == 1 for one in ranking)
    estimated = any(
        one.believed_gflops is not None or (one.disturbance is not None and one.runs > 1) for one in ranking
    )
    whole = not (short and estimated)
    least = ["" if one.disturbance is None else "at least " for one in ranking]
    wanted = {
        "GFLOPS": whole and once,
        "median GFLOPS": whole and not once,
        "runs": whole,
        "slowest to fastest": whole and not once,
        "disturbed": whole and any(map(has_doubtful_runs, ranking)) and any(one.unknown != one.runs for one in ranking),
        "failed": whole and any(one.failed_runs for one in ranking),
        "expected GFLOPS": estimated,
        "95 % interval": estimated and any(intervals),
        "what varies": short and bool(names),
    }
    shown: list[FactColumn[int]] = [
        FactColumn("rank", lambda at: at + 1, short=" "),
        FactColumn("GFLOPS", lambda at: ranking[at].median_gflops, rate_text),
        FactColumn("median GFLOPS", lambda at: ranking[at].median_gflops, rate_text, short="median"),
        FactColumn("runs", lambda at: ranking[at].runs),
        FactColumn("slowest to fastest", lambda at: range_text(ranking[at], "-"), short="range"),
        FactColumn("disturbed", lambda at: _disturbed(ranking[at])),
        FactColumn("failed", lambda at: ranking[at].failed_runs),
        FactColumn(
            "expected GFLOPS", lambda at: f"{least[at]}{rate_text(ranking[at].expected_gflops)}", short="expected"
        ),
        FactColumn(
            "95 % interval", lambda at: intervals[at], lambda ends: "-".join(map(rate_text, ends)), short="interval"
        ),
        *(FactColumn(head, cells.__getitem__) for head, cells in more.items()),
        FactColumn(
            "what varies", lambda at: _differing(ranking[at], ranking[0], names), words=True, wrap=Wrap.AT_WORDS
        ),
        *([] if short else parameter_columns(ranking, names)),
    ]
    of_it = [head for head in more if head in OF_A_RATE]
    also = f"; {', '.join(of_it)} {'are' if of_it[1:] else 'is'} of it" if of_it else ""
    said = [f"Expected: of one more run, an estimate{also}."] if estimated else []
    said += ["Below no. 1 stands what differs from it."] if short and len(ranking) > 1 else []
    columns = [column for column in shown if wanted.get(column.name, True)]
    return table_of(title, columns, range(len(ranking)), bold=[0], wrap=Wrap.NEVER, caption=" ".join(said))


def parameter_columns(ranking: Sequence[Ranked], names: Iterable[str], *, aside: bool = False) -> list[FactColumn[int]]:
    """Return a column for each of these parameters, of places in a ranking; `aside` as of a FactColumn."""
    cells = {name: [entry.params.get(name) for entry in ranking] for name in names}
    return [FactColumn(name, own.__getitem__, words=name not in NUMBERS, aside=aside) for name, own in cells.items()]


def _differing(entry: Ranked, first: Ranked, names: Sequence[str]) -> str:
    """Write what differs from the first; of the first itself all."""
    differ = [name for name in names if entry.params.get(name) != first.params.get(name)]
    return named_values(entry.params, differ or names, " ")


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
