"""Checks names of hosts: a name, an IPv4 address, or a literal IPv6 address."""

import ipaddress
import re

HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
"""Names and IPv4 addresses of hosts (RFC 1123), without characters that shells or option parsers interpret."""
EXPECTED = "a name of letters, digits, . and -, or an IP address"
_IPV6 = re.compile(r"\[?([0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9_.-]{1,15})?)\]?")


def host_named(text: str) -> str | None:
    """Return a host's name as ssh takes it, an IPv6 address in short form without brackets; None if it is no host."""
    if HOST_NAME.fullmatch(text):
        return text
    address = _IPV6.fullmatch(text)
    if address is None or text.startswith("[") != text.endswith("]"):
        return None
    try:
        return str(ipaddress.IPv6Address(address[1]))
    except ValueError:
        return None


def launcher_name(host: str) -> str:
    """Return the name of a host for MPI launchers: they split `--host` at colons, so an IPv6 address needs a name.

    Our launch agent translates the name back to the host.
    """
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host)
    zone = re.sub(r"[^A-Za-z0-9]", "-", f"-{address.scope_id}") if address.scope_id else ""
    return f"ipv6-{int(address):032x}{zone}"
