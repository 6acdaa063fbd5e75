"""The settings of `ethtool`: interrupts, rings, offloads.

We parse its text, not its JSON: up to version 6.1 `--json` works only for `-k`, and old versions do not have it.
"""

import re
from dataclasses import dataclass

from ..errors import RefusedError
from .ip_link import last_words
from .setting import COUNT, ON_OFF, Command, HostSetting, Reading, Values, checked_interface, whole

FRAMES = whole(1, unit="frames")


@dataclass(frozen=True)
class EthtoolSetting(HostSetting):
    """A setting of a NIC.

    Attributes:
        key: the name of the setting for ethtool.
        letter: the option that writes it; the same small letter shows it.
    """

    name: str
    key: str
    letter: str = "C"
    values: Values = ON_OFF
    meaning: str = ""
    per_interface: bool = True
    between_nodes: bool = True

    def show(self, interface: str) -> Command:
        """Show all that the option knows."""
        return ("ethtool", f"-{self.letter.lower()}", checked_interface(interface))

    def write(self, interface: str, value: str) -> Command:
        """Set the key."""
        return ("ethtool", f"-{self.letter}", interface, self.key, value)


@dataclass(frozen=True)
class Coalescing(EthtoolSetting):
    """The time, or the number of frames, for which a NIC delays its interrupt (`ethtool -C`)."""

    values: Values = COUNT

    def read(self, printed: str) -> Reading:
        """Read the line of the key."""
        return Reading(_found(rf"^{self.key}:\s*(\S+)", printed, self.key))


@dataclass(frozen=True)
class Adaptive(EthtoolSetting):
    """Whether the driver itself chooses how long interrupts are delayed."""

    def read(self, printed: str) -> Reading:
        """Read one half of the line "Adaptive RX: off  TX: off"."""
        direction = self.key.removeprefix("adaptive-").upper()
        return Reading(_found(rf"^Adaptive .*\b{direction}: *(\S+)", printed, self.key))


@dataclass(frozen=True)
class Ring(EthtoolSetting):
    """The number of frames that a NIC's queue holds (`ethtool -G`); the link may go down for a moment."""

    letter: str = "G"
    values: Values = FRAMES
    moves_link: bool = True

    def read(self, printed: str) -> Reading:
        """Read the key in the second half, below the maxima."""
        now = printed.partition("Current hardware settings:")[2]
        return Reading(_found(rf"^{self.key.upper()}:\s*(\S+)", now, f"{self.key} ring", printed))


@dataclass(frozen=True)
class Offload(EthtoolSetting):
    """Work that the NIC does for the CPU (`ethtool -K`).

    Attributes:
        key: the short name, which every version of ethtool takes; ethtool shows it as `feature`.
    """

    letter: str = "K"
    feature: str = ""

    def read(self, printed: str) -> Reading:
        """Read the line of the feature, which may end in "[fixed]" or in the value that was requested in vain."""
        value = _found(rf"^{self.feature}: (on|off)\b", printed, self.feature)
        return Reading(value, fixed=bool(re.search(rf"^{self.feature}: .*\[fixed\]", printed, re.MULTILINE)))


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
