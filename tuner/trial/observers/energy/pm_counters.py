"""Cray's pm_counters: the energy of a node, counted ten times a second by its controller.

Source: Cray System Management, "User Access to Compute Node Power Data": `energy` is the joules of the node with its
accelerators, followed by a time. The counters of its processors, memory and accelerators are parts of that, and are
left out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from .contract import HERE, Places, PowerPart, PowerSource, PowerSourceError, first_figure, read_figures, read_text

COUNTER = "sys/cray/pm_counters/energy"


class PmCounters(PowerSource):
    """The counter of this node."""

    name = "pm_counters"
    what = "the whole node"

    def __init__(self, file: Path) -> None:
        super().__init__([PowerPart(HERE, counts=True)])
        self._file = file

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Look for the counter."""
        file = places.root / COUNTER
        if not places.here or not file.exists():
            return None
        try:
            first_figure(read_text(file))
        except OSError as error:
            raise PowerSourceError(f"cannot be read: {error.filename}: {error.strerror}") from error
        return cls(file)

    def read(self) -> Sequence[float]:
        """Read the counter in joules."""
        return read_figures([self._file], 1.0)
