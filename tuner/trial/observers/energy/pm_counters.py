"""Cray's pm_counters: the energy of a node, counted ten times a second by its controller.

Source: Cray System Management, "User Access to Compute Node Power Data": `energy` is the joules of the node with its
accelerators, followed by a time. The counters of its processors, memory and accelerators are parts of that, and are
left out.
"""

from typing import Self

from .contract import HERE, FilePower, Places, PowerPart, first_figure, read_text

COUNTER = "sys/cray/pm_counters/energy"


class PmCounters(FilePower):
    """The counter of this node."""

    name = "pm_counters"
    what = "the whole node"
    unit = 1.0

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for the counter."""
        file = places.root / COUNTER
        if not places.here or not file.exists():
            return None
        first_figure(read_text(file))
        return cls([PowerPart(HERE, counts=True)], [file])
