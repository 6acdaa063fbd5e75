"""A step of a check: one kind of benchmark on all nodes. A new benchmark is a new step, in a file of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from results.stats.nodes.check import NodeRun, SoakSample
from results.stats.nodes.group_run import GroupRun
from results.stats.nodes.pair_rate import PairRate
from runners.hosts.transport import Transport

from ..events import Listener
from ..stopping import StopRequest

NodeValues = Mapping[str, Mapping[str, str]]
"""By fact its value on each node."""


@dataclass(frozen=True)
class NodesTarget:
    """The nodes to check, and how they are reached.

    Attributes:
        switches: the switch of each node, where people told.
        interfaces: network interfaces over which messages go; empty takes the one over which nodes find each other.
        silent: nodes that are known not to answer, and why; they are asked nothing.
    """

    name: str
    nodes: tuple[str, ...]
    reach: Transport
    switches: Mapping[str, str] = field(default_factory=dict)
    interfaces: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StepPlace:
    """Where a step measures, and who watches.

    Attributes:
        folders: by node the folder that holds the copied files; nodes that were lost before are not in it.
        classes: the class of each node: nodes of one class should be alike.
        runs: what steps before this one measured.
    """

    target: NodesTarget
    folders: Mapping[str, str]
    facts: NodeValues
    listener: Listener
    stop: StopRequest
    classes: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[NodeRun, ...] = ()


@dataclass(frozen=True)
class StepResult:
    """What a step measured.

    Attributes:
        pairs: rates between two nodes, one pair at a time; `pairs_at_once` while all pairs of a pattern send.
        soak: clocks, temperatures and rates over time.
        groups: runs of HPL on groups of nodes.
        lost: by node why it is asked nothing more.
        notes: what else people should know; each is told once.
    """

    runs: tuple[NodeRun, ...] = ()
    pairs: tuple[PairRate, ...] = ()
    pairs_at_once: tuple[PairRate, ...] = ()
    soak: tuple[SoakSample, ...] = ()
    groups: tuple[GroupRun, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Step(Protocol):
    """One kind of benchmark."""

    def files(self, facts: NodeValues) -> Mapping[str, Path]:
        """Return the files that nodes need, by the name that each has there; they are copied before the first step."""
        ...

    def measure(self, place: StepPlace) -> StepResult:
        """Measure all nodes; what a node cannot do is told in the result, and the rest goes on."""
        ...
