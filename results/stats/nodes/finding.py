"""What a check of nodes tells: one thing that is not as it should be, and what it means."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

_NUMBERED = re.compile(r"(.*?)(\d+)")


def ranges(names: Iterable[str]) -> str:
    """Write names shortly: three or more whose numbers follow each other become one range."""
    runs: list[list[str]] = []
    for name in sorted(names, key=_in_order):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(_written(run) for run in runs)


def _follows(before: str, name: str) -> bool:
    one, other = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if one is None or other is None or one[1] != other[1]:
        return False
    padded = one[2].startswith("0") or other[2].startswith("0")
    return int(other[2]) == int(one[2]) + 1 and not (padded and len(one[2]) != len(other[2]))


def _in_order(name: str) -> tuple[str, int, str]:
    """Return what names are sorted by: n9 stands before n10."""
    numbered = _NUMBERED.fullmatch(name)
    return (numbered[1], int(numbered[2]), name) if numbered else (name, -1, name)


def _written(run: Sequence[str]) -> str:
    first, last = _NUMBERED.fullmatch(run[0]), _NUMBERED.fullmatch(run[-1])
    if len(run) < 3 or first is None or last is None:
        return ", ".join(run)
    return f"{first[1]}[{first[2]}-{last[2]}]"


class Severity(StrEnum):
    """What a finding means for the cluster."""

    OUT = "out"
    SLOW = "slow"
    ODD = "odd"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        what: "silent", "wrong-results", "slow-node", "two-groups", "weak-node", "weak-uplink", "weak-connection",
            "oversubscribed", "no-messages", "other-fact", "failed-groups", "contention".
        names: the nodes, or the switch, or the connection.
        part: what of them: a benchmark, a fact, "network", "latency" or "groups".
        sentence: for people.
        percent: how much is lost, where something is slow.
        facts: settings that explain it.
    """

    severity: Severity
    what: str
    names: tuple[str, ...]
    part: str
    sentence: str
    percent: float = 0.0
    facts: tuple[str, ...] = ()
