"""What may name a host: a name, an IPv4 address, or a literal IPv6 address."""

import ipaddress
import re

HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
"""Names and IPv4 addresses of hosts (RFC 1123); nothing that a shell or an option parser could take for more."""
EXPECTED = "a name of letters, digits, . and -, or an IP address"
_IPV6 = re.compile(r"\[?([0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9_.-]{1,15})?)\]?")


def host_named(text: str) -> str | None:
    """The host as ssh takes it: IPv6 addresses without brackets and in their short form; None where it names none."""
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
    """What MPI launchers are told a host is called: they split `--host` at colons, so an IPv6 address needs a name.

    The launch agent, which is ours, knows the host behind it.
    """
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host)
    digits = f"{int(address):032x}"
    zone = re.sub(r"[^A-Za-z0-9]", "-", f"-{address.scope_id}") if address.scope_id else ""
    return f"ipv6-{digits}{zone}"
