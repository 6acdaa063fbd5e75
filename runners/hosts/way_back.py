"""Whether nodes can connect to this host, as the daemons of MPI's launchers there must."""

import socket
from collections.abc import Sequence
from ipaddress import ip_interface

from ..errors import UnreachableError
from .node_facts import own_networks
from .transport import Transport, say_all

WAITING = 4096
"""Connections that wait here until nobody takes them; Linux allows no more by itself."""
SHOWN = 8
"""Nodes that a sentence names."""
_KNOCK = r"""
command -v bash >/dev/null || exit 0
for place in "$@"; do
    if timeout 5 bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1##*:}"' bash "$place" 2>/dev/null; then echo open; exit 0; fi
done
echo closed
"""
"""Tries to reach one of these addresses and ports; a node without bash says nothing."""


def no_way_back(reach: Transport, nodes: Sequence[str], interfaces: Sequence[str]) -> str:
    """Return the sentence that nodes cannot connect to this host; "" where they can, and where nobody knows.

    Only IPv4 is tried.

    Args:
        interfaces: network interfaces that MPI may use; none means all.
    """
    networks = own_networks()
    here = socket.gethostname()
    own = [str(ip_interface(address).ip) for name, address in networks.items() if name in interfaces or not interfaces]
    if not networks:
        return ""
    if not own:
        told = ", ".join(interfaces)
        return f"this host ({here}) has no {told} (there: {', '.join(networks)}), which MPI is told to use"
    with socket.socket() as listening:
        listening.bind(("", 0))
        listening.listen(WAITING)
        port = listening.getsockname()[1]
        places = [f"{address}:{port}" for address in own]
        said = say_all(reach, nodes, ("sh", "-c", _KNOCK, "sh", *places), timeout_s=10.0 + 5.0 * len(places))
    shut = [
        node
        for node, heard in said.items()
        if not isinstance(heard, UnreachableError) and heard.stdout.strip() == "closed"
    ]
    if not shut:
        return ""
    more = f" and {len(shut) - SHOWN} more" if len(shut) > SHOWN else ""
    return (
        f"node{'s' if len(shut) > 1 else ''} {', '.join(shut[:SHOWN])}{more} cannot reach this host ({here}, "
        f"{', '.join(own)}), to which MPI's daemons there must connect: start hpltune on a node, or let their "
        "connections in"
    )
