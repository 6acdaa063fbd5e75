"""The machines of a service, and who works on each."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from results.store.service.campaign_entry import CampaignEntry, QueueState

from ...campaigns.kinds.base import node_set
from ...campaigns.offered import Offered
from ...campaigns.wrong import WrongDocumentError

MOST_NODES = 4
"""Of a cluster that are named."""


@dataclass(frozen=True)
class MachineView:
    """A machine or a cluster that the service offers.

    Attributes:
        nodes: names of its nodes; "" for this machine itself.
        busy: campaigns that work there now; nobody where it is free.
        others: studies of the command line that do.
        wrong: why it cannot be used; "" where it can.
    """

    name: str
    nodes: str
    busy: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    wrong: str = ""


def machines(
    offered: Offered, entries: Sequence[CampaignEntry], at_work: Sequence[tuple[str, str]]
) -> list[MachineView]:
    """Tell of this machine, and of the clusters in the service's file.

    Args:
        entries: those that run, and others, which are passed over.
        at_work: names of studies that somebody works on, each with the host of that process.
    """
    running = [entry for entry in entries if entry.state is QueueState.RUNNING]
    here = platform.node()
    known = {entry.name for entry in running}
    others = tuple(dict.fromkeys(name for name, host in at_work if host == here and name not in known))
    found = [MachineView(f"{here} (this machine)", "", _busy(running, (here,)), others)]
    return [*found, *(_cluster(name, offered, running) for name in sorted(offered.clusters))]


def _cluster(name: str, offered: Offered, running: Sequence[CampaignEntry]) -> MachineView:
    try:
        nodes = node_set(name, offered)
    except WrongDocumentError as error:
        return MachineView(name, "", wrong=error.sentence)
    if nodes == (platform.node(),):
        return MachineView(
            name, "simulated here", tuple(e.name for e in running if e.order.document.get("cluster") == name)
        )
    more = len(nodes) - MOST_NODES
    named = ", ".join([*nodes[:MOST_NODES], *([f"{more} more"] if more > 0 else [])])
    return MachineView(name, named, _busy(running, nodes))


def _busy(running: Sequence[CampaignEntry], nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(entry.name for entry in running if set(nodes) & set(entry.order.node_set))
