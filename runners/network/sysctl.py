"""The settings of the kernel (`sysctl`), which hold for the whole node."""

import re
from dataclasses import dataclass

from ..errors import RefusedError
from .ip_link import last_words
from .setting import LARGEST, Command, Reading, Setting, SettingValue

_SHAPES = {
    "bytes": (r"\d{1,10}", "a whole number of bytes", "[0-9]+"),
    "three": (r"\d{1,10}( \d{1,10}){2}", "least, default and most bytes, as 4096 131072 6291456", "[0-9]+( [0-9]+){2}"),
    "name": (r"[a-z][a-z0-9_]{0,15}", "the name of an algorithm, as cubic", "[a-z0-9_]+"),
}  # fmt: skip


@dataclass(frozen=True)
class Sysctl(Setting):
    """A setting of the kernel.

    Attributes:
        key: its name in `sysctl`.
        shape: "bytes", "three" (three numbers of bytes) or "name".
    """

    name: str
    key: str
    shape: str
    per_interface: bool = False

    @property
    def expected(self) -> str:  # type: ignore[override]
        """The legal values in words."""
        return _SHAPES[self.shape][1]

    def show(self, interface: str) -> Command:
        """Show the value alone."""
        del interface
        return ("sysctl", "-n", self.key)

    def read(self, printed: str) -> Reading:
        """Read the value with single blanks."""
        value = " ".join(printed.split())
        if not re.fullmatch(_SHAPES[self.shape][0], value):
            raise RefusedError(last_words(printed))
        return Reading(value)

    def apply(self, interface: str, value: str) -> Command:
        """Set the value until the node reboots."""
        del interface
        return ("sysctl", "-w", f"{self.key}={self.text(value)}")

    def text(self, value: SettingValue) -> str:
        """Return numbers with single blanks between them; commas are accepted too."""
        text = " ".join(str(value).replace(",", " ").split())
        legal = re.fullmatch(_SHAPES[self.shape][0], text) and not isinstance(value, bool)
        if not legal or any(int(part) > LARGEST for part in text.split() if part.isdecimal()):
            raise self._wrong(value)
        return " ".join(str(int(part)) if part.isdecimal() else part for part in text.split())

    def rule(self, interface: str) -> tuple[str, str]:
        """Allow any legal value."""
        del interface
        return "sysctl", f"-w {self.key}={_SHAPES[self.shape][2]}"
