"""Which user of this machine has the other end of a connection, as the kernel tells it."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import psutil

Place = tuple[str, int]
"""An address and a port."""
UidOf = Callable[[Place, Place], int | None]
"""Tells whose process on this machine has the other end of a connection, by the places of both; None for nobody's."""
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL, REMOTE, STATE, UID = 1, 2, 3, 7
"""Columns of these."""
LOOKS = 5
"""Times that the lists are read: the kernel may leave out a connection of a list that changes while it is read."""
LIVING = frozenset({"01", "08"})
"""Connections that a process has, as the kernel numbers their states: ESTABLISHED and CLOSE_WAIT."""


def is_own(address: str) -> bool:
    """Whether an address is one of this machine's, where a program of any user can be."""
    found = _plain(ip_address(address))
    if found.is_loopback:
        return True
    own = (one.address.partition("%")[0] for each in psutil.net_if_addrs().values() for one in each)
    return str(found) in own


def peer_uid(client: Place, server: Place, tables: Sequence[Path] = TABLES) -> int | None:
    """The user whose process on this machine has the other end of a connection; None where nobody has it now.

    Args:
        client: the other end. Others may have connections from the same port to other places.
        server: this end.
        tables: the kernel's lists of connections (proc(5), /proc/net/tcp).
    """
    theirs, ours = _written(client), _written(server)
    for table in [*tables] * LOOKS:
        with suppress(OSError):
            for line in table.read_text(encoding="ascii", errors="replace").splitlines()[1:]:
                words = line.split(maxsplit=UID + 1)
                if len(words) > UID and words[LOCAL] in theirs and words[REMOTE] in ours and words[STATE] in LIVING:
                    return int(words[UID])
    return None


def _written(place: Place) -> frozenset[str]:
    """How the kernel writes an address and a port: words of 32 bits in the machine's order of bytes.

    An IPv4 address may also stand inside of IPv6.
    """
    address, port = _plain(ip_address(place[0])), place[1]
    mapped = b"\0" * 10 + b"\xff" * 2 + address.packed
    return frozenset(f"{_words(packed)}:{port:04X}" for packed in (address.packed, mapped))


def _words(packed: bytes) -> str:
    words = (packed[start : start + 4] for start in range(0, len(packed), 4))
    return "".join((word[::-1] if sys.byteorder == "little" else word).hex() for word in words).upper()


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address inside of IPv6 as itself."""
    return getattr(address, "ipv4_mapped", None) or address
