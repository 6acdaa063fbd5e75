"""What a check of a preflight sees, and what it finds."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

SHOWN = 60
"""Characters of a node's own text in a sentence."""
_NUMBER = re.compile(r"\d{1,18}(\.\d{1,6})?")
_UNPRINTABLE = re.compile(r"[^ -~]")


class SpoilerWeight(StrEnum):
    """How much a finding matters.

    Attributes:
        NOTE: worth to know; runs need not suffer.
        WARNING: it makes runs slower, less alike, or fail.
    """

    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True)
class RunPlan:
    """What runs are planned to take of a node.

    Attributes:
        ranks: most ranks on it at a time.
        threads: threads of each rank.
        memory_bytes: of all its ranks; 0 where nobody knows yet.
        nodes: how many run together.
        interfaces: names of the network interfaces that MPI is told to use; empty lets it choose.
        here: the node is this machine, and the process that asks starts its ranks.
        confined: the process may use only some of the CPUs of its control group.
    """

    ranks: int
    threads: int = 1
    memory_bytes: int = 0
    nodes: int = 1
    interfaces: tuple[str, ...] = ()
    here: bool = True
    confined: bool = False

    @property
    def busy(self) -> int:
        """Threads that compute on a node at the same time."""
        return self.ranks * self.threads


@dataclass(frozen=True)
class NodeView:
    """A node as checks see it.

    Attributes:
        facts: what it told, by the names of the fact table, without what it could not tell. A node may lie.
        plan: what runs will take of it.
        memory_gb_s: rate of its memory by STREAM's triad on all cores, where it was measured; else None.
    """

    facts: Mapping[str, str]
    plan: RunPlan
    memory_gb_s: float | None = None

    def text(self, name: str) -> str:
        """Return a fact, short and printable; "" where it is not told."""
        return _UNPRINTABLE.sub("?", self.facts.get(name, "").strip()[:SHOWN])

    def number(self, name: str) -> float | None:
        """Return a fact that is a number of zero or more; None where it is none, such as "unlimited"."""
        match = _NUMBER.fullmatch(self.facts.get(name, "").strip())
        return float(match[0]) if match else None

    def limit(self, name: str) -> float:
        """Return a limit; infinite where there is none, or none is told."""
        found = self.number(name)
        return math.inf if found is None else found


@dataclass(frozen=True)
class Spoiler:
    """What a check found, on one node or on several alike.

    Attributes:
        sentence: what is the matter, without a full stop; names no node.
        remedy: what to do; "" where that is what the check usually advises.
        check: its name.
        nodes: on which it is so; empty for this machine.
    """

    severity: SpoilerWeight
    sentence: str
    remedy: str = ""
    check: str = ""
    nodes: tuple[str, ...] = ()


Look = Callable[[NodeView], Iterator[Spoiler]]
"""Looks at a node, and yields what would spoil runs there."""


@dataclass(frozen=True)
class SpoilerCheck:
    """A look at one thing that may spoil runs.

    Attributes:
        name: in files for scripts.
        title: what is looked at.
        facts: names of facts that it reads; where a node tells none of them, nothing is known.
        look: finds what is wrong.
        when: in words, what it tells.
        remedy: what to do about it, without a full stop.
        slow: asking for its facts takes too long for the beginning of a study.
    """

    name: str
    title: str
    facts: tuple[str, ...]
    look: Look
    when: str
    remedy: str
    slow: bool = False


def warns(sentence: str, remedy: str = "") -> Spoiler:
    """Say what makes runs slower, less alike, or fail."""
    return Spoiler(SpoilerWeight.WARNING, sentence, remedy)


def notes(sentence: str, remedy: str = "") -> Spoiler:
    """Say what is worth to know."""
    return Spoiler(SpoilerWeight.NOTE, sentence, remedy)
