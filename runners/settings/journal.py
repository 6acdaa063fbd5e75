"""The interface to a journal of original values, which outlives this process and allows to restore nodes."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..hosts.transport import Local, Ssh, Transport
from .registry import recorded_name
from .setting import Command

Whereabouts = Literal["here", "restarted", "elsewhere"]
"""Whether a machine is the one of an original, since the same boot; the one, but started anew; or another."""

IDENTITY: Command = (
    *("sh", "-c", 'while [ $# -gt 0 ]; do echo "$1 $(head -c 64 "$2" 2>/dev/null)"; shift 2; done', "identity"),
    *("boot", "/proc/sys/kernel/random/boot_id"),
    *("machine", "/etc/machine-id"),
    *("product", "/sys/class/dmi/id/product_uuid"),
)
"""Prints the ids of a machine; only root may read the last one."""
_ID = re.compile(r"^(boot|machine|product) ([0-9a-f]{32})$", re.MULTILINE)


@dataclass(frozen=True)
class Original:
    """The original value of a setting, before any change.

    Attributes:
        interface: "" for a setting of the whole node.
        setting: its name with its family.
        ssh: the tokens of `Ssh` that reach the node; empty for this machine.
        machine: the id of the machine that answered, "" where it has none; `boot` the id of its boot.
    """

    host: str
    interface: str
    setting: str
    value: str
    ssh: tuple[str, ...] = ()
    machine: str = ""
    boot: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The identity of an original: host, interface and setting."""
        return (self.host, self.interface, self.setting)

    def found_on(self, machine: str, boot: str) -> Whereabouts:
        """Judge whether the machine that answers by the host's name has this original; the one place that does.

        A boot is of one kernel: while that runs, it is the machine, whatever id it has been given meanwhile. Where one
        of both machines is not known, as in older databases, the name decides.
        """
        if (self.boot and self.boot == boot) or not self.machine or not machine:
            return "here"
        if self.machine != machine:
            return "elsewhere"
        return "restarted" if self.boot and boot else "here"


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


def identity_in(printed: str) -> tuple[str, str]:
    """Parse the machine and its boot in the output of IDENTITY; each is 32 hexadecimal digits, or "" if not told.

    The machine is a hash of its id, which systemd keeps secret (machine-id(5)), or of that of its firmware. An id of
    one digit alone is what firmware has that was never given one.
    """
    found = {name: text for name, text in _ID.findall(printed[:500].lower().replace("-", "")) if len(set(text)) > 1}
    machine = found.get("machine") or found.get("product")
    return hashlib.sha256(machine.encode()).hexdigest()[:32] if machine else "", found.get("boot", "")


def tokens_of(reach: Transport) -> tuple[str, ...]:
    """Return the tokens by which the journal stores a transport."""
    return reach.program if isinstance(reach, Ssh) else ()


def reach_of(ssh: tuple[str, ...]) -> Transport:
    """Return the transport for stored tokens."""
    return Ssh(ssh) if ssh else Local()


def in_words(originals: Iterable[Original]) -> str:
    """Name originals with their values, for a sentence about those of one host."""
    return ", ".join(f"{each.interface} {recorded_name(each.setting)} = {each.value}".strip() for each in originals)


def place(host: str, interface: str, setting: str, value: str | None = None) -> str:
    """Name a node's setting, for a sentence."""
    return ": ".join(filter(None, (f"node {host}", interface, setting))) + ("" if value is None else f" = {value}")
