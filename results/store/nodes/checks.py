"""The checks of nodes that are kept, and which of them later ones are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from ...errors import ResultsError
from ...stats.nodes.check import NodeRun
from ..networks import Transaction
from ..schema import NODE_CHECK_PAIRS, NODE_CHECK_RUNS, NODE_CHECKS
from .check_rows import check_row, kept_of, line_of_check, pair_rows, run_rows
from .kept_check import KeptCheck, NodeCheckLine, NodeCheckState

_COLUMNS = NODE_CHECKS.c
_NEWEST_FIRST = (_COLUMNS.checked_at.desc(), _COLUMNS.number.desc())


@dataclass(frozen=True)
class NodeChecks:
    """The methods of a store for checks of nodes; each is one transaction.

    Attributes:
        alone: a transaction that no other process is in at the same time.
    """

    reading: Transaction
    writing: Transaction
    alone: Transaction

    def add(self, kept: KeptCheck) -> int:
        """Store a check and return its number."""
        with self.alone() as connection:
            number = int(connection.execute(select(func.max(_COLUMNS.number))).scalar() or 0) + 1
            connection.execute(insert(NODE_CHECKS).values(number=number, baseline=False, **check_row(kept)))
            _add_parts(connection, number, kept)
        return number

    def replace(self, number: int, kept: KeptCheck) -> None:
        """Store what a check has found out by now in place of what it had before."""
        with self.writing() as connection:
            connection.execute(update(NODE_CHECKS).where(_COLUMNS.number == number).values(**check_row(kept)))
            for table in (NODE_CHECK_RUNS, NODE_CHECK_PAIRS):
                connection.execute(delete(table).where(table.c.node_check == number))
            _add_parts(connection, number, kept)

    def add_runs(self, number: int, runs: Sequence[NodeRun], first: int) -> None:
        """Store further runs of a check.

        Args:
            first: number of the first of them; runs count from 1.
        """
        rows = run_rows(number, runs, first)
        if rows:
            with self.writing() as connection:
                connection.execute(insert(NODE_CHECK_RUNS), rows)

    def leave(self, campaign: str) -> None:
        """Note that a process which checked nodes for a campaign of the service does so no more."""
        running = (_COLUMNS.campaign == campaign) & (_COLUMNS.state == NodeCheckState.RUNNING.value)
        with self.writing() as connection:
            values = {"state": NodeCheckState.INTERRUPTED.value}
            connection.execute(update(NODE_CHECKS).where(running).values(**values))

    def read(self, number: int) -> KeptCheck:
        """Read a check.

        Raises:
            ResultsError: there is no such check.
            DamagedError: it cannot be read.
        """
        with self.reading() as connection:
            row = _row(connection, number)
            runs, pairs = (
                connection.execute(select(table).where(table.c.node_check == number).order_by(table.c.number))
                .mappings()
                .all()
                for table in (NODE_CHECK_RUNS, NODE_CHECK_PAIRS)
            )
        return kept_of(row, runs, pairs)

    def line(self, number: int) -> NodeCheckLine:
        """Read what a list tells of a check; errors as of `read`."""
        with self.reading() as connection:
            return line_of_check(_row(connection, number))

    def lines(
        self,
        cluster: str | None = None,
        count: int | None = None,
        *,
        before: int | None = None,
        campaign: str | None = None,
    ) -> Sequence[NodeCheckLine]:
        """List checks, newest first.

        Args:
            cluster: only those of this cluster.
            count: at most so many.
            before: only those that come after this number in the list.
            campaign: only those of this campaign of the service.
        """
        query = select(NODE_CHECKS).order_by(*_NEWEST_FIRST).limit(count)
        if cluster is not None:
            query = query.where(_COLUMNS.cluster == cluster)
        if campaign is not None:
            query = query.where(_COLUMNS.campaign == campaign)
        with self.reading() as connection:
            if before is not None:
                at = _row(connection, before)["checked_at"]
                same = (_COLUMNS.checked_at == at) & (_COLUMNS.number < before)
                query = query.where((_COLUMNS.checked_at < at) | same)
            return [line_of_check(row) for row in connection.execute(query).mappings()]

    def mark_baseline(self, number: int) -> NodeCheckLine:
        """Let later checks of the same cluster be compared with this one, and with no other; errors as of `read`."""
        with self.alone() as connection:
            cluster = _row(connection, number)["cluster"]
            own = _COLUMNS.cluster == cluster
            connection.execute(update(NODE_CHECKS).where(own).values(baseline=_COLUMNS.number == number))
            return line_of_check(_row(connection, number))

    def baseline_of(self, cluster: str) -> int | None:
        """Return the check that people marked, or the oldest complete one that found the nodes ready and alike."""
        own = _COLUMNS.cluster == cluster
        sound = (_COLUMNS.state == NodeCheckState.COMPLETE.value) & _COLUMNS.ready & _COLUMNS.alike
        oldest = (_COLUMNS.checked_at, _COLUMNS.number)
        with self.reading() as connection:
            for condition in (own & _COLUMNS.baseline, own & sound):
                found = connection.execute(select(_COLUMNS.number).where(condition).order_by(*oldest).limit(1)).scalar()
                if found is not None:
                    return int(found)
        return None


def _row(connection: Connection, number: int) -> RowMapping:
    row = connection.execute(select(NODE_CHECKS).where(_COLUMNS.number == number)).mappings().first()
    if row is None:
        raise ResultsError(f"there is no check {number} of nodes: `hpltune nodes list` shows all")
    return row


def _add_parts(connection: Connection, number: int, kept: KeptCheck) -> None:
    for table, rows in (
        (NODE_CHECK_RUNS, run_rows(number, kept.check.runs)),
        (NODE_CHECK_PAIRS, pair_rows(number, kept.check)),
    ):
        if rows:
            connection.execute(insert(table), rows)
