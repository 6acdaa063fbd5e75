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
    digits = f"{int(address):032x}"
    zone = re.sub(r"[^A-Za-z0-9]", "-", f"-{address.scope_id}") if address.scope_id else ""
    return f"ipv6-{digits}{zone}"


_RANGES = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*)\[([0-9,-]+)\]([A-Za-z0-9.-]*)")
MOST_HOSTS = 65_536
"""Hosts that one range may name."""


def expanded(text: str) -> tuple[str, ...] | None:
    """Return the names that a range stands for, written as Slurm does: node[01-04,7]; None if it is no range.

    Raises:
        ValueError: it is a range that names no host, or too many.
    """
    match = _RANGES.fullmatch(text)
    if match is None:
        return None
    spans = [part.partition("-") for part in match[2].split(",")]
    if not all(first.isdecimal() and (last.isdecimal() or not dash) for first, dash, last in spans):
        raise ValueError(_RANGE_FORM)
    ends = [(first, int(first), int(last or first)) for first, _, last in spans]
    if any(least > most for _, least, most in ends) or sum(most - least + 1 for _, least, most in ends) > MOST_HOSTS:
        raise ValueError(f"a range rises, and names at most {MOST_HOSTS:,} hosts")
    numbers = (f"{number:0{len(first)}d}" for first, least, most in ends for number in range(least, most + 1))
    return tuple(f"{match[1]}{number}{match[3]}" for number in numbers)


_RANGE_FORM = "a range of hosts has numbers in brackets, as node[01-16,20]"
