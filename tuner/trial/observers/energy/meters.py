"""The sources of power of one machine: what was found there, and why others tell nothing."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ....events import Listener, Notice
from .contract import WHOLE, Places, PowerSource, PowerSourceError

if TYPE_CHECKING:
    from runners.hosts.cluster import Cluster

ROOT = "HPLTUNE_SYSTEM_ROOT"
"""Variable that moves /sys, for tests."""
MOST_SAID = 300
"""Signs of a sentence of a source."""


@dataclass
class PowerMeters:
    """The sources that were found, and why others cannot be used.

    Attributes:
        sources: nearest to the wall first.
        refused: by the name of a source why it is there and cannot be used.
    """

    sources: Sequence[PowerSource] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)
    _hung: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def found(cls, cluster: "Cluster | None" = None, command: str = "") -> "PowerMeters":
        """Look for all sources.

        Args:
            command: of the user, that prints watts; "" for none.
        """
        from .registry import SOURCES  # noqa: PLC0415 - a source may need libraries that are slow to import

        places = Places(Path(os.environ.get(ROOT) or "/"), cluster, command)
        sources, refused = [], {}
        for kind in SOURCES:
            try:
                source = kind.find(places)
            except PowerSourceError as error:
                refused[kind.name] = str(error)[:MOST_SAID]
                continue
            except OSError as error:
                why = f"cannot be read: {error.filename}: {error.strerror}" if error.filename else str(error)
                refused[kind.name] = why[:MOST_SAID]
                continue
            if source is not None:
                sources.append(source)
        return cls(tuple(sources), refused)

    @property
    def names(self) -> list[str]:
        """The sources that can be used, nearest to the wall first."""
        return [source.name for source in self.sources]

    def sentences(self) -> list[str]:
        """What tells the power, and why others do not."""
        told = [f"{source.name} ({source.what})" for source in self.sources]
        said = [f"The power is measured by {', '.join(told)}."] if told else []
        said += [f"The power source {name} {why}." for name, why in self.refused.items()]
        return said or ["Nothing here measures the power, so no energy is told."]

    def of_a_part(self) -> "PowerMeters":
        """The sources that tell of single nodes: where runs share a cluster, a meter of all of it tells of none."""
        return PowerMeters([one for one in self.sources if all(part.host != WHOLE for part in one.parts)], self.refused)

    def usable(self, nodes: Sequence[str]) -> list[PowerSource]:
        """The sources that tell of all these nodes, and of which no reading is still awaited."""
        with self._lock:
            return [source for source in self.sources if source.name not in self._hung and source.tells_all_of(nodes)]

    def note_hung(self, name: str) -> None:
        """Leave a source alone from now on: a thread still waits for it."""
        with self._lock:
            self._hung.add(name)

    def say_once(self, listener: Listener, name: str, why: str) -> None:
        """Say why a source gives nothing for a run, unless something was said of it before."""
        with self._lock:
            new = name not in self._said
            self._said.add(name)
        if new:
            sentence = f"The power source {name} {why}"[:MOST_SAID]
            listener(Notice(f"{sentence}: it gives nothing for this run. This is said once."))
