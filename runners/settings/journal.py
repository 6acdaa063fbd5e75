"""The interface to a journal of original values, which outlives this process and allows to restore nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..hosts.transport import Local, Ssh, Transport
from .registry import recorded_name


@dataclass(frozen=True)
class Original:
    """The original value of a setting, before any change.

    Attributes:
        interface: "" for a setting of the whole node.
        setting: its name with its family.
        ssh: the tokens of `Ssh` that reach the node; empty for this machine.
    """

    host: str
    interface: str
    setting: str
    value: str
    ssh: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """The identity of an original: host, interface and setting."""
        return (self.host, self.interface, self.setting)


@dataclass(frozen=True)
class Holder:
    """The process that changes settings.

    Attributes:
        owner: a text that identifies this process.
        study: the study for which it changes them, or "".
        lives: tells for such a text whether it is another process that may still run.
    """

    owner: str
    study: str
    lives: Callable[[str], bool]


class Journal(Protocol):
    """A store of original values."""

    @property
    def holder(self) -> Holder:
        """The process and study for which it keeps them."""
        ...

    def remember(self, originals: Sequence[Original]) -> Sequence[Original]:
        """Store originals before the first change.

        Returns:
            The same, but with the older value where one is already stored: an earlier change was never undone.

        Raises:
            RefusedError: another living process has changed one of them.
        """
        ...

    def forget(self, originals: Sequence[Original]) -> None:
        """Delete originals that are restored."""
        ...


def tokens_of(reach: Transport) -> tuple[str, ...]:
    """Return the tokens by which the journal stores a transport."""
    return reach.program if isinstance(reach, Ssh) else ()


def reach_of(ssh: tuple[str, ...]) -> Transport:
    """Return the transport for stored tokens."""
    return Ssh(ssh) if ssh else Local()


def in_words(original: Original) -> str:
    """Name an original with its value, for a list of those that are put back."""
    return f"{original.interface} {recorded_name(original.setting)} = {original.value}".strip()


def place(host: str, interface: str, setting: str, value: str | None = None) -> str:
    """Name a node's setting, for a sentence."""
    where = f"node {host}: {interface}: " if interface else f"node {host}: "
    return where + setting + ("" if value is None else f" = {value}")
