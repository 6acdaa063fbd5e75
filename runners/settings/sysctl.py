"""The settings of the kernel (`sysctl`), which hold for the whole node."""

import re
from dataclasses import dataclass

from ..errors import RefusedError
from .ip_link import last_words
from .setting import Command, HostSetting, Reading, Sizes, Values

THREE_SIZES = Sizes(
    "least, default and most bytes, as 4096 131072 6291456", r"\d{1,10}( \d{1,10}){2}", "[0-9]+( [0-9]+){2}"
)
ALGORITHM = Values("the name of an algorithm, as cubic", r"[a-z][a-z0-9_]{0,15}", "[a-z0-9_]+")


@dataclass(frozen=True)
class Sysctl(HostSetting):
    """A setting of the kernel.

    Attributes:
        key: its name in `sysctl`.
    """

    name: str
    key: str
    values: Values
    meaning: str = ""
    between_nodes: bool = True

    def show(self, interface: str) -> Command:
        """Show the value alone."""
        del interface
        return ("sysctl", "-n", self.key)

    def read(self, printed: str) -> Reading:
        """Read the value with single blanks."""
        value = " ".join(printed.split())
        if not re.fullmatch(self.values.pattern, value):
            raise RefusedError(last_words(printed))
        return Reading(value)

    def write(self, interface: str, value: str) -> Command:
        """Set the value until the node reboots."""
        del interface
        return ("sysctl", "-w", f"{self.key}={value}")
