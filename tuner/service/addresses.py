"""Names and addresses under which a service answers."""

import re
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from .config import ListenTable


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
"""What a header Host may be: a name or an address, and a port (RFC 9112, 3.2, without user information)."""
LAST_PORT = 65535


def host_in_header(text: str) -> str:
    """The host in a header Host in small letters; "" where it is anything but a host and a port."""
    found = _HOST.fullmatch(text)
    if found is None or int(found["port"] or 0) > LAST_PORT:
        return ""
    return found["name"].strip("[]").lower()


def place_in_origin(text: str) -> str | None:
    """The host and port in a header Origin; None where it cannot be read."""
    try:
        return urlsplit(text).netloc
    except ValueError:
        return None


class OwnNames:
    """The names under which a service answers.

    On loopback these are this machine's, because a page of the web could have its own name point here; beyond loopback
    also the machine's name, and any address, which no other page can have for a name.
    """

    def __init__(self, listen: ListenTable) -> None:
        self._beyond = not is_loopback(listen.host)
        self._names = {name.lower() for name in listen.names}
        if self._beyond:
            self._names |= {listen.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}

    @property
    def sentence(self) -> str:
        """What is said to those who use another name."""
        if self._beyond:
            return "The service does not answer under this name: `names` in [listen] of its file lists further ones."
        return "The service answers only under a name of this machine, such as localhost."

    def __contains__(self, host: str) -> bool:
        return is_loopback(host) or host in self._names or (self._beyond and _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
