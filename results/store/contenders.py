"""Reads the fastest configurations of a study, so that a ranking does not need all trials of a large one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, case, distinct, func, select, true

from hpl.output import LARGEST_RESIDUAL, SHORTEST_S

from ..record import SIMULATOR, SMALLER_RUNS, TrialRecord, TrialState
from ..stats.ranking import LONG_ENOUGH
from .rows import CONTENDER, is_undisturbed
from .schema import TRIALS

CONTENDERS = 1000
"""Most configurations of a study that are ranked; those after the fastest thousand do not matter."""
SPARE = 20
"""Fastest runs that are read, as some may be damaged."""
_SMALLER = [kind.value for kind in SMALLER_RUNS]
RANKED_ROW = (
    (TRIALS.c.state == TrialState.COMPLETE.value)
    & (TRIALS.c.gflops > 0)
    & (
        (TRIALS.c.passed.is_(True) & (TRIALS.c.residual > 0) & (TRIALS.c.residual < LARGEST_RESIDUAL))
        | TRIALS.c.versions.contains(f'"{SIMULATOR}"')
    )
)
"""`TrialRecord.ranked` in SQL."""
FULL_RUN = RANKED_ROW & TRIALS.c.kind.not_in(_SMALLER)
"""A full run whose rate counts."""


@dataclass(frozen=True)
class Contenders:
    """The fastest configurations of a study.

    Attributes:
        records: their full runs, with only the fields that a ranking needs.
        configurations: how many configurations with a rate the study has, including those left out.
    """

    records: Sequence[TrialRecord]
    configurations: int


def fastest_rows(connection: Connection, study: str, *, of_each_size: bool) -> tuple[Sequence[RowMapping], int]:
    """Read the rows of the fastest configurations of a study, and count those with a rate.

    Args:
        of_each_size: whether to read as many for each number of ranks and threads.
    """
    ours = (TRIALS.c.study == study) & TRIALS.c.kind.not_in(_SMALLER)
    ours &= _on_the_hosts_left(connection, study)
    rated = ours & RANKED_ROW
    keys = connection.execute(select(func.count(distinct(TRIALS.c.key))).where(rated)).scalar_one()
    if keys > CONTENDERS:
        size = (TRIALS.c.ranks, TRIALS.c.threads) if of_each_size else ()
        sizes = len(connection.execute(select(*size).where(rated).distinct()).all()) if size else 1
        order = (func.max(TRIALS.c.gflops).desc(), TRIALS.c.key)
        place = func.row_number().over(partition_by=[func.min(column) for column in size], order_by=order)
        fastest = select(TRIALS.c.key, place.label("place")).where(rated).group_by(TRIALS.c.key).subquery()
        ours &= TRIALS.c.key.in_(select(fastest.c.key).where(fastest.c.place <= CONTENDERS // max(1, sizes)))
    return connection.execute(select(*CONTENDER).where(ours).order_by(TRIALS.c.number)).mappings().all(), keys


def _on_the_hosts_left(connection: Connection, study: str) -> ColumnElement[bool]:
    """Restrict a query to results on as many hosts as the last one, as `ranking.on_the_hosts_left` does.

    Where configurations themselves drop hosts, their number says nothing yet, so all are read.
    """
    known = (TRIALS.c.study == study) & TRIALS.c.hosts.is_not(None) & (TRIALS.c.hosts != "[]")
    texts = list(connection.execute(select(TRIALS.c.hosts).where(known).distinct()).scalars())
    if len(texts) < 2:
        return true()
    dropping = select(TRIALS.c.number).where(known & TRIALS.c.params.contains('"nodes_dropped"')).limit(1)
    if connection.execute(dropping).scalar() is not None:
        return true()
    last = select(TRIALS.c.hosts).where(known & RANKED_ROW).order_by(TRIALS.c.number.desc()).limit(1)
    left = connection.execute(last).scalar() or ""
    others = [text for text in texts if text.count(",") != left.count(",")]
    unseen = TRIALS.c.hosts.is_(None) | (TRIALS.c.state != TrialState.COMPLETE.value)
    return unseen | TRIALS.c.hosts.not_in(others)


def best_rate(connection: Connection, ours: ColumnElement[bool]) -> tuple[float, int] | None:
    """Read the rate and the number of the fastest of some runs, as `fastest_row` chooses it; None without any."""
    columns = select(
        *(TRIALS.c[name] for name in ("gflops", "number", "measurements", "ranks", "threads", "hosts", "versions"))
    )
    row = next(fastest_rows_of(connection, columns, ours & FULL_RUN), None)
    return None if row is None else (row["gflops"], row["number"])


def fastest_rows_of(connection: Connection, columns: Select[Any], runs: ColumnElement[bool]) -> Iterator[RowMapping]:
    """Yield rows of full runs, the fastest that counts first.

    Those that HPL's clock cannot tell stand behind the others, and before these those that are not known to be
    undisturbed.

    Args:
        columns: a query for those that are read.
    """
    ordered = columns.where(runs).order_by(*fastest_first(connection, runs))
    watched = connection.execute(select(TRIALS.c.number).where(runs & (TRIALS.c.measurements != "{}")).limit(1))
    if watched.first() is None:
        yield from connection.execute(ordered.limit(SPARE)).mappings()
        return
    doubtful = []
    for row in connection.execute(ordered).mappings():
        if is_undisturbed(row):
            yield row
        else:
            doubtful.append(row)
    yield from doubtful


def fastest_first(connection: Connection, runs: ColumnElement[bool]) -> list[ColumnElement[Any]]:
    """Order full runs by their rates, behind them those of `ranking.unclear_runs`."""
    long_enough = func.avg(TRIALS.c.time_s) >= LONG_ENOUGH * SHORTEST_S
    measured = runs & ~TRIALS.c.versions.contains(f'"{SIMULATOR}"')
    sizes = select(TRIALS.c.N).where(measured).group_by(TRIALS.c.N)
    sizes = sizes.having((func.min(TRIALS.c.time_s) < SHORTEST_S) & long_enough)
    doubted = list(connection.execute(sizes).scalars())
    unclear = case(((TRIALS.c.time_s < SHORTEST_S) & TRIALS.c.N.in_(doubted), 1), else_=0)
    return [*([unclear] if doubted else []), TRIALS.c.gflops.desc(), TRIALS.c.number]
