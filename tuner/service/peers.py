"""Which user of this machine has the other end of a connection, as the kernel tells it."""

import errno
import socket
import struct
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
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST = 4, 20, 1
"""Numbers of linux/netlink.h and linux/sock_diag.h."""
HEADER, SOCKET_ID, ASKED = struct.Struct("=IHHII"), struct.Struct("!HH16s16s"), struct.Struct("=BBBxI")
"""nlmsghdr; inet_diag_sockid without interface and cookie; inet_diag_req_v2 without its id (linux/inet_diag.h)."""
ANY_INTERFACE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
"""The interface and the cookie of a socket that is asked for by its addresses alone."""
STATE_AT, UID_AT = 1, 64
"""Where inet_diag_msg has the state and the user."""
ANSWER_TIMEOUT_S = 1.0
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL, REMOTE, STATE, UID = 1, 2, 3, 7
"""Columns of these."""
LOOKS = 5
"""Times that the lists are read: the kernel may leave out a connection of a list that changes while it is read."""
LIVING = frozenset({1, 8})
"""Connections that a process has, as the kernel numbers their states: ESTABLISHED and CLOSE_WAIT."""


def is_own(address: str) -> bool:
    """Whether an address is one of this machine's, where a program of any user can be."""
    found = _plain(ip_address(address))
    if found.is_loopback:
        return True
    return str(found) in (one.address.partition("%")[0] for each in psutil.net_if_addrs().values() for one in each)


def peer_uid(client: Place, server: Place) -> int | None:
    """The user whose process on this machine has the other end of a connection; None where nobody has it now.

    The kernel is asked for this one connection. Where it cannot be asked so, all of its connections are read.

    Args:
        client: the other end. Others may have connections from the same port to other places.
        server: this end.
    """
    try:
        return _asked_uid(client, server)
    except OSError:
        return listed_uid(client, server)


def _asked_uid(client: Place, server: Place) -> int | None:
    """Ask the kernel for one socket (sock_diag(7)); OSError where it has no answer: not even that there is none."""
    here, there = _plain(ip_address(client[0])), _plain(ip_address(server[0]))
    family = socket.AF_INET if here.version == 4 else socket.AF_INET6
    request = ASKED.pack(family, socket.IPPROTO_TCP, 0, sum(1 << state for state in LIVING))
    request += SOCKET_ID.pack(client[1], server[1], here.packed, there.packed) + ANY_INTERFACE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(ANSWER_TIMEOUT_S)
        kernel.send(HEADER.pack(HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0) + request)
        answer = kernel.recv(4096)
    kind, found = HEADER.unpack_from(answer)[1], answer[HEADER.size :]
    if kind != SOCK_DIAG_BY_FAMILY:
        raise OSError(errno.ENOENT, "the kernel knows no such socket, or it cannot look for one")
    uid: int = struct.unpack_from("=I", found, UID_AT)[0]
    return uid if found[STATE_AT] in LIVING else None  # it may also be who listens at that port


def listed_uid(client: Place, server: Place, tables: Sequence[Path] = TABLES) -> int | None:
    """The same from the kernel's lists of all connections (proc(5), /proc/net/tcp), however long they are."""
    theirs, ours = _written(client), _written(server)
    for table in [*tables] * LOOKS:
        with suppress(OSError):
            for line in table.read_text(encoding="ascii", errors="replace").splitlines()[1:]:
                words = line.split(maxsplit=UID + 1)
                if (
                    len(words) > UID
                    and words[LOCAL] in theirs
                    and words[REMOTE] in ours
                    and int(words[STATE], 16) in LIVING
                ):
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
