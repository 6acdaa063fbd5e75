"""Why campaigns that were handed in wait."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from results.store.service.campaign_entry import CampaignEntry, QueueState

from ...messages.plain_paths import without_paths
from ...words import counted, listed

MOST_NAMED = 3
"""Campaigns that are named where several are waited for."""


@dataclass(frozen=True)
class Waiting:
    """A campaign that waits.

    Attributes:
        position: in the order in which campaigns are started, from 1.
        why: what it waits for, in a sentence.
    """

    entry: CampaignEntry
    position: int
    why: str


@dataclass
class NodesTaken:
    """Who works on each machine, or is started there first.

    Attributes:
        others: machine and name of each study of the command line that works on one.
        starts: tells whether this service can start a campaign.
    """

    others: Collection[tuple[str, str]] = ()
    starts: Callable[[CampaignEntry], bool] = lambda _: True
    _running: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list), init=False)
    _before: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list), init=False)

    def add(self, entry: CampaignEntry) -> None:
        """Note a campaign that runs, or that is started before those that are asked for later."""
        known = self._running if entry.state is QueueState.RUNNING else self._before
        for node in entry.order.node_set:
            known[node].append(entry.name)

    def why(self, entry: CampaignEntry) -> str:
        """Say what a campaign waits for."""
        nodes = entry.order.node_set
        if not self.starts(entry):
            return f"It waits for {_machines(nodes)}, which this service does not offer: one that does must start it."
        if entry.not_before is not None and entry.not_before > datetime.now(UTC):
            return (
                f"It is tried again at {entry.not_before:%H:%M:%S} UTC, after a fault: {without_paths(entry.reason)}."
            )
        running, before = _of_nodes(self._running, nodes), _of_nodes(self._before, nodes)
        if running:
            after = f", and {counted(len(before), 'campaign')} before it" if before else ""
            return f"It waits for {_named(running)}, which {_works(running)} on {_machines(nodes)}{after}."
        others = [name for node, name in self.others if node in nodes]
        if others:
            return f"It waits for {_named(others)}, which the command line began on {_machines(nodes)}."
        if before:
            return f"It waits for {_named(before)}, which {'is' if len(before) == 1 else 'are'} started before it."
        return "It starts in a moment."


def waiting(
    entries: Sequence[CampaignEntry], order: Sequence[CampaignEntry], taken: NodesTaken, asked: Collection[str]
) -> list[Waiting]:
    """Say of campaigns that wait why they do.

    Args:
        entries: all that run or wait.
        order: those that wait, in the order in which they are started.
        asked: names of those of which it is said.
    """
    for entry in entries:
        if entry.state is QueueState.RUNNING:
            taken.add(entry)
    found = []
    for position, entry in enumerate(order, start=1):
        if entry.name in asked:
            found.append(Waiting(entry, position, taken.why(entry)))
        taken.add(entry)
    return found


def _of_nodes(known: Mapping[str, Sequence[str]], nodes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for node in nodes for name in known.get(node, ())))


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _works(names: Sequence[str]) -> str:
    return "works" if len(names) == 1 else "work"


def _machines(nodes: Sequence[str]) -> str:
    return nodes[0] if len(nodes) == 1 else "its nodes"
