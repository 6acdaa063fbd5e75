"""Converts checks of nodes to rows and back.

A field that has no column of its own, because a newer benchmark brought it, is kept as JSON in the column `more`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import RowMapping

from ...errors import DamagedError
from ...plain import finite, time_text, unicode_text
from ...stats.nodes.check import NodeCheck, NodeRun
from ...stats.nodes.finding import Finding
from ...stats.nodes.pair_rate import PairRate
from ..rows import json_text, object_of
from .kept_check import KeptCheck, NodeCheckLine, NodeCheckState

T = TypeVar("T")
_CHECK_JSON = ("silent", "classes", "switches", "facts")
_CHECK_OWN = ("cluster", "checked_at", "nodes", "runs", "pairs", "pairs_at_once", *_CHECK_JSON)
_RUN_TEXTS, _RUN_PLAIN = ("benchmark", "node", "reason"), ("accurate",)
_PAIR_TEXTS, _PAIR_FIGURES = ("pattern", "one", "other", "network", "problem"), ("rate", "latency_us", "there", "back")


_FORMS: Mapping[type[Any], TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (NodeCheck, NodeRun, PairRate, Finding)
}


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
    return [
        {
            "node_check": number,
            "number": place,
            "at_once": at_once,
            **{name: unicode_text(getattr(pair, name)) for name in _PAIR_TEXTS},
            **{name: finite(getattr(pair, name)) for name in _PAIR_FIGURES},
            "more": _more(pair, (*_PAIR_TEXTS, *_PAIR_FIGURES)),
        }
        for place, (at_once, pair) in enumerate(_all_pairs(check), start=1)
    ]


def _all_pairs(check: NodeCheck) -> Iterator[tuple[bool, PairRate]]:
    yield from ((False, pair) for pair in check.pairs)
    yield from ((True, pair) for pair in check.pairs_at_once)


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
                "runs": [_run_of(run) for run in runs],
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


def _run_of(row: RowMapping) -> NodeRun:
    own = {name: row[name] for name in (*_RUN_TEXTS, *_RUN_PLAIN, "value")}
    return _built(NodeRun, own, row["more"])


def _pair_of(row: RowMapping) -> PairRate:
    own = {name: row[name] for name in (*_PAIR_TEXTS, *_PAIR_FIGURES)}
    return _built(PairRate, own, row["more"])


def _built(kind: type[T], own: Mapping[str, Any], more: str) -> T:
    """Make a record; most have nothing in `more`, and need no reading of that."""
    return kind(**own) if more == "{}" else _FORMS[kind].validate_python({**object_of(more, "more"), **own})


def _more(record: Any, own: Sequence[str]) -> str:
    """Write the fields of a record that have no column, as JSON."""
    kind = type(record)
    extra = {name for name in kind.__dataclass_fields__ if name not in own}
    return json.dumps(_FORMS[kind].dump_python(record, mode="json", include=extra)) if extra else "{}"


def _plain(value: Any) -> Any:
    """Turn mappings of any kind into dicts, which JSON knows."""
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, Mapping) else value
