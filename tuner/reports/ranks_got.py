"""What reached the ranks of a run, as a table for people: CPUs, variables, and what carries their messages."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from hpl.witness import RankSight, parse_sights, parse_transports, parse_unlike
from results.record import TrialRecord
from results.report.model import Table, facts_table

from ..words import counted, listed

MOST_RANKS = 8
"""Whose CPUs are named; of more ranks only how many CPUs each has."""


def ranks_got_table(record: TrialRecord) -> Table | None:
    """Build the table of what ranks told of themselves when they began; None where none did."""
    sights = parse_sights(record.errors_text)
    told = {
        **_rows(sights, parse_transports(record.errors_text)),
        "not as planned": "; ".join(parse_unlike(record.errors_text)),
    }
    return facts_table("What reached the ranks", told.items()) if any(told.values()) else None


def ranks_got(record: TrialRecord) -> dict[str, object]:
    """What ranks told of themselves when they began, for scripts; empty where none did."""
    sights = parse_sights(record.errors_text)
    if not sights:
        return {}
    ranks = [
        {
            "rank": sight.rank,
            "host": sight.host,
            "cpus": _in_spans(sorted(sight.cpus)),
            "variables": dict(sight.variables),
        }
        for sight in sights
    ]
    return {
        "ranks": ranks,
        "loaded_for_messages": list(parse_transports(record.errors_text)),
        "not_as_planned": list(parse_unlike(record.errors_text)),
    }


def _rows(sights: Sequence[RankSight], transports: Sequence[str]) -> Mapping[str, str]:
    names = sorted({name for sight in sights for name in sight.variables})
    values = {name: Counter(sight.variables.get(name) for sight in sights) for name in names}
    alike = [f"{name}={next(iter(found))}" for name, found in values.items() if len(found) == 1]
    unlike = [f"{name} {_on_ranks(found)}" for name, found in values.items() if len(found) > 1]
    return {
        "CPUs": _cpus(sights),
        "variables of all ranks": " ".join(alike),
        "variables that differ": "; ".join(unlike),
        "loaded for messages": ", ".join(re.sub("^mca_([^_]+)_", r"\1 ", name) for name in transports),
    }


def _cpus(sights: Sequence[RankSight]) -> str:
    known = [sight for sight in sights if sight.cpus]
    if len(known) > MOST_RANKS:
        sizes = Counter(len(sight.cpus) for sight in known)
        return listed([f"{counted(size, 'CPU')} on {counted(ranks, 'rank')}" for size, ranks in sorted(sizes.items())])
    hosts = len({sight.host for sight in known})
    return "; ".join(
        f"rank {sight.rank}{f' of {sight.host}' if hosts > 1 else ''}: {_in_spans(sorted(sight.cpus))}"
        for sight in known
    )


def _in_spans(cpus: Sequence[int]) -> str:
    """Write numbers as the kernel does: 0-3,8."""
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and spans[-1][-1] + 1 == cpu:
            spans[-1] = [spans[-1][0], cpu]
        else:
            spans.append([cpu])
    return ",".join("-".join(map(str, span)) for span in spans)


def _on_ranks(found: Mapping[str | None, int]) -> str:
    """Say which value how many ranks have."""
    most = sorted(found.items(), key=lambda item: -item[1])[:3]
    return listed([f"{'is not set' if value is None else f'is {value}'} on {counted(n, 'rank')}" for value, n in most])
