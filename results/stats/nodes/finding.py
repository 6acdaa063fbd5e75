"""What a check of nodes tells: one thing that is not as it should be, and what it means."""

from dataclasses import dataclass
from enum import StrEnum


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
