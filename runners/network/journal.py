"""What must be known to put a node back, kept where it survives this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..hosts.transport import Local, Ssh, Transport
from .setting import PREFIX


@dataclass(frozen=True)
class Original:
    """A value as it was before anything was changed.

    Attributes:
        interface: "" where the setting is the whole node's.
        setting: name without "net.".
        ssh: how the node is reached: the tokens of `Ssh`, empty for this machine itself.
    """

    host: str
    interface: str
    setting: str
    value: str
    ssh: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells originals apart."""
        return (self.host, self.interface, self.setting)


@dataclass(frozen=True)
class Holder:
    """Who changes networks here.

    Attributes:
        owner: this process, in words that tell it from every other one.
        study: what it changes them for, or "".
        lives: whether another process than this one, in those words, may still run.
    """

    owner: str
    study: str
    lives: Callable[[str], bool]


class Journal(Protocol):
    """Keeps originals."""

    @property
    def holder(self) -> Holder:
        """For whom it keeps them."""
        ...

    def remember(self, originals: Sequence[Original]) -> Sequence[Original]:
        """Commit originals before the first change.

        Returns:
            The same, but with the older value where one is kept already: an earlier change was never put back.

        Raises:
            RefusedError: another living process has changed one of them.
        """
        ...

    def forget(self, originals: Sequence[Original]) -> None:
        """Drop originals that are put back."""
        ...


def tokens_of(reach: Transport) -> tuple[str, ...]:
    """A way to nodes as it is kept."""
    return reach.program if isinstance(reach, Ssh) else ()


def reach_of(ssh: tuple[str, ...]) -> Transport:
    """The way to nodes that was kept."""
    return Ssh(ssh) if ssh else Local()


def place(host: str, interface: str, setting: str, value: str | None = None) -> str:
    """How sentences name a setting of a node."""
    where = f"node {host}: {interface}: " if interface else f"node {host}: "
    return where + f"{PREFIX}{setting}" + ("" if value is None else f" = {value}")
