"""The checks of nodes that are kept, as rows, and which of them later ones are compared with.

A field that has no column of its own, because a newer benchmark brought it, is kept as JSON in the column `more`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from ..errors import DamagedError, ResultsError
from ..node_check import Finding, NodeCheck, NodeRun, PairRate
from ..plain import finite, time_text, unicode_text
from .database import Database
from .rows import json_text, object_of
from .schema import NODE_CHECK_PAIRS, NODE_CHECK_RUNS, NODE_CHECKS


class NodeCheckState(StrEnum):
    """How far a check got."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class KeptCheck:
    """All that is kept of a check.

    Attributes:
        ready, alike: the verdict.
        findings: what the verdict stands on, the most serious first; also what is worse than in an earlier check.
        notes: what else people should know.
        virtual: the cluster is virtual, and nothing was measured.
        campaign: of the service, for which it was made; None for none.
    """

    check: NodeCheck
    state: NodeCheckState
    ready: bool
    alike: bool
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    virtual: bool = False
    campaign: str | None = None


@dataclass(frozen=True)
class NodeCheckLine:
    """What a list tells of a check.

    Attributes:
        number: by which people call it.
        nodes: how many.
        findings: the sentences, the most serious first.
        baseline: people chose it to compare later ones with.
    """

    number: int
    cluster: str
    checked_at: datetime
    state: NodeCheckState
    nodes: int
    ready: bool
    alike: bool
    findings: tuple[str, ...]
    virtual: bool
    baseline: bool
    campaign: str | None


_COLUMNS = NODE_CHECKS.c
_NEWEST_FIRST = (_COLUMNS.checked_at.desc(), _COLUMNS.number.desc())

T = TypeVar("T")
_CHECK_JSON = ("silent", "classes", "switches", "facts")
_CHECK_OWN = ("cluster", "checked_at", "nodes", "runs", "pairs", "pairs_at_once", *_CHECK_JSON)
_RUN_TEXTS, _RUN_PLAIN = ("benchmark", "node", "reason"), ("accurate",)
_PAIR_TEXTS, _PAIR_FIGURES = ("pattern", "one", "other", "network", "problem"), ("rate", "latency_us", "there", "back")


_FORMS: Mapping[type[Any], TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (NodeCheck, NodeRun, PairRate, Finding)
}


@dataclass(frozen=True)
class NodeChecks:
    """The methods of a store for checks of nodes; each is one transaction."""

    database: Database

    def add(self, kept: KeptCheck) -> int:
        """Store a check and return its number."""
        with self.database.alone() as connection:
            number = int(connection.execute(select(func.max(_COLUMNS.number))).scalar() or 0) + 1
            connection.execute(insert(NODE_CHECKS).values(number=number, baseline=False, **check_row(kept)))
            _add_parts(connection, number, kept)
        return number

    def replace(self, number: int, kept: KeptCheck) -> None:
        """Store what a check has found out by now in place of what it had before."""
        with self.database.writing() as connection:
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
            with self.database.writing() as connection:
                connection.execute(insert(NODE_CHECK_RUNS), rows)

    def leave(self, campaign: str) -> None:
        """Note that a process which checked nodes for a campaign of the service does so no more."""
        running = (_COLUMNS.campaign == campaign) & (_COLUMNS.state == NodeCheckState.RUNNING.value)
        with self.database.writing() as connection:
            connection.execute(update(NODE_CHECKS).where(running).values(state=NodeCheckState.INTERRUPTED.value))

    def read(self, number: int) -> KeptCheck:
        """Read a check.

        Raises:
            ResultsError: there is no such check.
            DamagedError: it cannot be read.
        """
        with self.database.reading() as connection:
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
        with self.database.reading() as connection:
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
        with self.database.reading() as connection:
            if before is not None:
                at = _row(connection, before)["checked_at"]
                same = (_COLUMNS.checked_at == at) & (_COLUMNS.number < before)
                query = query.where((_COLUMNS.checked_at < at) | same)
            return [line_of_check(row) for row in connection.execute(query).mappings()]

    def mark_baseline(self, number: int) -> NodeCheckLine:
        """Let later checks of the same cluster be compared with this one, and with no other; errors as of `read`."""
        with self.database.alone() as connection:
            own = _COLUMNS.cluster == _row(connection, number)["cluster"]
            connection.execute(update(NODE_CHECKS).where(own).values(baseline=_COLUMNS.number == number))
            return line_of_check(_row(connection, number))

    def baseline_of(self, cluster: str) -> int | None:
        """Return the check that people marked, or the oldest complete one that found the nodes ready and alike."""
        own = _COLUMNS.cluster == cluster
        sound = (_COLUMNS.state == NodeCheckState.COMPLETE.value) & _COLUMNS.ready & _COLUMNS.alike
        oldest = (_COLUMNS.checked_at, _COLUMNS.number)
        with self.database.reading() as connection:
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


def check_row(kept: KeptCheck) -> dict[str, Any]:
    """Make the row of a check, without its number, its baseline mark, its runs and its pairs."""
    check = kept.check
    return {
        "cluster": unicode_text(check.cluster),
        "checked_at": time_text(check.checked_at),
        "state": kept.state.value,
        "virtual": kept.virtual,
        "campaign": kept.campaign,
        "ready": kept.ready,
        "alike": kept.alike,
        "nodes": json_text(list(check.nodes)),
        **{name: json_text(_plain(getattr(check, name))) for name in _CHECK_JSON},
        "findings": json_text([asdict(finding) for finding in kept.findings]),
        "notes": json_text(list(kept.notes)),
        "more": _more(check, _CHECK_OWN),
    }


def run_rows(number: int, runs: Sequence[NodeRun], first: int = 1) -> list[dict[str, Any]]:
    """Make the rows of runs of a check with a number.

    Args:
        first: number of the first of these runs.
    """
    return [
        {
            "node_check": number,
            "number": place,
            **{name: unicode_text(getattr(run, name)) for name in _RUN_TEXTS},
            "accurate": run.accurate,
            "value": finite(run.value),
            "more": _more(run, (*_RUN_TEXTS, *_RUN_PLAIN, "value")),
        }
        for place, run in enumerate(runs, start=first)
    ]


def pair_rows(number: int, check: NodeCheck) -> list[dict[str, Any]]:
    """Make the rows of all pairs of a check with a number."""
    pairs = [*((False, pair) for pair in check.pairs), *((True, pair) for pair in check.pairs_at_once)]
    return [
        {
            "node_check": number,
            "number": place,
            "at_once": at_once,
            **{name: unicode_text(getattr(pair, name)) for name in _PAIR_TEXTS},
            **{name: finite(getattr(pair, name)) for name in _PAIR_FIGURES},
            "more": _more(pair, (*_PAIR_TEXTS, *_PAIR_FIGURES)),
        }
        for place, (at_once, pair) in enumerate(pairs, start=1)
    ]


def kept_of(row: RowMapping, runs: Sequence[RowMapping], pairs: Sequence[RowMapping]) -> KeptCheck:
    """Read a check from its rows.

    Raises:
        DamagedError: a row cannot be read.
    """
    try:
        check = _FORMS[NodeCheck].validate_python(
            {
                **object_of(row["more"], "more"),
                **{name: object_of(row[name], name) for name in _CHECK_JSON},
                "cluster": row["cluster"],
                "checked_at": datetime.fromisoformat(row["checked_at"]),
                "nodes": json.loads(row["nodes"]),
                "runs": [_built(NodeRun, run, (*_RUN_TEXTS, *_RUN_PLAIN, "value")) for run in runs],
                "pairs": [_pair_of(pair) for pair in pairs if not pair["at_once"]],
                "pairs_at_once": [_pair_of(pair) for pair in pairs if pair["at_once"]],
            }
        )
        return KeptCheck(
            check,
            NodeCheckState(row["state"]),
            row["ready"],
            row["alike"],
            tuple(_FORMS[Finding].validate_python(one) for one in json.loads(row["findings"])),
            tuple(json.loads(row["notes"])),
            row["virtual"],
            row["campaign"],
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(row, error) from error


def line_of_check(row: RowMapping) -> NodeCheckLine:
    """Read only what a list tells.

    Raises:
        DamagedError: the row cannot be read.
    """
    try:
        return NodeCheckLine(
            row["number"],
            row["cluster"],
            datetime.fromisoformat(row["checked_at"]),
            NodeCheckState(row["state"]),
            len(json.loads(row["nodes"])),
            row["ready"],
            row["alike"],
            tuple(one["sentence"] for one in json.loads(row["findings"])),
            row["virtual"],
            row["baseline"],
            row["campaign"],
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(row, error) from error


def _damaged(row: RowMapping, error: Exception) -> DamagedError:
    said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return DamagedError(f"check {row['number']} of nodes is damaged in the database: {said}")


def _pair_of(row: RowMapping) -> PairRate:
    return _built(PairRate, row, (*_PAIR_TEXTS, *_PAIR_FIGURES))


def _built(kind: type[T], row: RowMapping, columns: Sequence[str]) -> T:
    """Make a record; most have nothing in `more`, and need no reading of that."""
    own = {name: row[name] for name in columns}
    more = row["more"]
    return kind(**own) if more == "{}" else _FORMS[kind].validate_python({**object_of(more, "more"), **own})


def _more(record: Any, own: Sequence[str]) -> str:
    """Write the fields of a record that have no column and are not empty, as JSON."""
    kind = type(record)
    extra = {name for name in kind.__dataclass_fields__ if name not in own and getattr(record, name)}
    return json.dumps(_FORMS[kind].dump_python(record, mode="json", include=extra)) if extra else "{}"


def _plain(value: Any) -> Any:
    """Turn mappings of any kind into dicts, which JSON knows."""
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, Mapping) else value
