"""The settings of `ethtool`: interrupts, rings, offloads.

We parse its text, not its JSON: up to version 6.1 `--json` works only for `-k`, and old versions do not have it.
"""

import re
from dataclasses import dataclass

from ..errors import RefusedError
from .ip_link import last_words
from .setting import Command, OnOff, Reading, WholeNumber, checked_interface


@dataclass(frozen=True)
class Coalescing(WholeNumber):
    """The time, or the number of frames, for which a NIC delays its interrupt (`ethtool -C`)."""

    name: str
    key: str
    expected: str = "a whole number"

    def show(self, interface: str) -> Command:
        """Show all of `-c`."""
        return ("ethtool", "-c", checked_interface(interface))

    def read(self, printed: str) -> Reading:
        """Read the line of the key."""
        return Reading(_found(rf"^{self.key}:\s*(\S+)", printed, self.key))

    def apply(self, interface: str, value: str) -> Command:
        """Set the key."""
        return ("ethtool", "-C", checked_interface(interface), self.key, self.text(value))

    def rule(self, interface: str) -> tuple[str, str]:
        """Allow any number for the key."""
        return "ethtool", f"-C {interface} {self.key} [0-9]+"


@dataclass(frozen=True)
class Adaptive(OnOff):
    """Whether the driver itself chooses how long interrupts are delayed."""

    name: str
    key: str

    def show(self, interface: str) -> Command:
        """Show all of `-c`."""
        return ("ethtool", "-c", checked_interface(interface))

    def read(self, printed: str) -> Reading:
        """Read one half of the line "Adaptive RX: off  TX: off"."""
        direction = self.key.removeprefix("adaptive-").upper()
        return Reading(_found(rf"^Adaptive .*\b{direction}: *(\S+)", printed, self.key))

    def apply(self, interface: str, value: str) -> Command:
        """Set the key."""
        return ("ethtool", "-C", checked_interface(interface), self.key, self.text(value))

    def rule(self, interface: str) -> tuple[str, str]:
        """Allow "on" and "off"."""
        return "ethtool", f"-C {interface} {self.key} (on|off)"


@dataclass(frozen=True)
class Ring(WholeNumber):
    """The number of frames that a NIC's queue holds (`ethtool -G`); the link may go down for a moment."""

    name: str
    key: str
    expected: str = "a whole number of frames, at least 1"
    moves_link: bool = True
    least: int = 1

    def show(self, interface: str) -> Command:
        """Show all of `-g`."""
        return ("ethtool", "-g", checked_interface(interface))

    def read(self, printed: str) -> Reading:
        """Read the key in the second half, below the maxima."""
        now = printed.partition("Current hardware settings:")[2]
        return Reading(_found(rf"^{self.key.upper()}:\s*(\S+)", now, f"{self.key} ring", printed))

    def apply(self, interface: str, value: str) -> Command:
        """Set the key."""
        return ("ethtool", "-G", checked_interface(interface), self.key, self.text(value))

    def rule(self, interface: str) -> tuple[str, str]:
        """Allow any size."""
        return "ethtool", f"-G {interface} {self.key} [0-9]+"


@dataclass(frozen=True)
class Offload(OnOff):
    """Work that the NIC does for the CPU (`ethtool -K`).

    Attributes:
        name: the short name, which every version of ethtool takes; ethtool shows it as `feature`.
    """

    name: str
    feature: str

    def show(self, interface: str) -> Command:
        """Show all of `-k`."""
        return ("ethtool", "-k", checked_interface(interface))

    def read(self, printed: str) -> Reading:
        """Read the line of the feature, which may end in "[fixed]" or in the value that was requested in vain."""
        value = _found(rf"^{self.feature}: (on|off)\b", printed, self.feature)
        return Reading(value, fixed=bool(re.search(rf"^{self.feature}: .*\[fixed\]", printed, re.MULTILINE)))

    def apply(self, interface: str, value: str) -> Command:
        """Set the feature."""
        return ("ethtool", "-K", checked_interface(interface), self.name, self.text(value))

    def rule(self, interface: str) -> tuple[str, str]:
        """Allow "on" and "off"."""
        return "ethtool", f"-K {interface} {self.name} (on|off)"


def _found(pattern: str, text: str, what: str, printed: str = "") -> str:
    match = re.search(pattern, text, re.MULTILINE)
    printed = printed or text
    if match is None and re.match(r"\w+ (parameters )?for ", printed):
        raise RefusedError(f"ethtool tells of no {what}")
    if match is None:
        raise RefusedError(last_words(printed))
    if match[1] == "n/a":
        raise RefusedError(f"the driver has no {what}")
    return match[1]
