"""The settings of networks, `net.*`: by `ip link` (iproute2), `ethtool` and `sysctl`.

We parse the text of ethtool, not its JSON: up to version 6.1 `--json` works only for `-k`, and old versions do not have
it.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import RefusedError
from .setting import Command, HostSetting, Reading, Sizes, Values, checked_interface

LEAST_MTU = 68
"""The smallest MTU that IPv4 allows (RFC 791)."""
THREE_SIZES = Sizes(
    "least, default and most bytes, as 4096 131072 6291456", r"\d{1,10}( \d{1,10}){2}", "[0-9]+( [0-9]+){2}"
)
ALGORITHM = Values("the name of an algorithm, as cubic", r"[a-z][a-z0-9_]{0,15}", "[a-z0-9_]+")


class Mtu(HostSetting):
    """The largest packet of a link in bytes, IP header included."""

    per_interface = True
    moves_link = True
    between_nodes = True

    def show(self, interface: str) -> Command:
        """Describe the link as JSON."""
        return ("ip", "-j", "link", "show", "dev", checked_interface(interface))

    def read(self, printed: str) -> Reading:
        """Read the field "mtu"."""
        links = json_of(printed)
        if not links or "mtu" not in links[0]:
            raise RefusedError(last_words(printed))
        return Reading(str(links[0]["mtu"]))

    def write(self, interface: str, value: str) -> Command:
        """Set the MTU."""
        return ("ip", "link", "set", "dev", interface, "mtu", value)


@dataclass(frozen=True)
class EthtoolSetting(HostSetting):
    """A setting of a NIC.

    Attributes:
        key: the name of the setting for ethtool.
        letter: the option that writes it; the same small letter shows it.
    """

    key: str
    letter: ClassVar[str] = "C"
    per_interface = True
    between_nodes = True

    def show(self, interface: str) -> Command:
        """Show all that the option knows."""
        return ("ethtool", f"-{self.letter.lower()}", checked_interface(interface))

    def write(self, interface: str, value: str) -> Command:
        """Set the key."""
        return ("ethtool", f"-{self.letter}", interface, self.key, value)


class Coalescing(EthtoolSetting):
    """The time, or the number of frames, for which a NIC delays its interrupt (`ethtool -C`)."""

    def read(self, printed: str) -> Reading:
        """Read the line of the key."""
        return Reading(_found(rf"^{self.key}:\s*(\S+)", printed, self.key))


class Adaptive(EthtoolSetting):
    """Whether the driver itself chooses how long interrupts are delayed."""

    def read(self, printed: str) -> Reading:
        """Read one half of the line "Adaptive RX: off  TX: off"."""
        direction = self.key.removeprefix("adaptive-").upper()
        return Reading(_found(rf"^Adaptive .*\b{direction}: *(\S+)", printed, self.key))


class Ring(EthtoolSetting):
    """The number of frames that a NIC's queue holds (`ethtool -G`); the link may go down for a moment."""

    letter = "G"
    moves_link = True

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

    feature: str
    letter = "K"

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


@dataclass(frozen=True)
class Sysctl(HostSetting):
    """A setting of the kernel.

    Attributes:
        key: its name in `sysctl`.
    """

    key: str
    between_nodes = True

    def show(self, interface: str) -> Command:  # noqa: ARG002 - the contract's
        """Show the value alone."""
        return ("sysctl", "-n", self.key)

    def read(self, printed: str) -> Reading:
        """Read the value with single blanks."""
        value = " ".join(printed.split())
        if not re.fullmatch(self.values.pattern, value):
            raise RefusedError(last_words(printed))
        return Reading(value)

    def write(self, interface: str, value: str) -> Command:  # noqa: ARG002 - the contract's
        """Set the value until the node reboots."""
        return ("sysctl", "-w", f"{self.key}={value}")


def json_of(printed: str) -> list[dict[str, Any]]:
    """Parse the JSON list of `ip -j`, without the empty objects of old versions; empty if it is no JSON."""
    try:
        found = json.loads(printed)
    except ValueError:
        return []
    return [entry for entry in found if entry] if isinstance(found, list) else []


def last_words(printed: str) -> str:
    """Return the last lines of a command's output as one line."""
    return "; ".join(dict.fromkeys([*filter(None, map(str.strip, printed.splitlines()))][-3:])) or "it said nothing"
