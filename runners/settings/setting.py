"""What a setting of a host is, without side effects: its name, values and meaning, its commands and their output.

There are two kinds. A `HostSetting` is a value that nodes have: it is read, written, read again and put back. A
`LaunchSetting` is only in the environment or the command of a run, so there is nothing to put back.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ..errors import InvalidJobError, RefusedError
from ..hosts.system_facts import SystemFacts
from ..job import INTERFACE

SettingValue = str | int | float | bool
Command = tuple[str, ...]

CHOICE = "net.interface"
"""Names the interfaces that the ranks use, and to which the settings of interfaces apply."""
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Values:
    """The legal values of a setting.

    Attributes:
        expected: the values in words.
        pattern: a regular expression that matches each value as a whole.
        rule: a simpler one for sudoers; "" takes the pattern.
        numbers: whether search spaces have them as numbers, not as texts.
    """

    expected: str
    pattern: str
    rule: str = ""
    numbers: bool = False

    def text(self, value: SettingValue) -> str | None:
        """Return a value as it is written and read; None if it is not legal."""
        return str(value) if not isinstance(value, bool) and re.fullmatch(self.pattern, str(value)) else None

    def accepts(self, value: SettingValue) -> bool:
        """Return whether a search space may name this value."""
        written = isinstance(value, int if self.numbers else str) and re.fullmatch(self.pattern, str(value))
        return bool(written) and self.text(value) is not None


@dataclass(frozen=True)
class Whole(Values):
    """Whole numbers from `least` to `most`."""

    least: int = 0
    most: int = LARGEST

    def text(self, value: SettingValue) -> str | None:
        """Return decimal digits."""
        written = super().text(value)
        return str(int(written)) if written is not None and self.least <= int(written) <= self.most else None


def whole(least: int = 0, most: int = LARGEST, unit: str = "") -> Whole:
    """Return the whole numbers of a range, both ends included."""
    limit = "below 2^31" if most == LARGEST else f"at most {most}"
    return Whole(
        f"a whole number of {f'{unit}, ' if unit else ''}at least {least}, {limit}",
        r"\d{1,10}",
        "[0-9]+",
        True,
        least,
        most,
    )


@dataclass(frozen=True)
class Sizes(Values):
    """Several numbers of bytes, with blanks between."""

    def text(self, value: SettingValue) -> str | None:
        """Return the numbers with single blanks between them; commas are accepted too."""
        sizes = [int(part) for part in (super().text(" ".join(str(value).replace(",", " ").split())) or "").split()]
        return " ".join(map(str, sizes)) if sizes and max(sizes) <= LARGEST else None


COUNT, BYTES = whole(), whole(unit="bytes")
ON_OFF = Values("on or off", "on|off", "(on|off)")
INTERFACES = Values("an interface or several, as eth0 or eth0,eth1", rf"{INTERFACE.pattern}([,+]{INTERFACE.pattern})*")


@dataclass(frozen=True)
class Reading:
    """The value of a setting on a node.

    Attributes:
        value: as `Setting.text` writes it.
        fixed: whether the driver forbids to change it.
        choices: the values that this node takes; empty if it does not tell them.
    """

    value: str
    fixed: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """A setting of a host, which a search space may vary.

    Attributes:
        name: the family and the name in it, as "net.mtu".
        values: the legal values.
        meaning: what it does and when it matters, for people who have never set it; "" leaves it out of the glossary.
        between_nodes: whether it changes only messages between nodes, so that one machine alone cannot use it.
    """

    name: str
    values: Values
    meaning: str = field(default="", kw_only=True)
    between_nodes: ClassVar[bool] = False

    def text(self, value: SettingValue) -> str:
        """Return a value in the form in which it is written and read.

        Raises:
            RefusedError: the value is not legal.
        """
        text = self.values.text(value)
        if text is None:
            shown = str(value) if str(value).isprintable() else repr(str(value))
            raise RefusedError(f"{self.name} = {shown}: expected {self.values.expected}")
        return text

    def lacks(self, value: str, system: SystemFacts) -> str:  # noqa: ARG002 - the contract's
        """Return what a host lacks for a value, as "it has no numactl"; "" if it lacks nothing."""
        return ""

    def worth_trying(self, system: SystemFacts) -> tuple[SettingValue, ...]:  # noqa: ARG002 - the contract's
        """Return the values of "auto" on a host, best guess first; empty if none can be better than another."""
        return ()


class HostSetting(Setting, ABC):
    """A value that each node has, for each interface or once.

    Attributes:
        per_interface: whether each interface has its own value; otherwise the node has one.
        moves_link: whether a change may take the link down or drop frames; the connection of nodes is then tested.
        needs_root: whether only root may write it; others then use sudo.
    """

    per_interface: ClassVar[bool] = False
    moves_link: ClassVar[bool] = False
    needs_root: ClassVar[bool] = True

    @abstractmethod
    def show(self, interface: str) -> Command:
        """Return the command that shows the value; it needs no special rights.

        Args:
            interface: "" for a setting of the whole node.
        """

    @abstractmethod
    def read(self, printed: str) -> Reading:
        """Parse the value in the output of `show`, also where a program is missing or fails.

        Raises:
            RefusedError: this node does not have the setting; the sentence says why.
        """

    @abstractmethod
    def write(self, interface: str, value: str) -> Command:
        """Return the command that writes a value, which may be a pattern for sudoers."""

    def apply(self, interface: str, value: SettingValue) -> Command:
        """Return the command that sets a legal value.

        Raises:
            RefusedError: the value is not legal.
        """
        return self.write(checked_interface(interface) if interface else "", self.text(value))

    def rule(self, interface: str) -> tuple[str, str]:
        """Return the program and a regular expression of its arguments for a rule of sudoers."""
        program, *arguments = self.write(interface, self.values.rule or self.values.pattern)
        return program, " ".join(arguments)


class LaunchSetting(Setting):
    """Something in the environment or the command of each rank, or in what the launcher is asked for."""

    def environment(self, value: str) -> Mapping[str, str]:  # noqa: ARG002 - the contract's
        """Return the variables of the ranks with this value."""
        return {}

    def command(self, value: str, system: SystemFacts | None) -> Command:  # noqa: ARG002 - the contract's
        """Return what stands before the program in the command of each rank, as `numactl --interleave=all`.

        Args:
            system: what each host has; None if nobody knows it before the run.

        Raises:
            RefusedError: the value means something only if the host is known.
        """
        return ()


class InterfaceChoice(LaunchSetting):
    """The interfaces that MPI uses; a plan knows it by its name."""

    between_nodes = True


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
