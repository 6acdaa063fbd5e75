"""What a network setting is. Pure: settings name the commands that show and apply them and read what was printed."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from ..errors import InvalidJobError, RefusedError
from ..job import INTERFACE

SettingValue = str | int | float | bool
Command = tuple[str, ...]

PREFIX = "net."
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Reading:
    """What a node says of a setting.

    Attributes:
        value: as `Setting.text` writes it.
        fixed: the driver does not let it be changed.
    """

    value: str
    fixed: bool = False


class Setting(ABC):
    """One thing that can be set on a node.

    Attributes:
        name: without "net.".
        expected: legal values in words.
        per_interface: each interface has its own; else the node has one.
        moves_link: the link may go down, or frames may be dropped afterwards: the way between nodes is tested then.
    """

    name: str
    expected: str
    per_interface: bool = True
    moves_link: bool = False

    @abstractmethod
    def show(self, interface: str) -> Command:
        """The command that shows it; needs no rights."""

    @abstractmethod
    def read(self, printed: str) -> Reading:
        """The value in what `show` printed.

        Raises:
            RefusedError: this node has no such setting.
        """

    @abstractmethod
    def apply(self, interface: str, value: str) -> Command:
        """The command that sets it; needs root."""

    @abstractmethod
    def text(self, value: SettingValue) -> str:
        """A value as `read` gives it and `apply` takes it.

        Raises:
            RefusedError: it is not legal.
        """

    @abstractmethod
    def rule(self, interface: str) -> tuple[str, str]:
        """Program, and regular expression of the arguments, that root's rights are needed for (sudoers)."""

    def _wrong(self, value: SettingValue) -> RefusedError:
        return RefusedError(f"{PREFIX}{self.name} = {value}: expected {self.expected}")


class WholeNumber(Setting):
    """A setting whose values are whole numbers.

    Attributes:
        least: smallest and `most` largest that may be asked for.
    """

    least: int = 0
    most: int = LARGEST

    def text(self, value: SettingValue) -> str:
        """Decimal digits."""
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,10}", str(value)):
            raise self._wrong(value)
        if not self.least <= int(value) <= self.most:
            raise self._wrong(value)
        return str(int(value))


class OnOff(Setting):
    """A setting that is on or off."""

    expected = "on or off"

    def text(self, value: SettingValue) -> str:
        """The word itself."""
        if str(value) not in {"on", "off"}:
            raise self._wrong(value)
        return str(value)


def checked_interface(name: str) -> str:
    """The name of an interface, fit for a command line.

    Raises:
        InvalidJobError: it is none.
    """
    if not INTERFACE.fullmatch(name):
        raise InvalidJobError(f"{name!r} is not the name of a network interface")
    return name


def interfaces_of(value: SettingValue) -> tuple[str, ...]:
    """The interfaces of "eth0,eth1"; "+" separates too, because `--set` and `--with` take a comma for themselves.

    Raises:
        InvalidJobError: a name is none.
    """
    return tuple(checked_interface(name.strip()) for name in re.split(r"[,+]", str(value)))
