"""The interface of a network setting, without side effects: it makes commands and parses their output."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from ..errors import InvalidJobError, RefusedError
from ..job import INTERFACE

SettingValue = str | int | float | bool
Command = tuple[str, ...]

PREFIX = "net."
CHOICE = "interface"
"""`net.interface` names the interfaces that the ranks use; it is a setting of the launch, not of a node."""
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Reading:
    """The value of a setting on a node.

    Attributes:
        value: as `Setting.text` writes it.
        fixed: whether the driver forbids to change it.
    """

    value: str
    fixed: bool = False


class Setting(ABC):
    """A setting of a node's network.

    Attributes:
        name: the name without "net.".
        expected: the legal values in words.
        per_interface: whether each interface has its own value; otherwise the node has one.
        moves_link: whether a change may take the link down or drop frames; the connection of nodes is then tested.
    """

    name: str
    expected: str
    per_interface: bool = True
    moves_link: bool = False

    @abstractmethod
    def show(self, interface: str) -> Command:
        """Return the command that shows the value; it needs no special rights."""

    @abstractmethod
    def read(self, printed: str) -> Reading:
        """Parse the value in the output of `show`.

        Raises:
            RefusedError: this node does not have the setting.
        """

    @abstractmethod
    def apply(self, interface: str, value: str) -> Command:
        """Return the command that sets the value; it needs root."""

    @abstractmethod
    def text(self, value: SettingValue) -> str:
        """Return a value in the form of `read` and `apply`.

        Raises:
            RefusedError: the value is not legal.
        """

    @abstractmethod
    def rule(self, interface: str) -> tuple[str, str]:
        """Return the program and a regular expression of its arguments for a rule of sudoers."""

    def _wrong(self, value: SettingValue) -> RefusedError:
        return RefusedError(f"{PREFIX}{self.name} = {value}: expected {self.expected}")


class WholeNumber(Setting):
    """A setting whose values are whole numbers.

    Attributes:
        least, most: smallest and largest legal value.
    """

    least: int = 0
    most: int = LARGEST

    def text(self, value: SettingValue) -> str:
        """Return decimal digits."""
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,10}", str(value)):
            raise self._wrong(value)
        if not self.least <= int(value) <= self.most:
            raise self._wrong(value)
        return str(int(value))


class OnOff(Setting):
    """A setting that is on or off."""

    expected = "on or off"

    def text(self, value: SettingValue) -> str:
        """Return the word itself."""
        if str(value) not in {"on", "off"}:
            raise self._wrong(value)
        return str(value)


def checked_interface(name: str) -> str:
    """Return the name of an interface if it is safe for a command line.

    Raises:
        InvalidJobError: it is no name of an interface.
    """
    if not INTERFACE.fullmatch(name):
        raise InvalidJobError(f"{name!r} is not the name of a network interface")
    return name


def interfaces_of(value: SettingValue) -> tuple[str, ...]:
    """Split "eth0,eth1" into interfaces; "+" separates too, because commas separate values in `--set` and `--with`.

    Raises:
        InvalidJobError: a part is no name of an interface.
    """
    return tuple(checked_interface(name.strip()) for name in re.split(r"[,+]", str(value)))
